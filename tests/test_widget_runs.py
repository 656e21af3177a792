"""A widget that runs: replayed, measured, stopped, interrupted, and two of them."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import re
import time
from typing import Any

import pytest
import torch
from widgets import FOUR, SWEEP, run, until, widget

from protonlab import EpilogueWidget
from protonlab.epilogue import EpilogueCase, EpilogueWeights, gpu_problem
from protonlab.errors import ProtonLabError
from protonlab.widget._live import Live
from protonlab.widget._turn import turn


@pytest.fixture(autouse=True)
def _replays_show_one_pair_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is: a replay that keeps its time would leave some out."""
    monkeypatch.setattr("protonlab.widget._replay._REPLAY_S", math.inf)


def test_a_replay_runs_to_its_end_in_growing_parts() -> None:
    panel = widget()

    async def work() -> None:
        sizes = []
        panel.observe(lambda change: sizes.append(len(panel.comparison or ())), "chart")
        panel.running = True
        await until(lambda: not panel.running)
        assert sizes == [*range(2, 25)]

    run(work())
    assert panel.words["status"] == "Replayed: all 24 pairs."
    part = SWEEP.comparison(FOUR).first(24)
    assert panel.words["verdict"] == part.verdict


def test_a_replay_that_was_held_up_keeps_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("protonlab.widget._replay._REPLAY_S", 1e-9)
    panel = widget()

    async def work() -> None:
        sizes = []
        panel.observe(lambda change: sizes.append(len(panel.comparison or ())), "chart")
        panel.tokens = 16
        sizes.clear()
        panel.running = True
        await until(lambda: not panel.running)
        assert set(sizes) <= {24}

    run(work())
    assert panel.words["status"] == "Replayed: all 24 pairs."


def test_what_was_kept_of_a_run_is_said_while_it_goes_on() -> None:
    panel = widget()

    async def work() -> None:
        panel.running = True
        await until(lambda: 3 < len(panel.comparison or ()) < 20)
        kept = panel.keep()["epilogue"]
        said = f"Kept in epilogue, epilogue_compiled: {len(kept)} pairs."
        assert panel.words["kept"] == said
        assert kept.protocol["stop_reason"] == f"a part: {len(kept)} of 24 pairs"
        before = panel.words["status"]
        await until(lambda: panel.words["status"] != before)
        assert panel.words["kept"] == said
        await until(lambda: not panel.running)
        assert panel.words["kept"] == said

    run(work())


def test_clicks_never_pile_up_and_stop_always_works() -> None:
    panel = widget()

    async def work() -> None:
        tasks = len(asyncio.all_tasks())
        for _ in range(50):
            panel.running = True
            panel.running = False
        panel.running = True
        assert len(asyncio.all_tasks()) <= tasks + 1
        await until(lambda: 3 < len(panel.comparison or ()) < 20)
        panel.running = False
        assert panel.words["status"] == "Stopped."
        await panel.stopped()
        seen = len(panel.comparison or ())
        await asyncio.sleep(0.2)
        assert len(panel.comparison or ()) == seen < 24

    run(work())


def test_words_and_chart_reach_the_page_together_and_name_the_case_of_their_numbers() -> None:
    panel = widget()
    sent: list[dict[str, Any]] = []
    panel.send_state = lambda key=None: sent.append(  # type: ignore[method-assign]
        {name: getattr(panel, name) for name in ([key] if isinstance(key, str) else key or ())}
    )

    async def work() -> None:
        panel.running = True
        await until(lambda: not panel.running)

    run(work())
    charts = [state for state in sent if "chart" in state]
    assert len(charts) == 23
    for state in charts:
        (pairs,) = re.findall(r"\d+ pairs", state["chart"]["layout"]["title"]["text"])
        assert pairs in state["words"]["sentences"][0]
        assert state["words"]["drawn"] == {"source": "replay", **dataclasses.asdict(FOUR)}
    answered = [state["words"]["of"]["running"] for state in sent if "words" in state]
    assert answered[0] is True  # before anything is measured
    assert answered[-1] is False
    panel.close()


def test_a_choice_during_a_run_is_answered_before_its_numbers_are_there() -> None:
    panel = widget()

    async def work() -> None:
        panel.running = True
        await until(lambda: 3 < len(panel.comparison or ()) < 20)
        panel.tokens = 16
        assert panel.words["of"]["tokens"] == 16
        assert panel.words["drawn"]["tokens"] == 4  # which the page therefore dims
        await until(lambda: panel.words["drawn"]["tokens"] == 16)
        panel.close()
        await panel.stopped()

    run(work())


def test_a_choice_during_a_run_begins_anew() -> None:
    panel = widget()

    async def work() -> None:
        panel.running = True
        await until(lambda: 6 < len(panel.comparison or ()) < 20)
        panel.tokens = 16
        await until(lambda: len(panel.comparison or ()) in (2, 3))
        assert panel.running
        assert "16 tokens" in panel.chart["layout"]["title"]["text"]
        panel.close()
        await panel.stopped()

    run(work())


def test_another_source_during_a_run_takes_the_numbers_of_the_first_away() -> None:
    panel = widget()

    async def work() -> None:
        panel.running = True
        await until(lambda: 3 < len(panel.comparison or ()) < 20)
        panel.source = "interpreter"
        assert (panel.comparison, panel.compiled) == (None, None)
        assert (panel.chart, panel.table) == ({}, "")
        await until(lambda: panel.words["status"].startswith("Computing"))
        assert "label" not in panel.words
        panel.running = False
        await panel.stopped()

    run(work())


