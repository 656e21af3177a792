"""What an archive holds: its marker, and the commits that count, each read once."""

from __future__ import annotations

import difflib
import fnmatch
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from protonlab.errors import ProfileFormatError, ProtonLabError
from protonlab.formats import load
from protonlab.model import Metric, Profile
from protonlab.model.frames import columns_of_all
from protonlab.model.manifest import RankManifest
from protonlab.model.rank_tables import check_sums
from protonlab.model.run import Run
from protonlab.model.sentences import some
from protonlab.runs._commits import Commit, Holding, committed, holdings, read_commits, run_of
from protonlab.runs._load_run import ARCHIVE_MARKER
from protonlab.runs._parts import part_name
from protonlab.runs._store import Store

_FORMAT, _VERSION = "protonlab archive", 1
_MOST_NAMES = 6

Runs = str | Sequence[str] | None


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The runs of an archive, as they are when asked for.

    Parameters
    ----------
    store
        Where it lies.
    """

    store: Store
    _known: dict[str, Commit] = field(default_factory=dict)

    def check(self) -> bool:
        """Whether there is an archive yet.

        Raises
        ------
        ProtonLabError
            If there is something else.
        ProfileFormatError
            If a later protonlab made it.
        """
        url = self.store.url
        try:
            about = self._marker()
            if about is None:
                names = [name for name in self.store.names() if not name.startswith(".")]
                about = self._marker()  # another may have begun it by now
        except ValueError as error:
            raise ProfileFormatError(f"{url}: {ARCHIVE_MARKER} is no JSON ({error})") from None
        if about is None and names:
            raise ProtonLabError(
                f"{url} is no archive: it holds {some(names, _MOST_NAMES)}, and no "
                f"{ARCHIVE_MARKER}. Give an archive, or a folder that is empty or not there yet; a "
                "run's folder is read by load_run() and appended by Archive(…).append()"
            )
        if about is None:
            return False
        if not isinstance(about, dict) or about.get("format") != _FORMAT:
            raise ProfileFormatError(f"{url}: {ARCHIVE_MARKER} is not what an archive begins with")
        if about.get("version") != _VERSION:
            raise ProfileFormatError(
                f"{url}: an archive of version {about.get('version')!r}; this protonlab reads "
                f"{_VERSION}. Update protonlab"
            )
        return True

    def _marker(self) -> Any:
        try:
            return json.loads(self.store.read(ARCHIVE_MARKER))
        except FileNotFoundError:
            return None

    def begin(self) -> None:
        """Make it an archive, where it is none yet."""
        if not self.check():
            text = json.dumps({"format": _FORMAT, "version": _VERSION})
            self.store.write(ARCHIVE_MARKER, f"{text}\n".encode())

    def runs(self, wanted: Runs = None) -> list[Holding]:
        """Find runs by a pattern or by their names; all of them by default.

        Raises
        ------
        ProtonLabError
            If there is no such run, or none at all.
        """
        names = committed(self.store)
        known = dict.fromkeys(map(run_of, names))
        if wanted is None:
            chosen = set(known)
        elif isinstance(wanted, str):
            chosen = {run for run in known if run == wanted or fnmatch.fnmatchcase(run, wanted)}
            if not chosen:
                raise ProtonLabError(self._no_run(wanted, list(known)))
        else:
            chosen = set(wanted)
            for run in wanted:
                if run not in known:
                    raise ProtonLabError(self._no_run(run, list(known)))
        return list(holdings(read_commits(self.store, chosen, self._known)).values())

    def some(self, wanted: Runs) -> list[Holding]:
        """Find runs as `runs` does; an archive without one is an error."""
        found = self.runs(wanted)
        if not found:
            raise ProtonLabError(
                f"{self.store.url} holds no run yet; Archive(…).append('FOLDER') puts one in"
            )
        return found

    def _no_run(self, wanted: str, known: Sequence[str]) -> str:
        close = difflib.get_close_matches(str(wanted), known, n=3)
        hint = f" Did you mean {', '.join(map(repr, close))}?" if close else ""
        more = len(known) - _MOST_NAMES
        listed = ", ".join([*known[-_MOST_NAMES:]]) or "none yet"
        return f"{self.store.url} holds no run {wanted!r}.{hint} There are {listed}" + (
            f" and {more} before them" if more > 0 else ""
        )

    @staticmethod
    def metric(name: str, runs: Sequence[Holding]) -> Metric:
        """Read a metric name against what runs recorded; MetricError when it is unknown there."""
        columns = columns_of_all(each.columns for each in runs)
        found = Metric.parse(name, columns)
        check_sums(found, columns)
        return found

    def profile(self, run: str, rank: int, step: int | None) -> Profile:
        """Load one profile; of the first step where none is given."""
        (held,) = self.some([run])
        steps = {key[1]: digest for key, digest in held.digests.items() if key[0] == rank}
        if not steps or (step is not None and step not in steps):
            known = f"at step {step!r}; it has steps {sorted(steps)}" if steps else "at all"
            raise ProtonLabError(f"run {run!r} has no profile of rank {rank!r} {known}")
        wanted = min(steps) if step is None else step
        return self._loaded(part_name(run, rank, wanted, steps[wanted]))

    def run(self, run: str, step: int | None) -> Run:
        """Load what all ranks recorded at a step; the first one where none is given."""
        (held,) = self.some([run])
        rows = held.parts.to_pylist()
        steps = sorted({row["step"] for row in rows})
        if step is not None and step not in steps:
            raise ProtonLabError(f"run {run!r} has no step {step!r}; it has {steps}")
        wanted = steps[0] if step is None else step
        own = [row for row in rows if row["step"] == wanted]
        profiles = {
            row["rank"]: self._loaded(part_name(run, row["rank"], wanted, row["digest"]))
            for row in own
        }
        return Run(run, profiles, {row["rank"]: _manifest(row) for row in own if _stated(row)})

    def _loaded(self, name: str) -> Profile:
        try:
            found = load(self.store.read(name))
        except FileNotFoundError as error:
            raise ProfileFormatError(f"{self.store.url}: {name} is gone") from error
        except ProfileFormatError as error:
            raise ProfileFormatError(
                f"{self.store.url}: {name}: {error}. Append that run again with replace=True"
            ) from error
        assert isinstance(found, Profile)
        return found


def _stated(row: dict[str, Any]) -> bool:
    return row["world_size"] is not None and row["started"] is not None


def _manifest(row: dict[str, Any]) -> RankManifest:
    return RankManifest(
        row["rank"],
        row["world_size"],
        "complete",
        row["started"],
        host=row["host"],
        gpu_uuid=row["gpu_uuid"],
        gpu_name=row["gpu"],
        versions=json.loads(row["versions"]),
        steps=row["steps"],
        first_step=row["step"],
    )
