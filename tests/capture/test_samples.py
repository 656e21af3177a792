"""Times of samples by Proton, read while it records."""

from __future__ import annotations

import pytest
import torch
from sample_kernels import add, plain

from protonlab import Session
from protonlab.capture import _proton
from protonlab.capture.samples import Samples
from protonlab.model.units import counted

HAS_PHASES = _proton.require().has_phases
# On a GPU torch fills the input with a kernel of its own.
EACH = 2 if torch.cuda.is_available() else 1
needs_phases = pytest.mark.skipif(not HAS_PHASES, reason="Triton before 3.7 has no phases")


@needs_phases
def test_each_sample_has_its_launches_and_time_and_is_given_once() -> None:
    samples = Samples()
    samples.start()
    try:
        assert samples.problem is None
        for block in range(12):  # more than are kept before they are cleared
            first, second = 2 * block, 2 * block + 1
            plain()  # of no sample
            with samples.timed(first):
                add()
                plain()
            for _ in range(3):  # in pieces
                with samples.timed(second):
                    add()
            plain()
            found = samples.read({first: 2 * EACH, second: 3 * EACH})
            assert samples.problem is None
            assert {number: time.launches for number, time in found.items()} == {
                first: 2 * EACH,
                second: 3 * EACH,
            }
            assert all(time.time_ns > 0 for time in found.values())
    finally:
        samples.stop()
    samples.stop()


@needs_phases
def test_another_number_of_launches_than_were_made_is_a_problem_and_stays_one() -> None:
    samples = Samples()
    samples.start()
    with samples.timed(0):
        add()
    assert samples.read({0: EACH + 1}) == {}
    of_it = counted(EACH, "launch", "launches")
    message = f"Proton showed {of_it} of a sample that should have {EACH + 1}"
    assert samples.problem == message
    with samples.timed(1):
        add()
    assert samples.read({1: EACH}) == {}
    samples.stop()


@needs_phases
def test_others_sessions_neither_see_the_scopes_nor_disturb_them() -> None:
    samples, beside = Samples(), Samples()
    with Session("outer") as outer:
        samples.start()
        beside.start()
        with samples.timed(0):
            add()
        with beside.timed(0):
            plain()
            plain()
        assert samples.read({0: EACH})[0].launches == EACH
        assert beside.read({0: 2 * EACH})[0].launches == 2 * EACH
        samples.stop()
        beside.stop()
    names = set(outer.profile.frames["name"].astype(str))
    assert {"add_kernel [n=128]", "plain_kernel"} <= names
    assert not any("protonlab" in name for name in names)


@needs_phases
def test_session_that_somebody_else_ended_is_a_problem() -> None:
    samples = Samples()
    samples.start()
    samples._session.stop()
    with samples.timed(0):
        add()
    assert samples.read({0: 1}) == {}
    assert samples.problem == "Proton's session was ended by somebody else"
    samples.stop()


@pytest.mark.skipif(HAS_PHASES, reason="this Triton has phases")
def test_before_phases_it_says_why_it_times_nothing() -> None:
    samples = Samples()
    samples.start()
    assert samples.problem is not None
    assert "gives times at the end of a session only" in samples.problem
    with samples.timed(0):
        add()
    assert samples.read({0: 1}) == {}
    samples.stop()
