"""The widget that switches epilogue overlap."""

from protonlab.widget._widget import EpilogueWidget

__all__ = ["EpilogueWidget"]
