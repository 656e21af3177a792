"""Deep trees, on every Python, and the bounds on depth and size."""

import sys
from pathlib import Path
from typing import Any

import pytest
from builders import SMALL
from tree_bytes import nested, nested_msgpack

import protonlab
from protonlab.errors import ProfileFormatError


@pytest.mark.parametrize("make", [nested, nested_msgpack])
@pytest.mark.parametrize("depth", [1, 300, 1000, 5000])
def test_deep_trees_load_on_every_python(make: Any, depth: int, tmp_path: Path) -> None:
    profile = protonlab.load(make(depth))
    assert len(profile.frames) == depth + 2
    assert profile.frames["depth"].iloc[-1] == depth + 1
    assert profile.inclusive["time_ns"].tolist() == [7] * (depth + 2)
    assert profile.inclusive["n_tokens"].iloc[0] == 3
    profile.save(tmp_path / "deep.hatchet")
    assert protonlab.load(tmp_path / "deep.hatchet").frames.equals(profile.frames)


@pytest.mark.parametrize("make", [nested, nested_msgpack])
def test_a_deep_file_with_a_mistake_is_still_refused(make: Any) -> None:
    good = make(1200)
    with pytest.raises(ProfileFormatError):
        protonlab.load(good[: len(good) // 2])
    wrong = good.replace(b'"name":"f"', b'"nome":"f"', 1).replace(
        b"\xa4name\xa1f", b"\xa4nome\xa1f", 1
    )
    with pytest.raises(ProfileFormatError, match="missing required field `name`"):
        protonlab.load(wrong)


def test_bounds_on_depth_and_size() -> None:
    with pytest.raises(ProfileFormatError, match="deeper than max_depth=5 frames"):
        protonlab.load(nested(20), max_depth=5)
    with pytest.raises(ProfileFormatError, match="more than max_frames=5 frames"):
        protonlab.load(SMALL, max_frames=5)
    assert len(protonlab.load(SMALL, max_frames=9, max_depth=4).frames) == 9


def test_the_recursion_limit_is_left_alone() -> None:
    before = sys.getrecursionlimit()
    protonlab.load(nested(2000))
    assert sys.getrecursionlimit() == before
