"""No product's registers are written while it runs, and none waits for another without need."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import triton
from sass import read

GLUON = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 9)

LOOP = """
.L_x_0:
        /*0100*/                   LOP3.LUT R40, R8, 0x81c081c0, RZ, 0xc0, !PT ;
        /*0110*/                   WARPGROUP.ARRIVE ;
        /*0120*/                   HGMMA.64x8x16.F32.BF16 R24, R{first}, gdesc[UR12], R24 ;
        /*0130*/                   HGMMA.64x8x16.F32.BF16 R24, R36, gdesc[UR16], R24, gsb0 ;
        /*0140*/                   WARPGROUP.DEPBAR.LE gsb0, 0x{left} ;
        /*0150*/              @P3  BRA `(.L_x_0) ;
"""
# In a process of its own: kernels of one that interprets are not compiled.
COMPILE = """
import sys
import triton
from triton.backends.compiler import GPUTarget
from pathlib import Path
import subprocess
from protonlab.kernels._matmul_kernel import matmul_kernel

TARGET = GPUTarget("cuda", 90, 32)
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"


def write(kernel, name):
    Path(name + ".cubin").write_bytes(kernel.asm["cubin"])
    sass = subprocess.run([TOOLS / "nvdisasm", "-c", name + ".cubin"], capture_output=True,
                          text=True, check=True).stdout
    Path(name + ".sass").write_text(sass)
    Path(name + ".ttgir").write_text(kernel.asm["ttgir"])


def plain(rows, **switches):
    from triton.compiler import ASTSource
    kinds = {"x_ptr": "*bf16", "w_ptr": "*u8", "scales_ptr": "*u8", "y_ptr": "*bf16",
             "blocks_ptr": "*i32", "stats_ptr": "*i64", "n_bytes": "i64"}
    kinds |= dict.fromkeys(["output_scale", "alpha", "limit", "offset"], "fp32")
    kinds |= dict.fromkeys(["x_rows", "rows", "experts", "N", "stride_x", "stride_w_expert",
                            "stride_w_n", "stride_bias"], "i32")
    fixed = {"K": 5760, "BLOCK_M": rows, "BLOCK_N": 128, "BLOCK_K": 128, "SPLIT_K": 1,
             "NUM_STAGES": 3, "PERSISTENT": False, "FLATTEN_LOOPS": False,
             "WARP_SPECIALIZE": False, "PACKED": True, "ASSEMBLY": True, "UNDO": 126,
             "SPLIT_X": False, "WIDE_DOT": False, "SWIGLU": False, "LIMITED": False} | switches
    names = matmul_kernel.arg_names
    signature = {name: kinds.get(name, "constexpr") for name in names}
    constants = {name: fixed.get(name) for name in names if name not in kinds}
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in kinds
               if kinds[name].startswith("*") or name in ("N", "stride_x")}
    source = ASTSource(matmul_kernel, signature, constants, aligned)
    return triton.compile(source, target=TARGET, options={"num_warps": 4})


def gluon(rows):
    from triton.experimental.gluon import GluonASTSource
    from triton.experimental.gluon import language as gl
    from protonlab.kernels._gluon_kernel import gluon_kernel
    from protonlab.kernels._row_classes import class_shape
    shape = class_shape(rows, 45, strips=5, stages=4, warps=4, programs_per_sm=2)
    flat, swizzled = gl.NVMMASharedLayout(0, 32, 2), gl.NVMMASharedLayout(128, 16, 4)
    kinds = {"x_head": f"tensordesc<bf16[1,1,{shape.head},64],{swizzled!r}>",
             "x_tail": f"tensordesc<bf16[1,1,{shape.tail or shape.head},64],{swizzled!r}>",
             "words": f"tensordesc<i32[8,256],{flat!r}>",
             "scales": f"tensordesc<i32[2,64],{flat!r}>", "y": "*bf16", "blocks": "*i32",
             "stats": "*i64", "scale": "fp32"}
    fixed = {"bias": None, "scatter": None, "HEAD": shape.head, "TAIL": shape.tail,
             "STRIPS": shape.strips, "STAGES": shape.stages, "WARPS": shape.warps}
    names = gluon_kernel.arg_names
    signature = {name: "constexpr" if name in fixed else kinds.get(name, "i32") for name in names}
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in ("y", "blocks")}
    constants = {(names.index(name),): value for name, value in fixed.items()}
    source = GluonASTSource(gluon_kernel, signature, constants, aligned)
    options = {"num_warps": shape.warps, "maxnreg": shape.registers}
    return triton.compile(source, target=TARGET, options=options)


for kind, rows in [word.split("_") for word in sys.argv[1:]]:
    kernel = plain(int(rows)) if kind == "plain" else gluon(int(rows))
    write(kernel, f"{kind}_{rows}")
"""


def test_a_register_that_the_next_step_writes_is_found() -> None:
    found = read(LOOP.format(first=40, left=1))
    assert (found.products, found.arrivals) == (2, 1)
    assert found.overwritten == ["0x120 by 0x100 LOP3.LUT R40, R8, 0x81c081c0, RZ, 0xc0, !PT"]


def test_other_registers_and_a_wait_are_no_finding() -> None:
    assert not read(LOOP.format(first=44, left=1)).overwritten
    assert not read(LOOP.format(first=40, left=0)).overwritten


def test_an_arrival_for_each_product_means_serialised() -> None:
    twice = LOOP.replace(
        "        /*0130*/", "        /*0128*/  WARPGROUP.ARRIVE ;\n        /*0130*/"
    )
    assert read(twice.format(first=44, left=0)).serialised
    assert not read(LOOP.format(first=44, left=0)).serialised


@pytest.mark.parametrize(
    "kernels",
    [
        ["plain_16", "plain_64"],
        pytest.param(
            ["gluon_8", "gluon_24", "gluon_80", "gluon_256"],
            marks=pytest.mark.skipif(not GLUON, reason="needs Triton 3.9"),
        ),
    ],
    ids=["plain", "gluon"],
)
def test_kernels_keep_the_registers_of_their_products(
    kernels: list[str],
    tmp_path: Path,
    project: Path,
    benchmark_module: Callable[[str], ModuleType],
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(project)]))
    environment |= {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
    run = [sys.executable, "-c", COMPILE, *kernels]
    result = subprocess.run(
        run, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    for name in kernels:
        sass = (tmp_path / f"{name}.sass").read_text()
        found = read(sass)
        assert found.products > 0
        assert not found.overwritten
        assert not found.serialised
        hand_overs = benchmark_module("hand_over").hand_overs(sass)
        assert len(hand_overs) == name.startswith("gluon")  # what sanitize.py takes for Triton's
        if name.startswith("plain"):  # else assemblers older than this one may write to them
            code = (tmp_path / f"{name}.ttgir").read_text()
            assert "pendings = 0" in code
            assert "pendings = 1" not in code
