"""What a rank says about its profile, written and read."""

import dataclasses
import json
from typing import Any

import pytest

from protonlab.errors import ProfileFormatError
from protonlab.model.manifest import MANIFEST_NAME, RankManifest, manifest_name

WHOLE = RankManifest(
    rank=3,
    world_size=4,
    state="complete",
    started="2026-11-30T07:30:00+00:00",
    local_rank=1,
    host="node-7",
    attempt=2,
    files=("rank-00003.hatchet",),
    ended="2026-11-30T07:31:00+00:00",
    gpu_uuid="GPU-0c1d",
    gpu_name="NVIDIA H200",
    versions={"triton": "3.9.0"},
    clocks={"sm_mhz": 1980},
    steps=10,
    first_step=10,
    step_s=0.125,
    overhead_s=0.0005,
    error=None,
    include="matmul.*",
    exclude=None,
)


def changed(**values: Any) -> dict[str, Any]:
    return {**WHOLE.to_dict(), **values}


def test_every_field_comes_back_from_json() -> None:
    text = json.dumps(WHOLE.to_dict(), allow_nan=False)
    assert RankManifest.parse(text) == WHOLE
    assert set(json.loads(text)) == {each.name for each in dataclasses.fields(RankManifest)}


def test_least_manifest_is_read() -> None:
    least = {"schema": 1, "rank": 0, "world_size": 1, "state": "recording"}
    found = RankManifest.from_dict({**least, "started": "2026-11-30T07:30:00Z"})
    assert (found.files, found.host, found.steps, found.complete) == ((), None, None, False)


def test_only_a_complete_rank_is_complete() -> None:
    states = ("recording", "complete", "failed")
    found = [RankManifest.from_dict(changed(state=state)).complete for state in states]
    assert found == [False, True, False]


def test_keys_of_a_later_version_are_passed_over() -> None:
    assert RankManifest.from_dict(changed(numa_node=1)) == WHOLE


@pytest.mark.parametrize(
    ("key", "value", "legal"),
    [
        ("schema", 2, "schema 1"),
        ("state", "done", "recording, complete or failed"),
        ("rank", -1, "whole number from 0"),
        ("rank", True, "whole number from 0"),
        ("rank", 4, "ranks 0 to 3"),
        ("world_size", 0, "whole number from 1"),
        ("attempt", None, "whole number from 0"),
        ("started", "yesterday", "ISO 8601"),
        ("started", "2026-11-30T07:30:00", "time zone"),
        ("step_s", float("nan"), "seconds"),
        ("step_s", -1.0, "seconds"),
        ("overhead_s", float("inf"), "seconds"),
        ("overhead_s", "fast", "seconds"),
        ("files", "rank-00003.hatchet", "lists names"),
        ("files", ["../../etc/passwd"], "own folder"),
        ("files", ["/etc/passwd"], "own folder"),
        ("files", [".."], "own folder"),
        ("files", ["a\\b"], "own folder"),
        ("versions", {"triton": 3.9}, "names to text"),
        ("clocks", [], "names to values"),
        ("host", 7, "text"),
    ],
)
def test_illegal_value_is_named_with_file_and_legal_ones(key: str, value: Any, legal: str) -> None:
    with pytest.raises(ProfileFormatError) as refused:
        RankManifest.from_dict(changed(**{key: value}), source="rank-00003.json")
    assert str(refused.value).startswith(f"rank-00003.json: {key}=")
    assert legal in str(refused.value)


@pytest.mark.parametrize("key", ["schema", "rank", "world_size", "state", "started"])
def test_what_is_missing_is_named(key: str) -> None:
    document = WHOLE.to_dict()
    del document[key]
    with pytest.raises(ProfileFormatError, match=f"r.json: .* no '{key}'"):
        RankManifest.from_dict(document, source="r.json")


@pytest.mark.parametrize("text", ["", "{", "[1]", b"\xff\xfe\xfd", "[" * 100_000])
def test_what_is_no_manifest_is_refused_by_name(text: str | bytes) -> None:
    with pytest.raises(ProfileFormatError, match=r"r\.json: "):
        RankManifest.parse(text, source="r.json")


def test_names_of_manifests() -> None:
    assert [manifest_name(3), manifest_name(3, 1)] == ["rank-00003.json", "rank-00003-1.json"]
    found = MANIFEST_NAME.fullmatch(manifest_name(123_456, 12))
    assert found is not None
    assert found.groups() == ("123456", "12")
    assert not MANIFEST_NAME.fullmatch(".rank-00003.json.x1")
