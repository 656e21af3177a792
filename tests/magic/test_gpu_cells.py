"""``%%proton`` cells that only a GPU can run: traces, and repeats as CUPTI times them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protonlab import Trace

if TYPE_CHECKING:
    from conftest import Notebook

pytestmark = pytest.mark.gpu


def test_trace_is_left_and_shown(notebook: Notebook) -> None:
    run = notebook.run("%%proton timeline data=trace\nboth()\ndouble()")
    assert run.result.success, run.out
    assert run.result.result == 7
    trace = notebook["timeline"]
    assert isinstance(trace, Trace)
    assert notebook["_proton"] is trace
    counts = trace.kernels.set_index("name")["count"]
    assert counts["p_double"] == 2, trace.kernels
    assert counts["clear"] == 1, trace.kernels
    assert "timeline: " in run.out
    assert " in 1 lane over " in run.out or " in 2 lanes over " in run.out, run.out
    assert "p_double" in run.out
    again = notebook.run("timeline")
    assert "timeline: " in again.out
    assert again.result.result is trace


def test_trace_may_stay_hidden(notebook: Notebook) -> None:
    run = notebook.run("%%proton data=trace view=none\ndouble();")
    assert run.out == ""
    assert isinstance(notebook["_proton"], Trace)


def test_repeats_with_their_distribution(notebook: Notebook) -> None:
    run = notebook.run("%%proton run1 repeat=20 warmup=3\nboth()\ndouble()")
    assert run.result.success, run.out
    profile = notebook["run1"]
    counts = profile.distribution("count").set_index("name")
    assert counts.loc["p_double", ["n", "min", "max"]].tolist() == [20, 2, 2], counts
    assert counts.loc["clear", ["n", "min", "max"]].tolist() == [20, 1, 1], counts
    assert "20 repeats after 3 warm-ups: " in run.out
    times = profile.distribution("time/us").set_index("name")
    assert (times.loc["p_double", ["low", "high"]] > 0).all(), times
