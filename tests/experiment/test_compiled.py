"""Counting instructions, laying PTX side by side, residency, and what compare_compiled refuses."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from protonlab.errors import CaptureError, ProtonLabError
from protonlab.experiment import compare_compiled
from protonlab.experiment._disassembly import disassembled
from protonlab.experiment._residency import Residency, residency
from protonlab.model.assembly import code_of, passages, ptx_instructions, sass_instructions
from protonlab.model.compiled import (
    CONSTANTS,
    FLATTENED,
    LOOPS,
    PTX,
    RESOURCES,
    SPECIALIZED,
    SPLIT,
    CompiledComparison,
    CompiledVariant,
)
from protonlab.views import compiled_table, ptx_difference

PTX_TEXT = """\
.version 9.4
.visible .entry k(
\t.param .u64 k_param_0
)
.reqntid 128
{
\t.loc\t1 48 0
\tld.param.b64 \t%rd1, [k_param_0];
\t@%p1 bra \t$L__BB0_2;
\t@!%p2 cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;
\tcp.async.commit_group;
\tcp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1];
\twgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1}, {%r1}, %rd1, 1, 1, 1, 0;
\twgmma.wait_group.sync.aligned 0;
\tfma.rn.f32 \t%f1, %f2, %f3, %f4;
\tmul.bf16x2 \t%r1, %r2, %r3;
\tmul.lo.s32 \t%r1, %r2, %r3;
\tlop3.b32 \t%r1, %r2, %r3, %r4, 0xEA;
\tand.b32 \t%r1, %r2, 7;
\tand.pred \t%p1, %p2, %p3;
\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r2];
$L__BB0_2:
\tret;
}
"""
SASS_TEXT = """\
        /*0000*/                   LDC R1, c[0x0][0x28] ;      /* 0x00000a00ff017b82 */
                                                               /* 0x000ff00000000800 */
        /*0010*/              @!P0 LOP3.LUT R4, R1, 0x7, RZ, 0xc0, !PT ; /* 0x0 */
        /*0020*/                   HGMMA.64x8x16.F32.BF16 R24, R4, gdesc[UR4] ; /* 0x0 */
        /*0030*/              @UP1 UTMALDG.2D [UR8], [UR4] ;   /* 0x0 */
        /*0040*/                   LDGSTS.E.BYPASS.128 [R3], desc[UR4][R2.64] ; /* 0x0 */
        /*0050*/                   IMAD.SHL.U32 R1, R2, 0x4, RZ ; /* 0x0 */
        /*0060*/                   IMAD R1, R2, R3, R4 ;       /* 0x0 */
        /*0070*/                   EXIT ;                      /* 0x0 */
        /*0080*/                   NOP ;                       /* 0x0 */
