"""Kernels run compiled on a GPU, and on the corrected interpreter without one."""

from __future__ import annotations

from protonlab.capture import enable_interpreter

enable_interpreter()  # without a GPU: corrects the interpreter's arithmetic
