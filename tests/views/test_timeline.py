"""The timeline: lanes, rows, merging and idle shares by hand; recorded traces; bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_traces import boxes, by_hand, launch, scope, trace_of

import protonlab
from protonlab import ProtonLabError, Trace
from protonlab.views import timeline
from protonlab.views._timeline_rows import place

PROFILES = Path(__file__).parent.parent / "profiles"
RECORDED = sorted(PROFILES.glob("*.chrome_trace*"))


def test_lanes_rows_and_idle_shares_by_hand() -> None:
    figure = timeline(by_hand())
    found = {box["label"]: (box["row"], box["start"], box["width"]) for box in boxes(figure)}
    assert found == {
        "step": (0, 0, 100), "forward": (1, 10, 40), "loss": (1, 60, 30),
        "matmul": (2, 20, 10), "gelu": (2, 50, 20), "copy": (3, 95, 5),
    }  # fmt: skip
    # From 20 to 100 µs the GPU worked for 10 + 20 + 5.
    assert figure.layout.title.text == "timeline over 100 µs · GPU idle 56.2 %"
    assert list(figure.layout.yaxis.ticktext) == [
        "Thread 0", "GPU Stream 7 · idle 62.5 %", "GPU Stream 9 · idle 93.8 %",
    ]  # fmt: skip
    assert list(figure.layout.yaxis.tickvals) == [0.5, 2, 3]
    assert figure.layout.xaxis.title.text == "time since the first event (µs)"
    assert repr(figure) == (
        "<TimelineFigure: timeline over 100 µs · GPU idle 56.2 %, 6 boxes>\n"
        "GPU: at work for 35.0 µs of 80.0 µs between its first and its last launch, idle 56.2 %.\n"
        "Longest gaps: 25.0 µs (at 70.0 µs, between gelu and copy), "
        "20.0 µs (at 30.0 µs, between matmul and gelu)."
    )


def test_hover_tells_name_time_lane_path_metrics_and_hook() -> None:
    args = {"call_stack": ["ROOT", "step", "mlp", "matmul"], "metrics": {"bytes": "96"}}
    trace = trace_of(launch("matmul", 5, 2.5, args=args), launch("x", 1, 1)).with_hook(
        {}, {"matmul": {"bytes"}}, {"x"}
    )
    hover = {box["label"]: box["hover"] for box in boxes(timeline(trace))}
    assert hover["matmul"] == (
        "<b>matmul</b><br><b>2.50 µs</b>, from 4.00 µs on<br>GPU Stream 7<br>in step › mlp<br>"
        "bytes: <b>96</b><br>launched by Triton"
    )
    assert hover["x"].endswith("filtered out")
    assert {box["role"] for box in boxes(timeline(trace))} == {"kernel", "kernel, filtered out"}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_trace_is_drawn_whole(path: Path) -> None:
    trace = protonlab.load(path)
    assert isinstance(trace, Trace)
    figure = timeline(trace, max_lanes=500)
    timed = trace.events[trace.events["kind"] != "flow"]
    for meta in {each.meta for each in figure.data}:
        found = boxes(figure, meta)
        alone = [box for box in found if not box["label"].endswith(" events")]
        merged = sum(int(box["label"].split()[0].replace(",", "")) for box in found
                     if box not in alone)  # fmt: skip
        assert len(alone) + merged == len(timed)
    bundle = figure._repr_mimebundle_()
    assert bundle["text/plain"] == repr(figure)
    assert bundle["text/html"].count("<svg") == 1
    assert "script" not in bundle["text/html"]
    assert bundle["text/html"].count("<title>") <= len(boxes(figure))  # none of the detail
    idle = trace.idle
    if len(idle):
        share = f"GPU idle {100 * idle['idle'][0]:.1f} %"
        assert share in figure.layout.title.text
        assert share in bundle["text/html"]


def test_instrumentation_in_cycles_or_by_a_stated_clock() -> None:
    trace = protonlab.load(PROFILES / "instrumentation_3.9.0.chrome_trace.gz")
    assert isinstance(trace, Trace)
    figure = timeline(trace, lanes="CTA44,")
    assert list(figure.layout.yaxis.ticktext) == [
        f"kern Core0 CTA44, warp {warp} (line 0)" for warp in range(4)
    ]
    assert figure.layout.xaxis.title.text == "cycles since the first event"
    assert figure.layout.title.text.startswith("timeline over 1,")
    assert {box["role"] for box in boxes(figure)} == {"load", "compute", "store"}
    first = next(box for box in boxes(figure) if box["row"] == 0 and box["role"] == "load")
    assert (first["start"], first["width"]) == (46, 124)
    timed = timeline(trace, lanes="CTA44,", clock_mhz=1000)
    assert timed.layout.xaxis.title.text == "time since the first event (µs, at 1000 MHz)"
    first = next(box for box in boxes(timed) if box["row"] == 0 and box["role"] == "load")
    assert (first["start"], first["width"]) == pytest.approx((0.046, 0.124))


def test_more_lanes_than_asked_for_are_named() -> None:
    trace = protonlab.load(PROFILES / "instrumentation_3.9.0.chrome_trace.gz")
    assert isinstance(trace, Trace)
    figure = timeline(trace, max_lanes=4)
    assert len(figure.layout.yaxis.ticktext) == 4
    assert "252 more lanes: max_lanes=4; lanes='…' draws those" in repr(figure)


def test_profile_is_refused_with_the_view_that_draws_it() -> None:
    profile = protonlab.load(PROFILES / "tree_scopes_3.9.0.hatchet")
    with pytest.raises(ProtonLabError, match=r"this is a Profile: .* See flame\(profile\)"):
        timeline(profile)  # type: ignore[arg-type]
    with pytest.raises(ProtonLabError, match="draws a Trace, not str"):
        timeline("trace.json")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_boxes": 10}, "max_boxes=10; give a whole number, at least 100"),
        ({"max_boxes": None}, "max_boxes=None; give a whole number, at least 100"),
        ({"max_lanes": 0}, "max_lanes=0; give a whole number, at least 1"),
        ({"lanes": "("}, "lanes is not a regular expression"),
        ({"clock_mhz": 1980}, "clock_mhz=1980, but this trace is in ns"),
    ],
)
def test_bad_option(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtonLabError, match=message):
        timeline(by_hand(), **options)


@pytest.mark.parametrize("clock", [0, -5, "fast", float("inf")])
def test_bad_clock(clock: Any) -> None:
    trace = protonlab.load(PROFILES / "instrumentation_3.9.0.chrome_trace.gz")
    with pytest.raises(ProtonLabError, match="give the SM clock in MHz"):
        timeline(trace, clock_mhz=clock)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("trace", "options", "sentence"),
    [
        (trace_of(), {}, "The trace holds no event."),
        (by_hand(), {"lanes": "nowhere"}, "No lane&#39;s name holds &#39;nowhere&#39;."),
    ],
)
def test_sentence_in_place_of_a_picture(
    trace: Trace, options: dict[str, Any], sentence: str
) -> None:
    figure = timeline(trace, **options)
    assert figure.layout.annotations[0].text == sentence
    assert figure.refined({"range": [0, 1]}) is None
    assert sentence in figure._repr_mimebundle_()["text/html"]


def test_names_are_data() -> None:
    bad = "<img src=x onerror=alert(1)> $x$"
    trace = trace_of(
        launch(bad, 0, 100), launch("k" * 5000, 200, 100), scope(bad, 0, 300),
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": bad}},
    )  # fmt: skip
    figure = timeline(trace)
    text = json.loads(figure.to_json())
    assert "<img" not in json.dumps([each["hovertext"] + each["text"] for each in text["data"]])
    assert "<img" not in json.dumps(text["layout"])
    assert max(len(box["label"]) for box in boxes(figure)) <= 100
    assert "<img" not in figure._repr_mimebundle_()["text/html"]


def test_no_time_at_all_one_launch_and_many_children() -> None:
    assert len(boxes(timeline(trace_of(launch("a", 5, 0), launch("b", 5, 0))))) == 1
    (box,) = boxes(timeline(trace_of(launch("a", 5, 1))))
    assert (box["start"], box["width"], box["label"]) == (0, 1, "a")
    many = [scope(f"s{at}", at, 1, ("step",)) for at in range(10_000)]
    figure = timeline(trace_of(scope("step", 0, 10_000), *many))
    assert 1000 <= len(boxes(figure)) <= 1026
    assert len(boxes(figure, "detail")) <= 3000


def test_lanes_of_two_gpus_are_told_apart() -> None:
    figure = timeline(trace_of(launch("a", 0, 10), launch("b", 30, 10, pid=1)))
    assert list(figure.layout.yaxis.ticktext) == [
        "GPU 0, GPU Stream 7 · idle 0.0 %", "GPU 1, GPU Stream 7 · idle 0.0 %",
    ]  # fmt: skip
    assert figure.layout.title.text == "timeline over 40.0 µs · GPU 0 idle 0.0 % · GPU 1 idle 0.0 %"


def test_arrows_are_not_boxes() -> None:
    arrow = {"cat": "flow", "name": "launch->kernel", "id": 1, "pid": 0}
    trace = trace_of({"ph": "s", "ts": 1, "tid": 0, **arrow}, launch("a", 5, 1),
                     {"ph": "f", "ts": 5, "tid": 7, **arrow})  # fmt: skip
    assert place(trace, None, 9).event.tolist() == [1]
