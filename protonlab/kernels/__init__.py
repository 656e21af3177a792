"""Kernels to measure: a matmul with weights of four bits or plain ones, at the speed of memory.

Names resolve on first use: importing this package loads neither torch nor Triton.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protonlab.kernels._layout import PackedWeight, pack, unpack
    from protonlab.kernels._matmul import PreparedRouting, matmul, prepare
    from protonlab.kernels._mxfp4 import MXFP4Weight, dequantize, quantize_mxfp4
    from protonlab.kernels._options import MatmulOptions, matmul_options
    from protonlab.kernels._problem import Epilogue
    from protonlab.kernels._routing import Routing

_HOME = {
    "Epilogue": "_problem",
    "MXFP4Weight": "_mxfp4",
    "MatmulOptions": "_options",
    "PackedWeight": "_layout",
    "PreparedRouting": "_matmul",
    "Routing": "_routing",
    "dequantize": "_mxfp4",
    "matmul": "_matmul",
    "matmul_options": "_options",
    "pack": "_layout",
    "prepare": "_matmul",
    "quantize_mxfp4": "_mxfp4",
    "unpack": "_layout",
}

__all__ = [
    "Epilogue",
    "MXFP4Weight",
    "MatmulOptions",
    "PackedWeight",
    "PreparedRouting",
    "Routing",
    "dequantize",
    "matmul",
    "matmul_options",
    "pack",
    "prepare",
    "quantize_mxfp4",
    "unpack",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'protonlab.kernels' has no attribute {name!r}")
    return getattr(importlib.import_module(f"protonlab.kernels.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
