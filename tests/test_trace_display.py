"""How a trace shows itself: a summary with the idle share, the timeline, its kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import protonlab
from protonlab import Trace
from protonlab.display import _views as display
from protonlab.front_end import HEADLESS
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
    assert head.split() == ["count", "time/us", "min/us", "median/us", "max/us"]
    *label, count, total, _, _, _ = lines[4].split()
    widest = trace.kernels.iloc[0]
    assert (label, int(count)) == ([widest["label"]], widest["count"])
    assert total == f"{widest['time_ns'] / 1000:,.2f}"
    assert lines[-1] == f"{len(trace.kernels) - 20} more with less time"
    assert max(map(len, lines[3:])) < 120


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("trace_3.9.0.chrome_trace", ["Summary", "TimelineFigure", "Rows"]),
        ("instrumentation_3.9.0.chrome_trace.gz", ["Summary", "TimelineFigure", "Rows"]),
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
