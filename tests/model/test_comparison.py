"""Two profiles compared: numbers worked out by hand, and totals that reconcile exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from builders import H200, Frame, document, frame, kernel

import protonlab
from protonlab import Comparison, Profile, ProtonLabError, compare
from protonlab.model.merging import merged

PROFILES = Path(__file__).parent.parent / "profiles"


def loaded(*frames: Frame, devices: Any = H200) -> Profile:
    profile = protonlab.load(document(*frames, devices=devices))
    assert isinstance(profile, Profile)
    return profile


def repeated(*times: tuple[float, ...]) -> Profile:
    """Each tuple is a repeat, with the times of the kernels ``ka``, ``kb``, ``kc``."""
    return merged(
        [
            (repeat, loaded(*(kernel(f"k{'abc'[at]}", each) for at, each in enumerate(row))))
            for repeat, row in enumerate(times)
        ]
    )


def rows(table: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Values as plain Python, None where missing."""
    return [
        tuple(None if pd.isna(value) else value for value in row)
        for row in table[list(columns)].itertuples(index=False)
    ]


def by_hand() -> Comparison:
    """Total 600 before, 652 after."""
    return compare(
        loaded(
            frame("mlp", kernel("matmul", 400, 4), kernel("gelu", 100)),
            frame("attn", kernel("softmax", 100)),
        ),
        loaded(
            frame("mlp", kernel("matmul", 300, 4), kernel("gelu", 101), kernel("copy", 50)),
            frame("loss", kernel("nll", 201)),
        ),
    )


def test_kernels_by_hand() -> None:
    columns = ("name", "change", "before", "after", "difference", "ratio")
    assert rows(by_hand().to_dataframe(), *columns) == [
        ("nll", "added", None, 201, 201, None),
        ("matmul", "changed", 400, 300, -100, 0.75),
        ("softmax", "removed", 100, None, -100, None),
        ("copy", "added", None, 50, 50, None),
        ("gelu", "unchanged", 100, 101, 1, 1.01),
    ]


def test_frames_by_hand() -> None:
    columns = ("name", "depth", "parent_id", "change", "before", "after", "difference")
    assert rows(by_hand().frames, *columns) == [
        ("ROOT", 0, -1, "changed", 600, 652, 52),
        ("mlp", 1, 0, "changed", 500, 451, -49),
        ("matmul", 2, 1, "changed", 400, 300, -100),
        ("gelu", 2, 1, "unchanged", 100, 101, 1),
        ("copy", 2, 1, "added", None, 50, 50),
        ("attn", 1, 0, "removed", 100, None, -100),
        ("softmax", 2, 5, "removed", 100, None, -100),
        ("loss", 1, 0, "added", None, 201, 201),
        ("nll", 2, 7, "added", None, 201, 201),
    ]
    frames = by_hand().frames
    assert frames["exclusive_difference"].tolist() == [0, 0, -100, 1, 50, 0, -100, 0, 201]
    assert frames["before_frame"].tolist() == [0, 1, 2, 3, -1, 4, 5, -1, -1]
    assert frames["after_frame"].tolist() == [0, 1, 2, 3, 4, -1, -1, 5, 6]
    assert frames["kind"].tolist()[:3] == ["root", "scope", "kernel"]


def test_summary_and_repr_are_one_line() -> None:
    expected = (
        "time 600 ns before, 652 ns after: slower by 8.7 %; "
        "kernels: 2 added, 1 removed, 1 changed, 1 unchanged"
    )
    assert by_hand().summary == expected
    assert repr(by_hand()) == f"<Comparison: {expected}>"


def test_a_table_of_frames_or_of_kernels() -> None:
    assert by_hand().to_dataframe("frame")["name"].tolist()[:2] == ["ROOT", "mlp"]
    with pytest.raises(ProtonLabError, match="by='scope'; use 'kernel' or 'frame'"):
        by_hand().to_dataframe("scope")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("after", "change"),
    [(10_000, "unchanged"), (10_100, "unchanged"), (9_900, "unchanged"), (10_101, "changed"),
     (9_899, "changed")],
)  # fmt: skip
def test_without_repeats_one_percent_is_unchanged(after: int, change: str) -> None:
    comparison = compare(loaded(kernel("k", 10_000)), loaded(kernel("k", after)))
    assert comparison.kernels["change"].tolist() == [change]
    assert "verdict" not in comparison.kernels
    assert any("record with repeat=20 to tell" in note for note in comparison.notes)


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
    assert "numbers alone (tile sizes, shapes" in comparison.rule
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
