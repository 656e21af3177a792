"""Files of an archive that count for nothing: what appends left behind that did not end."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.runs._append import SUMS_FOLDER
from protonlab.runs._commits import FOLDER, committed, holdings, read_commits, run_of
from protonlab.runs._parts import part_name
from protonlab.runs._store import Store

_COLUMNS = ("run", "file", "bytes", "written")
_OF_RUN = re.compile(rf"(?:{SUMS_FOLDER}/)?run=([^/]*)/")


def leftovers(store: Store) -> pd.DataFrame:
    """Find the files that no commit names, as `Archive.leftovers` returns them.

    Files are listed before commits are read, so what an append writes and commits meanwhile is
    none. Of a run with a commit that cannot be read nothing is known, and nothing is a leftover.
    """
    files = store.tree()
    there = committed(store)
    commits = read_commits(store)
    unread = {run_of(name) for name in {*there} - {commit.name for commit in commits}}
    counts: set[str] = set()
    for held in holdings(commits).values():
        counts |= {f"{FOLDER}/{commit.name}" for commit in held.commits}
        counts |= {*held.parts["kernels"].to_pylist()}
        keys = (held.parts[name].to_pylist() for name in ("rank", "step", "digest"))
        counts |= {part_name(held.run, *key) for key in zip(*keys, strict=True)}
    replaced = {f"{FOLDER}/{name}" for commit in commits for name in commit.replaces}
    rows: list[dict[str, Any]] = []
    for file, size in sorted(files.items()):
        match = _OF_RUN.match(file)
        run = unquote(match[1]) if match else None
        cut_off = file.startswith(f"{FOLDER}/.")  # a commit whose writing did not end
        if run is None and file in replaced:
            run = run_of(file.removeprefix(f"{FOLDER}/"))
        if file in counts or run in unread or (run is None and not cut_off):
            continue
        written = store.modified(file)
        if written is not None:
            rows.append({"run": run, "file": file, "bytes": size, "written": written})
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def clean(store: Store, older_than: str | timedelta) -> pd.DataFrame:
    """Delete what `Archive.clean` says, and return it.

    An append that goes on writes under the names that one before it left; what it has written
    again is not old any more, and stays.
    """
    latest = datetime.now(UTC) - _age(older_than)
    found = leftovers(store)
    gone = []
    for place, file, written in zip(found.index, found["file"], found["written"], strict=True):
        if written <= latest and store.modified(file) == written:  # at the last moment
            store.remove(file)
            gone.append(place)
    return found.loc[gone].reset_index(drop=True)


def _age(given: str | timedelta) -> timedelta:
    age: timedelta | None = None
    if isinstance(given, (str, timedelta)):
        with suppress(ValueError):
            age = pd.Timedelta(given).to_pytimedelta()
    if age is None or pd.isna(age) or age < timedelta(0):
        raise ProtonLabError(f"older_than={given!r}; write it as '1 day' or '12 hours'")
    return age
