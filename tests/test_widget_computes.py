"""A widget that computes on the interpreter, for correctness only."""

from __future__ import annotations

import re

import psutil
from widgets import run, until, widget


def test_computing_on_the_interpreter_stops_with_its_process() -> None:
    panel = widget(source="interpreter")
    others = set(psutil.Process().children())

    async def work() -> None:
        panel.running = True
        await until(lambda: set(psutil.Process().children()) - others)
        panel.running = False
        await panel.stopped()
        assert set(psutil.Process().children()) <= others
        assert panel.words["status"] == "Stopped."

    run(work())


def test_interpreter_checks_correctness_alone() -> None:
    panel = widget(source="interpreter")
    assert panel.chart == {}

    async def work() -> None:
        panel.running = True
        await until(lambda: not panel.running)

    run(work())
    said = panel.words["status"]
    assert "on and off give the same bits" in said
    assert "Times there mean nothing" in said
    errors = [float(each) for each in re.findall(r"\d\.\de-\d\d", said)]
    assert len(errors) == 2
    assert 0 < max(errors) < 4e-3  # bfloat16's rounding, against float64
    assert "headlines" not in panel.words
