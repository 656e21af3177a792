"""A job under ``protonlab run``: its folder, its processes, and what they left."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from types import FrameType

from protonlab.errors import ProtonLabError
from protonlab.formats import load
from protonlab.model import Profile
from protonlab.model.manifest import MANIFEST_NAME, RankManifest
from protonlab.model.none_kept import why_none_kept
from protonlab.model.sentences import on_ranks
from protonlab.model.units import counted, format_quantity
from protonlab.runs._rank import CLAIM
from protonlab.runs._rank_options import VARIABLE, RankOptions

STARTUP = Path(__file__).parent.parent / "startup"
_PYTHONPATH = "PYTHONPATH"
_WIDTH = 130  # of an error


@contextmanager
def run_folder(given: Path | None, *, joins: bool = False) -> Iterator[Path]:
    """Make the folder of a run, and make sure that it can be written to.

    Of what had to be made for it, folders above it included, nothing stays that is empty at the
    end.

    Parameters
    ----------
    given
        Where; None: a new one in the current folder.
    joins
        Whether it may hold ranks already: those of the other hosts.

    Raises
    ------
    ProtonLabError
        If it cannot be written to, holds another run, or `joins` is without a folder.
    """
    if given is None and joins:
        raise ProtonLabError("--join without -o: name the folder of the job's other hosts")
    if given is None:
        stem = f"run-{datetime.now():%Y%m%d-%H%M%S}"
        names = (stem, *(f"{stem}-{again}" for again in range(2, 1000)))
        given = next(path for name in names if not (path := Path(name)).exists())
    folder = given.absolute()
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        _claim(folder, given, joins=joins)
        yield folder
    finally:
        for each in made:
            with suppress(OSError):
                each.rmdir()


def _claim(folder: Path, given: Path, *, joins: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = [each.name for each in folder.iterdir() if MANIFEST_NAME.fullmatch(each.name)]
        probe = folder / f".probe.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ProtonLabError(
            f"{given}: no run can be written there ({error.strerror}); give another folder with -o"
        ) from error
    if held and not joins:
        raise ProtonLabError(
            f"{given} holds a run already ({counted(len(held), 'manifest')} of ranks); give "
            "another folder with -o, or --join if this is another host of the same job"
        )


def program_of(command: Sequence[str]) -> str:
    """Find the program that a command line starts.

    Raises
    ------
    ProtonLabError
        If there is none.
    """
    program = shutil.which(command[0])
    if program is not None:
        return program
    if command[0].endswith(".py"):
        raise ProtonLabError(
            f"{command[0]} is a script; run it with Python: protonlab run -- python {command[0]}"
        )
    raise ProtonLabError(
        f"{command[0]}: no such program; give what starts the job, as in protonlab run -- "
        "torchrun --nproc-per-node 4 train.py"
    )


def run_job(program: str, command: Sequence[str], options: RankOptions) -> int:
    """Run a command, whose Python processes record if they are ranks.

    Returns
    -------
    int
        Its exit code; 128 and the signal's number where a signal has ended it.

    Raises
    ------
    ProtonLabError
        If the program cannot be run.
    """
    try:
        job = subprocess.Popen(command, executable=program, env=_environment(options))
    except OSError as error:
        raise ProtonLabError(f"{program} cannot be run: {error.strerror}") from error
    with _signals_to(job):
        code = job.wait()
    return code if code >= 0 else 128 - code


def _environment(options: RankOptions) -> dict[str, str]:
    paths = [str(STARTUP), *filter(None, [os.environ.get(_PYTHONPATH)])]
    inherited = {name: value for name, value in os.environ.items() if name != CLAIM}
    return {**inherited, VARIABLE: options.to_json(), _PYTHONPATH: os.pathsep.join(paths)}


@contextmanager
def _signals_to(job: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave the end to the job: a terminal's Ctrl-C reaches it anyway; pass other signals on."""

    def handle(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT or not _from_terminal():
            with suppress(ProcessLookupError):
                job.send_signal(number)

    before = {each: signal.signal(each, handle) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _from_terminal() -> bool:
    """Whether this process is in the foreground of a terminal, whose Ctrl-C all of the job gets."""
    with suppress(OSError):
        return sys.stdin is not None and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    return False


@dataclass(frozen=True)
class Recorded:
    """What a job left in its folder.

    Parameters
    ----------
    folder
        The run folder.
    manifests
        Rank -> its manifest, the complete one where it recorded more than once.
    """

    folder: Path
    manifests: Mapping[int, RankManifest]

    @classmethod
    def of(cls, folder: Path) -> Recorded:
        """Read the manifests of a folder; what is none is left to whoever reads the run."""
        found: dict[int, RankManifest] = {}
        for path in sorted(folder.iterdir(), key=_recording):
            if MANIFEST_NAME.fullmatch(path.name):
                with suppress(ProtonLabError, OSError):
                    manifest = RankManifest.parse(path.read_bytes(), source=path.name)
                    before = found.get(manifest.rank)
                    if before is None or manifest.complete or not before.complete:
                        found[manifest.rank] = manifest
        return cls(folder, found)

    @property
    def lines(self) -> list[str]:
        """What a person wants to know when the job has ended."""
        shown = _short(self.folder)
        if not self.manifests:
            return [
                f"{shown}: no rank recorded anything. A rank is a Python process that torchrun "
                "starts, or a script alone; it has to import torch, be able to import protonlab, "
                "and, if it is alone, to use a GPU (or Triton, where there is none). One that "
                "could not record has said so above"
            ]
        ranks = max(each.world_size for each in self.manifests.values())
        complete = sum(each.complete for each in self.manifests.values())
        partly = sum(not each.complete and bool(each.files) for each in self.manifests.values())
        rest = f", {partly} as far as {'it' if partly == 1 else 'they'} came" if partly else ""
        lines = [f"{shown}: {complete} of {counted(ranks, 'rank')} complete{rest}"]
        lines += _grouped(
            {rank: _fate(self.manifests.get(rank)) for rank in range(ranks)}  # in their order
        )
        lines += [*self._none_kept, *self._steps]
        if any(each.files for each in self.manifests.values()):
            lines.append(f"Next: protonlab view {shlex.quote(shown)}")
        return lines

    @property
    def _none_kept(self) -> list[str]:
        """Why the filter let nothing through on the first rank, if so: most likely on all."""
        for rank, manifest in sorted(self.manifests.items()):
            filtered = manifest.include is not None or manifest.exclude is not None
            if filtered and manifest.complete and manifest.files:
                with suppress(ProtonLabError, OSError):
                    found = load(self.folder / manifest.files[0])
                    if isinstance(found, Profile):
                        return [f"  rank {rank}: {why}" for why in why_none_kept(found)]
                return []
        return []

    @property
    def _steps(self) -> list[str]:
        timed = {n: each for n, each in self.manifests.items() if each.step_s is not None}
        if not timed:
            return []
        first = min(each.first_step or 0 for each in timed.values())
        most = max(each.steps or 0 for each in timed.values())
        step = median(each.step_s or 0.0 for each in timed.values())
        line = f"Steps {first} to {first + most - 1}, {_seconds(step)} each (median)"
        costs = {n: each.overhead_s for n, each in timed.items() if each.overhead_s is not None}
        if not costs:
            return [
                line,
                "What recording cost is not known: fewer than three steps ran without (the first "
                "two do not count); give --steps FIRST:END with FIRST from 6 on",
            ]
        cost = median(costs.values())
        worst = max(costs, key=lambda rank: costs[rank])
        share = cost / (step - cost) if step > cost else 0.0
        told = (
            f"Recording cost {_signed(cost)} a step ({100 * share:+.1f} %), against steps without"
            + (": less than steps differ by themselves" if cost <= 0 else "")
        )
        more = f"; most in rank {worst}, {_signed(costs[worst])}" if len(costs) > 1 else ""
        return [line, f"{told}{more}"]


def _recording(path: Path) -> int:
    """Which recording of its rank a manifest is of."""
    found = MANIFEST_NAME.fullmatch(path.name)
    return int(found[2] or 0) if found else 0


def _fate(manifest: RankManifest | None) -> str:
    """Say what became of a rank that is not complete; empty for one that is."""
    if manifest is None:
        return "left no manifest: it did not start, or ended before it imported torch"
    if manifest.complete:
        return ""
    if manifest.state == "recording":
        return "did not end recording: killed, or still at work"
    return f"failed: {textwrap.shorten(manifest.error or 'no reason', _WIDTH)}"


def _grouped(fates: Mapping[int, str]) -> list[str]:
    """Return a line for each fate, with its ranks."""
    ranks: dict[str, list[int]] = {}
    for rank, fate in fates.items():
        ranks.setdefault(fate, []).append(rank)
    return [f"  {on_ranks(each)} {fate}" for fate, each in ranks.items() if fate]


def _seconds(value: float) -> str:
    return format_quantity(value, "s")


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{_seconds(abs(value))}"


def _short(folder: Path) -> str:
    """Return the folder as a person would type it."""
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)
