"""The roofline: points and bounds by hand, roofs by width, what is impossible, bad input."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_profiles import EVIL, frame, kernel, profile

import protonlab
from protonlab import Profile, ProtonLabError, Roofs
from protonlab.model import ClockReading, ProfileInfo
from protonlab.model.roofs import Roof, cache_path
from protonlab.views import RooflineFigure, roofline
from protonlab.views._roofline_labels import label_places

PROFILES = Path(__file__).parent.parent / "profiles"
RECORDED = sorted(PROFILES.glob("*.hatchet"))
ROOFS = Roofs(
    "GPU X",
    "GPU-1",
    roofs=(
        Roof("copy", 3e12, "B/s", 2.9e12, 3.1e12, 25),
        Roof("read", 4e12, "B/s", 3.9e12, 4.1e12, 25),
        Roof("bf16", 800e12, "FLOP/s", 790e12, 810e12, 25),
        Roof("fp8", 1600e12, "FLOP/s", 1500e12, 1620e12, 25),
    ),
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


NEITHER = "No kernel recorded both flops and bytes; its launch metadata can return them."


def by_hand() -> Profile:
    """Each kernel takes 1 µs but the last, so amounts are rates in millionths."""
    return profile(
        frame(
            "step",
            kernel("stream", 1000, bytes=2_000_000, flops16=4e6),
            kernel("gemm", 1000, bytes=1_000_000, flops16=400e6),
            kernel("gemm8", 1000, bytes=100_000, flops8=400e6),
            kernel("relu", 1000, bytes=100),
            kernel("sleep", 3000),
        )
    )


def rows(figure: RooflineFigure) -> dict[str, dict[str, Any]]:
    records: list[Any] = figure.kernels.to_dict("records")
    return {row["label"]: row for row in records}


def one(**metrics: Any) -> RooflineFigure:
    return roofline(profile(kernel("k", 1000, **metrics)), roofs=ROOFS)


def test_points_and_bounds_by_hand() -> None:
    figure = roofline(by_hand(), roofs=ROOFS)
    found = rows(figure)
    assert list(found) == ["stream", "gemm", "gemm8"]
    stream, gemm, gemm8 = found.values()
    assert (stream["flop/byte"], stream["flop/s"], stream["byte/s"]) == (2, 4e12, 2e12)
    assert (stream["bound"], stream["of_roof"], stream["width"]) == ("memory", 0.5, 16)
    assert stream["words"] == "memory-bound: 50.0 % of 4.00 TB/s read (2.00 TB/s)"
    assert (gemm["flop/byte"], gemm["bound"], gemm["of_roof"]) == (400, "compute", 0.5)
    assert gemm["words"] == "compute-bound: 50.0 % of 800 TFLOP/s bf16 (400 TFLOP/s)"
    assert (gemm8["width"], gemm8["of_roof"]) == (8, 0.25)
    assert gemm8["words"] == "compute-bound: 25.0 % of 1.60 PFLOP/s fp8 (400 TFLOP/s)"
    assert repr(figure).splitlines()[:2] == [
        "<RooflineFigure: hand · roofline, measured · CUDA 0 (sm_90, 132 SMs), 3 kernels>",
        "stream: memory-bound: 50.0 % of 4.00 TB/s read (2.00 TB/s)",
    ]
    notes = figure.layout.annotations[0].text
    assert "2 kernels without flops or bytes: sleep, relu." in notes
    assert "gemm: compute-bound: 50.0 % of 800 TFLOP/s bf16 (400 TFLOP/s)." in notes


def test_flops_of_no_width_are_said_to_be_so_and_words_left_out_are_counted() -> None:
    named = [kernel(f"k{at}", 1000 + at, bytes=1000, flops16=1e6) for at in range(8)]
    bare = kernel("layernorm", 500, bytes=1000, flops=5e6)
    figure = roofline(profile(*named, bare, kernel("sleep", 100)), roofs=ROOFS)
    notes = figure.layout.annotations[0].text.split("<br>")
    lacks = "1 kernel whose flops have no width (flops8, flops16 and flops32 do): layernorm."
    assert notes[6:] == [
        "And 2 more: roofline(…).kernels has all.",
        lacks,
        "1 kernel without flops or bytes: sleep.",
    ]
    assert "And 2 more" not in roofline(profile(*named[:6])).layout.annotations[0].text


def test_flops_of_two_widths_add_up_in_time() -> None:
    figure = one(bytes=1000, flops8=160e6, flops16=80e6)  # 0.1 µs and 0.1 µs
    (row,) = figure.kernels.to_dict("records")
    assert row["of_roof"] == pytest.approx(0.2)
    assert (row["width"], row["flop/s"]) == (8, 240e12)


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ({"bytes": 5_000_000, "flops16": 1.0},
         "impossible: 125 % of the roof (5.00 TB/s); the byte model is wrong, or a cache served "
         "it"),
        ({"bytes": 1, "flops16": 1000e6},
         "impossible: 125 % of the roof (1.00 PFLOP/s); the flop model is wrong"),
    ],
)  # fmt: skip
def test_above_the_roof_is_impossible(metrics: dict[str, Any], words: str) -> None:
    figure = one(**metrics)
    (row,) = figure.kernels.to_dict("records")
    assert (row["bound"], row["words"]) == ("impossible", words)
    assert "1 kernel above the roof, which cannot be." in figure.layout.annotations[0].text
    assert [trace.name for trace in figure.data if trace.meta == "points"] == [
        "above the roof: impossible"
    ]


def test_beating_the_fastest_sample_by_two_percent_is_still_possible() -> None:
    (row,) = one(bytes=4_180_000, flops16=1.0).kernels.to_dict("records")  # 4.1 to 4.182
    assert (row["bound"], row["of_roof"]) == ("memory", pytest.approx(1.045))
    (row,) = one(bytes=4_190_000, flops16=1.0).kernels.to_dict("records")
    assert row["bound"] == "impossible"


def test_lines_meet_at_the_ridge_and_say_where_they_come_from() -> None:
    figure = roofline(by_hand(), roofs=ROOFS)
    memory, fp8, bf16 = (trace for trace in figure.data if trace.meta == "roof")
    assert [y / x for x, y in zip(memory.x, memory.y, strict=True)] == pytest.approx([4e12] * 2)
    assert (memory.x[1], memory.y[1]) == (400, 1600e12)  # up to the highest of the others
    assert (fp8.x[0], fp8.y) == (400, (1600e12, 1600e12))
    assert (bf16.x[0], bf16.y) == (200, (800e12, 800e12))
    assert {trace.line.dash for trace in (memory, fp8, bf16)} == {"solid"}
    labels = [note.text for note in figure.layout.annotations[1:]]
    assert labels == [
        "copy 3.00 TB/s, read 4.00 TB/s (measured)",
        "fp8 1.60 PFLOP/s (measured)",
        "bf16 800 TFLOP/s (measured)",
    ]
    ridge = figure.layout.annotations[3]
    assert 10**ridge.y == pytest.approx(800e12)


def test_width_that_no_roof_is_known_for_is_said() -> None:
    (row,) = one(bytes=1000, flops32=1e6).kernels.to_dict("records")
    assert row["bound"] == "unknown"
    assert math.isnan(row["of_roof"]) or row["of_roof"] > 0
    assert row["words"] == "no roof is known for its 32-bit operands (1.00 TFLOP/s, 1.00 GB/s)"


def test_data_sheet_is_named_so() -> None:
    figure = roofline(by_hand())
    assert "roofline, data sheet" in figure.layout.title.text
    assert "Roofs of the data sheet; measure_roofs() on the device" in (
        figure.layout.annotations[0].text
    )
    assert {trace.line.dash for trace in figure.data if trace.meta == "roof"} == {"dash"}
    # 132 SMs at 1980 MHz: 1513 TFLOP/s x 132 / 114 x 1980 / 1755 / 2 at 16 bits.
    assert rows(figure)["gemm"]["of_roof"] == pytest.approx(
        400 / (1513 * 132 / 114 * 1980 / 1755 / 2)
    )


def test_roofs_that_were_measured_here_are_found_by_the_gpus_uuid() -> None:
    path = cache_path("GPU-1")
    path.parent.mkdir(parents=True)
    ROOFS.save(path)
    info = ProfileInfo(name="here", gpu="GPU X", clocks=(ClockReading("", "GPU-1", 1980),))
    figure = roofline(replace(by_hand(), info=info))
    assert "roofline, measured" in figure.layout.title.text
    assert rows(figure)["gemm"]["of_roof"] == pytest.approx(0.5)
    elsewhere = replace(info, clocks=(ClockReading("", "GPU-2", 1980),))
    assert "data sheet" in roofline(replace(by_hand(), info=elsewhere)).layout.title.text


def test_roofs_of_another_gpu_are_said() -> None:
    other = replace(by_hand(), info=ProfileInfo(name="x", gpu="GPU Y"))
    notes = roofline(other, roofs=ROOFS).layout.annotations[0].text
    assert "The roofs are of GPU X, the profile of GPU Y." in notes


def test_area_tells_time_and_click_data_the_kernel() -> None:
    figure = roofline(
        profile(
            kernel("long", 4000, bytes=1000, flops16=1e6),
            kernel("short", 1000, bytes=1000, flops16=1e6),
        ),
        roofs=ROOFS,
    )
    (points,) = (trace for trace in figure.data if trace.meta == "points")
    assert points.marker.size == (34.0, 7.0 + 27.0 * 0.5)  # half the way for a quarter of the time
    assert [names[0] for names in points.customdata] == ["long", "short"]
    assert points.hovertext[0].startswith("<b>long</b><br>")
    assert "80.0 % of kernel time" in points.hovertext[0]


def test_top_and_what_it_leaves_out() -> None:
    many = [kernel(f"k{at}", 1000 + at, bytes=1000, flops16=1e6) for at in range(5)]
    figure = roofline(profile(*many), roofs=ROOFS, top=2)
    assert list(rows(figure)) == ["k4", "k3"]
    assert "3 more kernels: top=2." in figure.layout.annotations[0].text


def test_labels_overlap_neither_points_nor_each_other_nor_lines() -> None:
    xs, ys, sizes = [10.0, 10.0, 10.5, 100.0], [1e12, 1.01e12, 1e12, 1e13], [20.0] * 4
    reach = ((1.0, 1000.0), (1e11, 1e15))
    free = label_places(["a", "b", "c", "d"], xs, ys, sizes, [], [], *reach)
    assert free[3] == ("d", "top center")
    assert len({side for text, side in free if text}) > 1
    line = ((1, 1000), (1.5e13, 1.5e13))
    crossed = label_places(["d"], [100.0], [1e13], [20.0], [line], [], *reach)
    assert crossed == [("d", "bottom center")]
    note = {"text": "a roof", "x": 2.0, "y": 13.0, "xanchor": "left", "yanchor": "bottom"}
    covered = label_places(["d"], [100.0], [1e13], [4.0], [], [note], *reach)
    assert covered == [("d", "bottom center")]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_every_recorded_profile(path: Path) -> None:
    found = protonlab.load(path)
    assert isinstance(found, Profile)
    figure = roofline(found, everything=True)
    kernels = found.kernels
    able = np.zeros(len(kernels), dtype=bool)
    for width in (8, 16, 32, 64):
        if f"flops{width}" in kernels:
            able |= (kernels[f"flops{width}"].fillna(0) > 0).to_numpy(dtype=bool)
    able &= (kernels["bytes"].fillna(0) > 0).to_numpy(dtype=bool) if "bytes" in kernels else False
    assert len(figure.kernels) == able.sum()
    bundle = figure._repr_mimebundle_()
    assert bundle["text/plain"] == repr(figure)
    assert bundle["text/html"].count("<circle") == able.sum()
    if not able.any():
        assert figure.layout.annotations[0].text == NEITHER


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (profile(), "No kernel was recorded."),
        (profile(kernel("k", 10)), NEITHER),
        (profile(kernel("k", 0, bytes=1, flops16=1.0)), NEITHER),
        (profile(kernel("k", 9, bytes=0, flops16=1.0)), NEITHER),
        (profile(kernel("k", 9, bytes=5, flops16=None)),
         NEITHER),
        (profile(kernel("k", 9, bytes=5, flops=5.0)),
         "Kernels recorded flops without a width; flops8, flops16 or flops32 picks the roof."),
    ],
)  # fmt: skip
def test_sentence_in_place_of_a_picture(found: Profile, sentence: str) -> None:
    figure = roofline(found)
    assert figure.layout.annotations[0].text == sentence
    assert sentence in figure._repr_mimebundle_()["text/html"]


def test_one_kernel_on_a_device_without_roofs() -> None:
    found = profile(kernel("k", 1000, bytes=1000, flops16=1e6))
    figure = roofline(replace(found, devices=()))
    assert rows(figure)["k"]["bound"] == "unknown"
    assert "The profile names no device." in figure.layout.annotations[0].text
    assert "roofline, no roof known" in figure.layout.title.text
    assert not [trace for trace in figure.data if trace.meta == "roof"]


def test_names_are_data() -> None:
    figure = roofline(profile(*(kernel(name, 1000, bytes=1000, flops16=1e6)
                                for name in (EVIL, "k" * 5000))), roofs=ROOFS)  # fmt: skip
    text = json.loads(figure.to_json())
    shown = [trace.get(key) for trace in text["data"] for key in ("text", "hovertext", "name")]
    assert "<img" not in json.dumps([shown, text["layout"]])
    assert "<img" not in figure._repr_mimebundle_()["text/html"]
    assert max(len(each) for trace in text["data"] for each in trace.get("text", [""])) < 300


@pytest.mark.parametrize(
    ("subject", "options", "message"),
    [
        ("x", {}, "draws a Profile, not a str; timeline.. draws a trace"),
        (by_hand(), {"top": 0}, "top=0; give a whole number, at least 1"),
        (
            by_hand(),
            {"roofs": 4e12},
            "roofs=4.*; give what measure_roofs.. or Roofs.load.. returns",
        ),
    ],
)
def test_bad_argument(subject: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtonLabError, match=message):
        roofline(subject, **options)
