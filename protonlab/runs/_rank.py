"""Which rank of which job this process is, as torchrun's environment says it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

# Set in a process that records and inherited by those that it starts, which are no ranks.
CLAIM = "PROTONLAB_RUN_RANK"
# Programs that start ranks and are none.
_LAUNCHERS = {"torchrun", "accelerate", "deepspeed"}
_LAUNCHER_MODULES = ("torch.distributed.run", "torch.distributed.launch", "accelerate.commands")


@dataclass(frozen=True)
class Rank:
    """A rank of a job; the only one where the process belongs to none.

    Parameters
    ----------
    rank, world_size
        Its number, from 0, and how many there are.
    local_rank
        Its number on this host; None outside of a job.
    attempt
        How often an elastic job was restarted before.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int | None = None
    attempt: int = 0

    @property
    def is_of_a_job(self) -> bool:
        """Whether somebody has given it its number."""
        return self.local_rank is not None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Rank:
        """Read what torchrun sets; a rank alone where a number is missing or is none."""
        try:
            rank, world_size = int(environment["RANK"]), int(environment["WORLD_SIZE"])
            local = int(environment.get("LOCAL_RANK", rank))
            attempt = int(environment.get("TORCHELASTIC_RESTART_COUNT", 0))
        except (KeyError, ValueError):
            return cls()
        if not 0 <= rank < world_size or local < 0 or attempt < 0:
            return cls()
        return cls(rank, world_size, local, attempt)


def claimed_rank() -> Rank | None:
    """Claim to be the rank that the environment speaks of; None where this process is none.

    A rank's environment reaches the processes that it starts: workers of data loaders, compilers.
    So the first process that finds it is the rank. One without a number is a run of one rank,
    unless it starts ranks itself: those then come first.
    """
    rank, claim = Rank.of(os.environ), os.environ.get(CLAIM)
    if rank.is_of_a_job:
        if claim == "rank":
            return None
        os.environ[CLAIM] = "rank"
        return rank
    if claim is not None or _is_launcher(getattr(sys, "orig_argv", sys.argv)):
        return None
    os.environ[CLAIM] = "alone"
    return rank


def one_line(error: BaseException) -> str:
    """Say in one line what an exception says."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _is_launcher(words: Sequence[str]) -> bool:
    """Whether a Python command line, with its options, runs torchrun or one of its kind."""
    rest = iter(words[1:])
    for word in rest:
        if word in ("-m", "-c"):
            return word == "-m" and next(rest, "").startswith(_LAUNCHER_MODULES)
        if word in ("-W", "-X"):
            next(rest, "")
        elif not word.startswith("-"):
            return PurePath(word).name in _LAUNCHERS
    return False
