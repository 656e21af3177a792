"""A run of several ranks: who is there, who is missing, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from builders import document, kernel

from protonlab import ProtonLabError, Run
from protonlab.formats import read_profile
from protonlab.model.manifest import RankManifest

ONE = read_profile(document(kernel("matmul", 100)))


def manifest(rank: int, world_size: int = 4, **values: Any) -> RankManifest:
    state = values.pop("state", "complete")
    return RankManifest(rank, world_size, state, "2026-11-30T07:30:00+00:00", **values)


def test_profiles_at_hand_make_a_run() -> None:
    run = Run.from_profiles({1: ONE, 0: ONE}, name="two")
    assert run.ranks == (0, 1)
    assert run.world_size == 2
    assert run.missing == ()
    assert repr(run) == "<Run 'two': 2 ranks>"


def test_missing_are_the_ranks_that_left_nothing_whole() -> None:
    manifests = {0: manifest(0), 2: manifest(2, state="recording")}
    run = Run("four", {0: ONE}, manifests)
    assert run.world_size == 4
    assert run.missing == (1, 2, 3)
    assert run.summary == "1 of 4 ranks, missing: 1 to 3"
    assert run.notes[0] == "Nothing of ranks 1, 3 is here, and the job had 4 ranks."


def test_a_run_may_be_empty() -> None:
    assert Run.from_profiles({}).summary == "no rank"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({-1: ONE}, "profiles has rank -1; a rank is a whole number from 0 up"),
        ({True: ONE}, "profiles has rank True"),
        ({"0": ONE}, "profiles has rank '0'"),
        ({0: "profile"}, r"profiles\[0\] is a str, and should be a Profile"),
        ([ONE], "profiles maps ranks to their profiles, and is no list"),
    ],
    ids=["negative", "bool", "text", "no profile", "no mapping"],
)
def test_what_is_no_rank_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ProtonLabError, match=message):
        Run.from_profiles(given)
