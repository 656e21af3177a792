"""A against B: what a switch changed."""

from protonlab.experiment._compiled import compare_compiled

__all__ = ["compare_compiled"]
