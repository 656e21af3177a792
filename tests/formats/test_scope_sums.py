"""Sums below scopes, by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protonlab import ProfileFormatError
from protonlab.formats import scope_sums


def frame(name: str, *children: Any, **metrics: Any) -> dict[str, Any]:
    shown = {"time (ns)" if key == "time" else key: value for key, value in metrics.items()}
    return {"frame": {"name": name, "type": "function"}, "metrics": shown, "children": [*children]}


TREE = [
    frame(
        "ROOT",
        frame("sample:1", frame("a", time=10, count=2), frame("in", frame("b", time=5, count=1))),
        frame(
            "other", frame("a", time=100, count=1), frame("sample:2", frame("a", time=7, count=3))
        ),
        frame("sample:1", frame("sample:2", frame("a", time=1, count=1))),
        frame("sample:3"),
        count=0,
        time=0,
    ),
    {},
]


@pytest.mark.parametrize("encode", [msgspec.json.encode, msgspec.msgpack.encode])
def test_each_scope_has_what_ran_below_it_once(encode: Any) -> None:
    assert scope_sums(encode(TREE), "sample:") == {
        "sample:1": (16, 4),  # what lies deeper counts towards the outermost scope
        "sample:2": (7, 3),
        "sample:3": (0, 0),
    }


def test_other_data_is_refused() -> None:
    with pytest.raises(ProfileFormatError, match="Proton's data"):
        scope_sums(b"[]", "sample:")