def test_in_a_script_it_says_what_to_use() -> None:
    panel = widget()
    panel.running = True
    assert not panel.running
    assert "in a script use compare_variants" in panel.words["problem"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_gpu_that_is_none_is_told_when_it_is_asked_for() -> None:
    panel = widget(source="gpu")
    assert panel.words["status"].startswith("Measuring epilogue overlap needs an NVIDIA Hopper GPU")
    assert panel.words["status"].endswith("; choose the replay to see what an H200 measured.")
    assert "label" not in panel.words  # no numbers yet
    assert panel.choices["experts"] == {"min": 1, "max": 1024, "step": 1}

    async def work() -> None:
        panel.running = True
        await until(lambda: not panel.running)

    run(work())
    assert "needs an NVIDIA Hopper GPU" in panel.words["problem"]
    assert panel.words["problem"].endswith("; choose the replay to see what an H200 measured")
    with pytest.raises(ProtonLabError, match="nothing was measured yet"):
        panel.figure()
    with pytest.raises(ProtonLabError, match="nothing to keep"):
        panel.keep()
    panel.source = "replay"  # offers what was recorded
    assert panel.words["problem"] == ""
    assert panel.comparison is not None
    panel.close()


@pytest.mark.skipif(torch.cuda.is_available(), reason="kernels are not interpreted here")
def test_live_measuring_goes_in_slices_and_frees_everything() -> None:
    """On the interpreter, whose times mean nothing: what is shown grows, and stops at once."""
    weights = EpilogueWeights(2, 128, 128, device="cpu")
    list(weights.make("ours"))
    calls = weights.calls(EpilogueCase("ours", 1, 2, 128, 128))

    async def work() -> None:
        live = Live(budget_s=20.0)
        moments = live.measured(calls)
        seen, longest, before = [], 0.0, time.thread_time()
        async for moment in moments:
            now = time.thread_time()
            longest, before = max(longest, now - before), now
            if moment.comparison is not None:
                seen.append(len(moment.comparison))
            if len(seen) == 3:
                break
        await moments.aclose()
        assert seen == sorted(seen)
        assert longest < 1  # what the loop's own thread did never held it up
        assert live._measurement is not None
        assert live._measurement.done
        # Closing while it measures ends the measurement, too.
        again = live.measured(calls)
        async for moment in again:
            if moment.comparison is not None:
                break
        measurement = live._measurement
        live.close()
        await again.aclose()
        await until(lambda: measurement.done)
        assert measurement.stop_reason == "it was closed"

    run(work())


def test_a_second_widget_stops_the_first() -> None:
    first, second = widget(), widget()

    async def work() -> None:
        await turn().take(first._run)
        first.running = second.running = True
        await until(lambda: first.comparison is not None)
        await turn().take(second._run)
        assert not first.running
        assert not first._run.is_going_on
        assert "another widget began to measure" in first.words["status"]
        await turn().take(second._run)  # again: nothing to wait for
        second.running = False
        await second.stopped()
        await turn().take(first._run)  # which finds the other idle, and leaves its words alone
        assert "another widget" not in second.words["status"]

    run(work())


def test_two_widgets_that_want_the_same_turn_never_wait_for_each_other() -> None:
    first, second = widget(), widget()

    async def work() -> None:
        await turn().take(first._run)
        first.running = second.running = True
        waiting = asyncio.ensure_future(turn().take(second._run))
        await asyncio.sleep(0)
        first.running = True  # a person insists, before it has stopped
        await turn().take(first._run)
        await waiting
        assert not second.running
        first.running = False
        await first.stopped()

    run(work())


@pytest.mark.gpu
@pytest.mark.skipif(gpu_problem() is not None, reason="needs a Hopper GPU")
def test_on_a_gpu_it_measures_answers_meanwhile_and_frees_the_memory() -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    panel = EpilogueWidget(EpilogueCase("ours", 4, 16, 1024, 256), source="gpu", into="mine")

    async def work() -> None:
        panel.running = True
        longest = 0.0
        while len(panel.comparison or ()) < 8:
            start = asyncio.get_running_loop().time()
            await asyncio.sleep(0.01)
            longest = max(longest, asyncio.get_running_loop().time() - start)
        assert longest < 1  # Triton's compiler holds Python now and then
        assert panel.running
        assert panel.compiled is not None
        assert "copy, measured" in str(panel.figure().layout.annotations)
        panel.overlap = False
        panel.running = False
        await asyncio.wait_for(panel.stopped(), 2)
        assert panel.words["status"] == "Stopped."
        kept = panel.keep()
        assert set(kept) == {"mine", "mine_overlap", "mine_serial", "mine_compiled"}
        # Another shape begins anew; what is wrong with it is shown.
        panel.experts = 1024
        panel.n = panel.k = 32768
        panel.running = True
        await until(lambda: not panel.running)
        assert "take fewer experts" in panel.words["problem"]
        panel.close()
        await panel.stopped()

    run(work())
    panel.comparison = panel.compiled = None
    for _ in range(100):
        torch.cuda.empty_cache()
        if torch.cuda.memory_reserved() <= before + 2**21:
            break
        time.sleep(0.05)
    assert torch.cuda.memory_reserved() <= before + 2**21
