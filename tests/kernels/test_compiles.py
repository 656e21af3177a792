"""Every kind of kernel compiles for Hopper without a GPU."""

from __future__ import annotations

from pathlib import Path

from compiling import printed_by

CODE = """
from compiling import compiled
from protonlab.kernels._matmul_kernel import matmul_kernel, sum_parts_kernel
from protonlab.kernels._schedule import schedule_kernel


POINTERS = {"x_ptr": "*bf16", "w_ptr": "*u8", "scales_ptr": "*u8", "y_ptr": "*bf16"}
RAGGED = {"blocks_ptr": "*i32", "stats_ptr": "*i64"}
NUMBERS = dict.fromkeys(
    ["x_rows", "rows", "experts", "N", "stride_x", "stride_w_expert", "stride_w_n", "stride_bias"],
    "i32",
) | {"n_bytes": "i64"} | dict.fromkeys(["output_scale", "alpha", "limit", "offset"], "fp32")
TILES = {"K": 416, "BLOCK_M": 8, "BLOCK_N": 128, "BLOCK_K": 128, "SPLIT_K": 1, "NUM_STAGES": 3}
SWITCHES = {"PERSISTENT": True, "FLATTEN_LOOPS": True, "WARP_SPECIALIZE": False, "PACKED": True,
            "ASSEMBLY": True, "UNDO": 126, "SPLIT_X": False, "WIDE_DOT": False, "SWIGLU": False,
            "LIMITED": False}
FAST = POINTERS | RAGGED | NUMBERS


def matmul(types, **constants):
    kernel = compiled(matmul_kernel, types, TILES | SWITCHES | constants)
    ptx = kernel.asm["ptx"]
    print(ptx.count("wgmma.mma_async") or ptx.count("mma.sync"), kernel.metadata.shared)


def without(*names, **changed):
    return {name: kind for name, kind in (FAST | changed).items() if name not in names}


matmul(FAST)
words = {"w_ptr": "*i32", "x_ptr": "*fp16", "y_ptr": "*fp16", "bias_ptr": "*fp32"}
words |= {"gather_ptr": "*i64", "scatter_ptr": "*i32"}
matmul(FAST | words, ASSEMBLY=False, UNDO=3, SPLIT_X=True, SWIGLU=True, LIMITED=True, BLOCK_M=32)
plain = without("scales_ptr", "blocks_ptr", "stats_ptr", w_ptr="*bf16", parts_ptr="*fp32")
matmul(plain, PACKED=False, ASSEMBLY=False, BLOCK_M=64, BLOCK_K=64, SPLIT_K=2)
compiled(
    sum_parts_kernel,
    {"parts_ptr": "*fp32", "y_ptr": "*bf16", "rows": "i32", "N": "i32"}
    | dict.fromkeys(["output_scale", "alpha", "limit", "offset"], "fp32"),
    {"SPLIT_K": 4, "BLOCK_N": 128, "BLOCK_M": 8, "SWIGLU": False, "LIMITED": False,
     "TRUNCATES": False},
)
compiled(
    schedule_kernel,
    {"sizes_ptr": "*i32", "blocks_ptr": "*i32", "stats_ptr": "*i64", "experts": "i32",
     "rows": "i32", "bytes_each": "i64", "bytes_fixed": "i64"},
    {"EXPERTS": 128, "N_CLASSES": 3, "CLASS_0": 8, "CLASS_1": 16, "CLASS_2": 0, "LARGEST": 32},
)
"""


def test_for_hopper(tmp_path: Path) -> None:
    products = [tuple(map(int, line.split())) for line in printed_by(CODE, tmp_path)]
    assert len(products) == 3
    for count, shared in products:
        assert count > 0  # the tensor cores do the work
        assert shared < 227 * 1024
