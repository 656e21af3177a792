"""Which frames of two profiles are the same: equal names, renamed kernels, twins, moved lines."""

from __future__ import annotations

import pandas as pd
import pytest
from builders import frame, kernel
from test_comparison import PAIRS, PROFILES, loaded, rows

import protonlab
from protonlab import compare


def aligned(before: list[str], after: list[str]) -> dict[str, str | None]:
    """Name after -> name before of the kernels that were aligned."""
    comparison = compare(
        loaded(*(kernel(name, 10) for name in before)),
        loaded(*(kernel(name, 10) for name in after)),
    )
    both = comparison.kernels[comparison.kernels["change"] == "unchanged"]
    assert comparison.frames["renamed_from"].notna().sum() == both["renamed_from"].notna().sum()
    return {
        name: name if pd.isna(old) else old
        for name, old in zip(both["name"], both["renamed_from"], strict=True)
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("_p_matmul_128x128x64_bf16", "_p_matmul_256x128x64_bf16"),
        ("_p_matmul_128x128x64_bf16", "_p_matmul_128x128_bf16"),
        ("_p_matmul_bf16", "_p_matmul_128x128x64_bf16"),
        ("_p_matmul_bf16_True", "_p_matmul_bf16_False"),
        ("add_kernel [n=1024]", "add_kernel [n=2048]"),
        ("add_kernel [n=1024]", "add_kernel [n=2048, stages=3] stg3"),
        ("triton_poi_fused_add_view_3", "triton_poi_fused_add_view_7"),
        (
            "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN",
            "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_NTN",
        ),
        (
            "cutlass_80_simt_sgemm_256x128_8x4_nn_align1",
            "cutlass_80_simt_sgemm_128x64_8x5_nn_align4",
        ),
        (  # an anonymous namespace, whose name holds a hash of the build
            "_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c4CatsILi4EEEvv",
            "_ZN2at6native40_GLOBAL__N__77e6c200_8_Shape_cu_12f7aa1c4CatsILi8EEEvv",
        ),
        (
            "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEESt5arrayIPcLm1EE"
            "EEviT0_T1_",
            "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_11FillFunctorIiEESt5arrayIPcLm1EE"
            "EEviT0_T1_",
        ),
    ],
)
def test_renamed_kernels_are_aligned(before: str, after: str) -> None:
    assert aligned([before, "other"], [after, "other"]) == {after: before, "other": "other"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("_p_matmul_128x128x64_bf16", "_p_matmul_128x128x64_fp8"),
        ("cast_f16", "cast_f32"),
        ("quantize_e4m3", "quantize_e5m2"),
        ("nvjet_sm90_tst_128x256_64x4_2x1_v_bz_NTN", "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_TNT"),
        ("add_kernel", "mul_kernel"),
    ],
)
def test_other_kernels_are_not(before: str, after: str) -> None:
    assert aligned([before], [after]) == {}


def test_the_same_name_goes_first_and_what_is_ambiguous_stays() -> None:
    assert aligned(["mm_64", "mm_128"], ["mm_128", "mm_256"]) == {
        "mm_128": "mm_128",
        "mm_256": "mm_64",
    }
    assert aligned(["mm_64", "mm_128"], ["mm_256", "mm_512"]) == {}
    assert aligned(["mm_64"], ["mm_256", "mm_512"]) == {}


def test_a_kernel_takes_the_place_of_another_in_its_scope() -> None:
    # Over the whole profile two names fit on either side; in each scope only one does.
    comparison = compare(
        loaded(frame("qkv", kernel("mm_64", 10)), frame("out", kernel("mm_128", 30))),
        loaded(frame("qkv", kernel("mm_256", 5)), frame("out", kernel("mm_512", 60))),
    )
    expected = [("mm_512", "mm_128", 30, 60), ("mm_256", "mm_64", 10, 5)]
    columns = ("name", "renamed_from", "before", "after")
    assert rows(comparison.kernels, *columns) == expected
    frames = comparison.frames[comparison.frames["kind"] == "kernel"]
    assert rows(frames, *columns) == expected[::-1]
    assert "one to one by names that differ in numbers (tiles, shapes, lines" in comparison.rule
    assert any("2 kernels were aligned with another name" in note for note in comparison.notes)


def test_lines_that_moved_and_ranks_are_the_same_frames() -> None:
    comparison = compare(
        loaded(frame("model.py:10@step", kernel("k", 10))),
        loaded(frame("model.py:12@step", kernel("k", 10, device_id="1"))),
    )
    assert comparison.frames["change"].tolist() == ["unchanged"] * 3
    assert rows(comparison.frames, "renamed_from") == [(None,), ("model.py:10@step",), (None,)]


def test_twins_below_one_parent_are_paired_in_order() -> None:
    comparison = compare(
        loaded(kernel("k", 10), kernel("k", 100)), loaded(kernel("k", 20), kernel("k", 400))
    )
    assert rows(comparison.frames, "before", "after") == [(110, 420), (10, 20), (100, 400)]


def test_a_scope_is_no_kernel() -> None:
    comparison = compare(loaded(frame("k", kernel("x", 1))), loaded(kernel("k", 1)))
    assert comparison.frames["change"].tolist() == ["unchanged", "removed", "removed", "added"]


def test_a_kernel_whose_metadata_was_renamed_is_found_in_a_recorded_profile() -> None:
    before, after = (protonlab.load(PROFILES / name) for name in PAIRS[0])
    kernels = compare(before, after).kernels.set_index("name")  # type: ignore[arg-type]
    assert kernels["renamed_from"].dropna().to_dict() == {
        "attention_kernel [tokens=1557]": "attention_kernel [tokens=1772]"
    }
