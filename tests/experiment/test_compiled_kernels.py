"""Real kernels, compiled for Hopper without a GPU: what flattening changed in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from compiling import printed_by

from protonlab.model.compiled import CONSTANTS, FLATTENED, LOOPS, PTX, RESOURCES, SASS, SPECIALIZED
from protonlab.model.compiled import CompiledComparison as Compared

CODE = """
import json
import triton
import triton.language as tl
from compiling import compiled
from protonlab.experiment import compare_compiled
from protonlab.kernels._matmul_kernel import matmul_kernel


@triton.jit
def together(a_ptr, c_ptr, tiles, K: tl.constexpr, FLATTEN_LOOPS: tl.constexpr):
    m = tl.arange(0, 128)
    k = tl.arange(0, 64)
    for tile in tl.range(
        tl.program_id(0), tiles, tl.num_programs(0),
        flatten=FLATTEN_LOOPS, warp_specialize=FLATTEN_LOOPS,
    ):
        places = a_ptr + (tile * 128 + m)[:, None] * K + k[None, :]
        sums = tl.zeros((128, 128), dtype=tl.float32)
        for step in tl.range(0, K // 64, num_stages=3):
            a = tl.load(places)
            sums = tl.dot(a, a.T, sums)
            places += 64
        tl.store(c_ptr + (tile * 128 + m)[:, None] * 128 + m[None, :], sums)


types = {"x_ptr": "*bf16", "w_ptr": "*u8", "scales_ptr": "*u8", "y_ptr": "*bf16"}
types |= {"blocks_ptr": "*i32", "stats_ptr": "*i64", "n_bytes": "i64"}
types |= dict.fromkeys(
    ["x_rows", "rows", "experts", "N", "stride_x", "stride_w_expert", "stride_w_n", "stride_bias"],
    "i32",
) | dict.fromkeys(["output_scale", "alpha", "limit", "offset"], "fp32")
ours = {"K": 5760, "BLOCK_M": 8, "BLOCK_N": 128, "BLOCK_K": 128, "SPLIT_K": 1, "NUM_STAGES": 3}
ours |= dict.fromkeys(["WARP_SPECIALIZE", "SPLIT_X", "WIDE_DOT", "SWIGLU", "LIMITED"], False)
ours |= dict.fromkeys(["PERSISTENT", "PACKED", "ASSEMBLY"], True) | {"UNDO": 126}
theirs = {"a_ptr": "*bf16", "c_ptr": "*fp32", "tiles": "i32"}
pairs = [
    {
        name: compiled(kernel, kinds, constants | {"FLATTEN_LOOPS": flatten})
        for name, flatten in (("overlap", True), ("serial", False))
    }
    for kernel, kinds, constants in (
        (matmul_kernel, types, ours), (together, theirs, {"K": 512}),
    )
]
print(json.dumps([compare_compiled(pair).to_document() for pair in pairs]))
"""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return list(json.loads(printed_by(CODE, tmp_path_factory.mktemp("code"))[-1]))


def test_our_switch_moves_flattening_and_nothing_else(documents: list[Any]) -> None:
    ours = Compared.of_document(documents[0])
    chosen = ours.differences
    chosen = chosen[chosen["group"].isin((CONSTANTS, "arguments", "options"))]
    assert chosen[["what", "value_a", "value_b"]].values.tolist() == [
        ["FLATTEN_LOOPS", True, False]
    ]
    assert (ours.a.fact(LOOPS, FLATTENED), ours.b.fact(LOOPS, FLATTENED)) == (1, 0)
    assert ours.a.fact(LOOPS, SPECIALIZED) == ours.b.fact(LOOPS, SPECIALIZED) == 0
    assert ours.notes == ("The switch that flattens loops leaves warp specialisation as it is.",)


def test_a_switch_that_moves_warp_specialization_too_is_told(documents: list[Any]) -> None:
    theirs = Compared.of_document(documents[1])
    assert (theirs.a.fact(LOOPS, SPECIALIZED), theirs.b.fact(LOOPS, SPECIALIZED)) == (1, 0)
    assert theirs.notes[0].startswith("The switch that flattens loops also moves warp spec")


def test_resources_and_instructions_of_a_real_kernel(documents: list[Any]) -> None:
    ours = Compared.of_document(documents[0])
    for each in (ours.a, ours.b):
        assert each.kernel == "matmul_kernel"
        assert each.target == "cuda:90"
        assert 32 < each.fact(RESOURCES, "registers a thread") <= 255
        assert each.fact(RESOURCES, "spilled registers") == 0
        assert each.fact(RESOURCES, "warps") == 4
        assert each.fact(RESOURCES, "programs on a multiprocessor") >= 3
        assert each.fact(RESOURCES, "shared memory, bytes") > 16_384
        # The tensor cores' work is the same in PTX and in machine code.
        # (Triton 3.6 takes the older instruction for as few rows as these.)
        products = "wgmma" if each.fact(PTX, "wgmma") else "mma"
        assert each.fact(PTX, products) == each.fact(SASS, products) > 0
        assert each.fact(PTX, "cp.async") == each.fact(SASS, "cp.async") > 0
        assert each.fact(PTX, "lop3") > 16
        assert "8x128xbf16" in each.fact(LOOPS, "buffers in shared memory")
    assert ours.a.fact(SASS, "integer") > ours.b.fact(SASS, "integer")  # indices in the loop
    assert sum(passage.differs for passage in ours.passages) > 3
