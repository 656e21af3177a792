"""Which processes are ranks, and the files that they claim in a run folder."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from protonlab.model.manifest import RankManifest
from protonlab.runs._rank import CLAIM, Rank, claimed_rank
from protonlab.runs._rank_files import RankFiles
from protonlab.runs._rank_options import RankOptions

STARTED = "2026-11-30T07:30:00+00:00"
OF_JOB = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "TORCHELASTIC_RESTART_COUNT": "2"}


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*OF_JOB, CLAIM):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "orig_argv", ["python", "train.py"])


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        (OF_JOB, Rank(5, 8, 1, 2)),
        ({"RANK": "0", "WORLD_SIZE": "1"}, Rank(0, 1, 0)),
        ({}, Rank()),
        ({"RANK": "0"}, Rank()),
        ({"RANK": "eight", "WORLD_SIZE": "8"}, Rank()),
        ({"RANK": "8", "WORLD_SIZE": "8"}, Rank()),
    ],
)
def test_rank_is_what_torchrun_says(environment: dict[str, str], rank: Rank) -> None:
    assert Rank.of(environment) == rank


def test_what_a_rank_starts_is_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OF_JOB.items():
        monkeypatch.setenv(name, value)
    assert claimed_rank() == Rank(5, 8, 1, 2)
    assert claimed_rank() is None  # as in a child, which inherits the environment
    for name in OF_JOB:
        monkeypatch.delenv(name)
    assert claimed_rank() is None  # also where it takes the numbers away


def test_script_alone_is_one_rank_until_it_starts_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert claimed_rank() == Rank(0, 1)
    assert claimed_rank() is None
    for name, value in OF_JOB.items():
        monkeypatch.setenv(name, value)
    assert claimed_rank() == Rank(5, 8, 1, 2)


@pytest.mark.parametrize(
    ("command", "launches"),
    [
        ("/usr/bin/python3 /env/bin/torchrun --nproc-per-node 4 train.py", True),
        ("python -m torch.distributed.run train.py", True),
        ("python -u -m torch.distributed.launch train.py", True),
        ("python /env/bin/accelerate launch train.py", True),
        ("python -W ignore -u /env/bin/torchrun train.py", True),
        ("python train.py torchrun", False),
        ("python -m train --launcher torchrun", False),
        ("python -c pass", False),
    ],
)
def test_launchers_are_no_ranks(
    command: str, launches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", command.split())
    assert (claimed_rank() is None) is launches


def test_no_manifest_of_another_process_is_overwritten(tmp_path: Path) -> None:
    files = [RankFiles(tmp_path / "run") for _ in range(3)]
    for attempt, each in enumerate(files):
        each.claim(RankManifest(3, 4, "recording", STARTED, attempt=attempt))
    names = ["rank-00003-1.json", "rank-00003-2.json", "rank-00003.json"]
    assert names_in(tmp_path / "run") == names
    files[1].tell(RankManifest(3, 4, "failed", STARTED, attempt=1, error="no"))
    found = [json.loads((tmp_path / "run" / name).read_text()) for name in names]
    assert [(each["attempt"], each["state"]) for each in found] == [
        *((1, "failed"), (2, "recording"), (0, "recording")),
    ]
    assert names_in(tmp_path / "run") == names  # nothing half written beside them


def test_manifest_is_whole_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*args: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    for _ in range(2):
        RankFiles(tmp_path).claim(RankManifest(0, 1, "recording", STARTED))
    assert names_in(tmp_path) == ["rank-00000-1.json", "rank-00000.json"]
    assert RankManifest.parse((tmp_path / "rank-00000-1.json").read_bytes()).world_size == 1


def test_options_reach_the_ranks_as_they_were_given() -> None:
    given = RankOptions("/tmp/run", include="a.*", record=("bytes",), first=10, end=20, scope="s")
    assert RankOptions.from_json(given.to_json()) == given
    assert RankOptions.from_json(RankOptions("x").to_json()).record is None
