"""How a trace shows itself: a summary with the idle share, the timeline, its kernels."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import protonlab
from protonlab import Trace
from protonlab.display import _views as display
from protonlab.front_end import HEADLESS
from protonlab.model.units import plain
from protonlab.views import TimelineFigure

PROFILES = Path(__file__).parent / "profiles"


def trace_of(name: str) -> Trace:
    trace = protonlab.load(PROFILES / name)
    assert isinstance(trace, Trace)
    return trace


def test_plain_python_gets_text(capsys: pytest.CaptureFixture[str]) -> None:
    display.show_trace(trace_of("trace_3.9.0.chrome_trace"))
    first, second, *rest = capsys.readouterr().out.splitlines()
    assert first == "trace: 15 launches of 3 kernels, 5 scopes in 2 lanes over 38.8 ms"
    assert second == "GPU idle 98.3 % between its first and its last launch"
    assert sum("attention_kernel" in line for line in rest) > 0


def test_kernels_are_listed_in_microseconds_and_what_is_left_out_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = protonlab.recorded.gpt_trace()
    display.show_trace(trace)
    *_, head = (lines := capsys.readouterr().out.splitlines())[:4]
    assert re.split(" {2,}", head) == [
        "kernel", "time (µs)", "time (%)", "count", "min (µs)", "median (µs)", "max (µs)",
    ]  # fmt: skip
    label, total, share, count, _, _, _ = lines[5].split()
    widest = trace.kernels.iloc[0]
    assert (label[:20], int(count)) == (widest["label"][:20], widest["count"])
    assert total == f"{widest['time_ns'] / 1000:.2f}"
    assert share == plain(100 * widest["time_ns"] / trace.kernels["time_ns"].sum())
    assert lines[-1] == f"{len(trace.kernels) - 20} more with less time: trace.kernels has all."
    assert max(map(len, lines[3:])) < 120


def test_page_has_the_table_that_profiles_have() -> None:
    trace = protonlab.recorded.gpt_trace()
    shown = display.trace_views(trace, draws=True)[-1]
    assert len(shown.rows) == len(trace.kernels) > 20
    assert shown.names == tuple(trace.kernels["name"])
    assert "more with less time" not in str(shown)
    assert 'class="protonlab-table"' in shown.html()
    times, counts = [[float(row[at]) for row in shown.rows] for at in (1, 3)]  # as the page sorts
    assert counts == trace.kernels["count"].tolist()
    assert times == pytest.approx(trace.kernels["time_ns"] / 1000, abs=0.01)


def test_metrics_and_what_the_hook_kept_stand_in_columns_of_their_own() -> None:
    args = {"metrics": {"n_tokens": "96"}}
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": width,
         "args": more}
        for name, at, width, more in (("mm", 5, 2.5, args), ("mm", 9, 1.5, args), ("x", 1, 1, {}))
    ]  # fmt: skip
    loaded = protonlab.load(json.dumps({"traceEvents": events}).encode())
    assert isinstance(loaded, Trace)
    trace = loaded.with_hook({}, {"mm": {"n_tokens"}}, {"x"})
    shown = display.trace_views(trace, draws=False)[-1]
    assert shown.headers == (
        "kernel", "time (µs)", "time (%)", "count", "min (µs)", "median (µs)", "max (µs)",
        "n_tokens", "hook",
    )  # fmt: skip
    assert shown.rows == (
        ("mm", "4.00", "80.0", "2", "1.50", "2.00", "2.50", "192", "kept"),
        ("x", "1.00", "20.0", "1", "1.00", "1.00", "1.00", "–", "filtered"),
    )


def test_scopes_in_cycles_have_no_share_since_they_may_nest() -> None:
    trace = trace_of("instrumentation_3.9.0.chrome_trace.gz")
    shown = display.trace_views(trace, draws=False)[-1]
    assert shown.headers == (
        "scope", "time (cycles)", "count", "min (cycles)", "median (cycles)", "max (cycles)",
    )  # fmt: skip
    first = trace.scopes.iloc[0]
    assert shown.rows[0][:3] == (first["label"], str(first["time_cycles"]), str(first["count"]))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("trace_3.9.0.chrome_trace", ["Summary", "TimelineFigure", "KernelTable"]),
        ("instrumentation_3.9.0.chrome_trace.gz", ["Summary", "TimelineFigure", "KernelTable"]),
    ],
)
def test_notebook_gets_the_timeline(
    name: str, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(display, "display", shown.append)
    monkeypatch.setattr(display, "front_end", lambda: HEADLESS)
    display.show_trace(trace_of(name))
    assert [type(each).__name__ for each in shown] == kinds
    assert isinstance(shown[1], TimelineFigure)