"""


def test_ptx_by_class() -> None:
    assert ptx_instructions(PTX_TEXT) == {
        "wgmma": 1,
        "TMA": 1,
        "cp.async": 1,
        "ldmatrix": 1,
        "fma": 1,
        "lop3": 2,
        "multiply": 1,
        "integer": 1,
        "compare": 1,
        "load, constant": 1,
        "wait": 2,
        "branch": 2,
    }


def test_sass_by_class() -> None:
    assert sass_instructions(SASS_TEXT) == {
        "wgmma": 1,
        "TMA": 1,
        "cp.async": 1,
        "lop3": 1,
        "shift": 1,
        "integer": 1,
        "load, constant": 1,
        "branch": 1,
    }


def test_passages_ignore_numbers_of_registers() -> None:
    same = PTX_TEXT.replace("%r1", "%r9").replace("BB0_2", "BB0_7")
    assert not any(passage.differs for passage in passages(PTX_TEXT, same))
    changed = PTX_TEXT.replace("fma.rn.f32 \t%f1, %f2, %f3, %f4;", "add.f32 \t%f1, %f2, %f3;")
    (found,) = [passage for passage in passages(PTX_TEXT, changed) if passage.differs]
    assert found.left == ((15, "\tfma.rn.f32 \t%f1, %f2, %f3, %f4;"),)
    assert found.right == ((15, "\tadd.f32 \t%f1, %f2, %f3;"),)


def test_code_has_neither_debug_information_nor_paths_of_sources() -> None:
    debug = '\t.file\t1 "/home/me/kernels.py"\n\t.section\t.debug_info\n\t{\n.b8 1\n\t}\n'
    code = code_of(PTX_TEXT + debug)
    assert "kernels.py" not in code
    assert ".loc" not in code
    assert code.endswith("$L__BB0_2:\n\tret;\n}\n")


def test_passages_leave_long_stretches_out() -> None:
    lines = [f"\tadd.s32 \t%r1, %r2, {number};" for number in range(100)]
    other = [*lines[:50], "\tret;", *lines[50:]]
    found = passages("\n".join(lines), "\n".join(other))
    assert [passage.differs for passage in found] == [False, True, False]
    assert [number for number, _ in found[0].left] == [48, 49, 50]
    assert [number for number, _ in found[2].right] == [52, 53, 54]


@pytest.mark.parametrize(
    ("registers", "shared", "warps", "expected"),
    [
        # 65,536 registers: 16 warps of 128 each, so four programs of four.
        (125, 25_600, 4, Residency(4, 0.25, "registers")),
        # 228 KiB of shared memory, of which CUDA takes 1 KiB a block.
        (32, 100 * 1024, 4, Residency(2, 0.125, "shared memory")),
        (32, 0, 4, Residency(16, 1.0, "registers")),
        (16, 0, 8, Residency(8, 1.0, "warps")),
        (16, 0, 1, Residency(32, 0.5, "blocks")),
    ],
)
def test_residency_on_hopper(registers: int, shared: int, warps: int, expected: Any) -> None:
    assert residency(90, registers=registers, shared=shared, warps=warps) == expected


def test_residency_of_a_gpu_that_is_not_known() -> None:
    assert residency(75, registers=32, shared=0, warps=4) is None


def variant(name: str, **changed: Any) -> CompiledVariant:
    facts: dict[str, dict[str, Any]] = {
        RESOURCES: {"registers a thread": 125, "occupancy": 0.25},
        LOOPS: {"loops to flatten": 1, "loops to warp specialize": 0},
        CONSTANTS: {"FLATTEN_LOOPS": True, "<b>": 1},
        PTX: {"wgmma": 16, "integer": 110},
    }
    for group, values in changed.items():
        facts[group] = facts[group] | values
    return CompiledVariant(name, "matmul_kernel", "cuda:90", facts, PTX_TEXT)


def pair(**moved: int) -> CompiledComparison:
    serial = variant(
        "serial",
        resources={"registers a thread": 114},
        loops={"loops to flatten": 0, **moved},
        constexprs={"FLATTEN_LOOPS": False},
    )
    return CompiledComparison(variant("overlap"), serial)


def test_differences_and_summary() -> None:
    differing = pair().differences
    assert list(differing["what"]) == ["registers a thread", "loops to flatten", "FLATTEN_LOOPS"]
    assert differing.loc[0, ["value_a", "value_b"]].tolist() == [125, 114]
    assert pair().summary == (
        "matmul_kernel: registers a thread 125 / 114; FLATTEN_LOOPS True / False"
    )


def test_two_kernels_are_both_named() -> None:
    split = dataclasses.replace(pair().b, kernel="split_kernel")
    compared = CompiledComparison(pair().a, split)
    for told in (compared.summary, str(compared), compiled_table(compared).html()):
        assert "matmul_kernel and split_kernel" in told
    assert " and " not in pair().summary


def test_says_whether_warp_specialization_moves_along() -> None:
    assert pair().notes == ("The switch that flattens loops leaves warp specialisation as it is.",)
    (note,) = pair(**{"loops to warp specialize": 1}).notes
    assert note.startswith("The switch that flattens loops also moves warp specialisation")
    assert note in str(pair(**{"loops to warp specialize": 1}))
    assert note.endswith("so a difference in time is not of flattening alone.")
    split = {"loops to warp specialize": 1, SPLIT: 0}
    asked = CompiledComparison(
        variant("a", loops={FLATTENED: 1, SPECIALIZED: 0, SPLIT: 0}), pair(**split).b
    )
    assert asked.notes[0].endswith("but the compiler split no loop over warp groups.")
    same = CompiledComparison(variant("a"), variant("b"))
    assert same.notes == ()
    assert same.summary == "matmul_kernel: nothing differs"


def test_instructions_that_there_are_none_of_are_zero_and_unknown_ones_missing() -> None:
    table = pair().to_dataframe().set_index(["group", "what"])
    assert table.loc[(PTX, "TMA"), "value_a"] == 0
    assert "SASS instructions" not in table.index.get_level_values(0)
    assert variant("a").fact("SASS instructions", "wgmma") is None


def test_document_reads_back() -> None:
    comparison = pair()
    assert CompiledComparison.of_document(comparison.to_document()) == comparison
    bare = comparison.without_ptx()
    assert bare.passages == []
    with pytest.raises(ProtonLabError, match="PTX of 'overlap' was not kept"):
        ptx_difference(bare)


def test_table_as_html_escapes_names() -> None:
    page = compiled_table(
        CompiledComparison(variant("<i>"), variant("b", constexprs={"<b>": 2}))
    ).html()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "25 %" in page


def test_difference_as_text() -> None:
    changed = variant("serial")
    changed = CompiledVariant(
        "serial", "k", "cuda:90", changed.facts, PTX_TEXT.replace("fma.rn.f32 \t", "fma.rz.f32 \t")
    )
    lines = str(ptx_difference(CompiledComparison(variant("overlap"), changed))).splitlines()
    assert lines[:2] == ["- overlap", "+ serial"]
    assert [line for line in lines[2:] if line[0] == "-"] == [
        "-    15 \tfma.rn.f32 \t%f1, %f2, %f3, %f4;"
    ]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_two_variants_are_needed(count: int) -> None:
    variants = {f"v{number}": lambda: None for number in range(count)}
    with pytest.raises(ProtonLabError, match=f"takes two variants, and {count} were given"):
        compare_compiled(variants)


@pytest.mark.parametrize("variants", [3, None, [1, 2], "ab"])
def test_variants_that_are_no_mapping(variants: Any) -> None:
    with pytest.raises(ProtonLabError, match=r"variants is of type .*; give a dict of two names"):
        compare_compiled(variants)


@pytest.mark.parametrize("kernel", [3, "("])
def test_pattern_that_is_none(kernel: Any) -> None:
    with pytest.raises(ProtonLabError, match=r"kernel.* regular expression"):
        compare_compiled({"overlap": lambda: None, "serial": lambda: None}, kernel=kernel)


@pytest.mark.parametrize("show", [compiled_table, ptx_difference])
@pytest.mark.parametrize("comparison", [{}, 3, None])
def test_something_else_than_a_comparison_is_not_shown(show: Any, comparison: Any) -> None:
    with pytest.raises(ProtonLabError, match=r"comparison is of type .*; give what compare_comp"):
        show(comparison)


def test_something_else_than_a_kernel() -> None:
    with pytest.raises(ProtonLabError, match="variant 'overlap' is int"):
        compare_compiled({"overlap": 3, "serial": 4})


def test_interpreter_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(CaptureError, match="nothing is compiled"):
        compare_compiled({"overlap": lambda: None, "serial": lambda: None})


def test_a_function_that_launches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(ProtonLabError, match="variant 'overlap' launched no Triton kernel"):
        compare_compiled({"overlap": lambda: None, "serial": lambda: None})


def test_a_function_that_raises_leaves_triton_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    from triton.runtime.jit import JITFunction

    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    before = JITFunction.run
    with pytest.raises(ZeroDivisionError):
        compare_compiled({"overlap": lambda: 1 / 0, "serial": lambda: None})
    assert JITFunction.run is before


def test_without_cuobjdump_and_with_one_that_fails() -> None:
    assert "neither Triton nor the path" in disassembled(b"", None).problem
    problem = disassembled(b"", Path("/bin/false")).problem
    assert problem == "SASS was not read: false failed (CalledProcessError)."
    problem = disassembled(b"", Path("/no/such/cuobjdump")).problem
    assert problem == "SASS was not read: cuobjdump failed (No such file or directory)."
