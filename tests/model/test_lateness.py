"""How often chance makes a straggler: counted on noise unlike that of the other tests."""

from __future__ import annotations

import numpy as np
import pytest

from protonlab.model.lateness import Lateness, Wording, lateness

STEP_NS, EACH, RUNS = 50e6, 4, 200
WORDING = Wording("collective", "step", "came last to", "after", 8)


def lateness_of(
    random: np.random.Generator, ranks: int, steps: int, *, like: float = 0.0, late: float = 0.0
) -> Lateness:
    """Arrivals of ranks that are late by the same in all collectives of a step.

    Each rank's offset of a step has heavy tails and a standard deviation of 3 % of a step, and
    resembles that of the step before where `like` is above 0; `late` is what the last rank comes
    late by, as a share of a step.
    """
    offset = random.standard_t(3, (steps, ranks)) / np.sqrt(3)
    for step in range(1, steps):
        offset[step] = like * offset[step - 1] + np.sqrt(1 - like**2) * offset[step]
    own = random.normal(0, 0.01, (steps * EACH, ranks))
    arrival = np.repeat(0.03 * offset, EACH, axis=0) + own
    arrival[:, -1] += late
    arrival *= STEP_NS / EACH
    seen = random.normal(0, 5_000, arrival.shape)  # when each clock shows the common end
    inside = arrival.max(axis=1, keepdims=True) - arrival + seen
    waits = inside - inside.min(axis=1, keepdims=True)
    unit = np.repeat(np.arange(steps), EACH)
    return Lateness(tuple(range(ranks)), waits, unit, STEP_NS, WORDING)


@pytest.mark.parametrize(
    ("ranks", "steps", "like", "at_most"),
    [
        *((2, 3, 0.0, 0.15), (4, 2, 0.0, 0.15), (8, 5, 0.0, 0.04)),
        *((2, 6, 0.0, 0.03), (4, 10, 0.0, 0.03), (64, 6, 0.0, 0.01), (4, 20, 0.5, 0.06)),
    ],
)
def test_chance_names_few(ranks: int, steps: int, like: float, at_most: float) -> None:
    random = np.random.default_rng([41, ranks, steps])
    runs = [lateness_of(random, ranks, steps, like=like) for _ in range(RUNS)]
    named = [run for run in runs if run.found]
    assert len(named) <= at_most * RUNS
    if steps < 6:
        assert all("probably waited for" in run.sentence for run in named)


@pytest.mark.parametrize(("ranks", "steps"), [(2, 3), (4, 5), (2, 6), (8, 10)])
def test_a_fifth_of_a_step_is_nearly_always_found(ranks: int, steps: int) -> None:
    random = np.random.default_rng([43, ranks, steps])
    runs = [lateness_of(random, ranks, steps, late=0.2) for _ in range(100)]
    assert sum(run.found == (ranks - 1,) for run in runs) >= 95


def test_without_steps_parts_of_the_recording_are_the_trials() -> None:
    run = lateness_of(np.random.default_rng(5), 3, 10)
    alone = Wording("collective", "collective", "came last to", "after", 8)
    unstepped = Lateness(run.ranks, run.waits, np.arange(40), STEP_NS / EACH, alone)
    assert unstepped.trials.shape == (8, 3)
    np.testing.assert_allclose(unstepped.trials.sum(axis=0), run.late.sum(axis=0))
    np.testing.assert_allclose(unstepped.trials[0], run.by_event[:5].sum(axis=0))


def test_lateness_is_the_distance_to_the_median_of_the_others() -> None:
    waits = np.array([[5.0, 3.0, 0.0, 4.0]])
    assert lateness(waits).tolist() == [[-2.0, 1.0, 4.0, -1.0]]
    assert lateness(np.array([[7.0, 0.0]])).tolist() == [[-7.0, 7.0]]
