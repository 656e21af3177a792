"""When each run of an archive was, and what it ran on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from protonlab.model.sentences import some
from protonlab.runs._commits import Holding

_DISTINCT = ("started", "gpu", "versions")
_MOST = 3


def moments(holdings: Sequence[Holding]) -> pd.DataFrame:
    """Tell when runs began and what they ran on, in the order of time.

    Returns
    -------
    pandas.DataFrame
        One row a run: ``run``, ``when`` (UTC; of its first rank, or when it was appended),
        ``gpu``, ``versions`` (a mapping).
    """
    table = pd.DataFrame(
        [{"run": each.run, **_about(each)} for each in holdings],
        columns=["run", "when", "gpu", "versions"],
    )
    table["when"] = pd.to_datetime(table["when"], utc=True, format="ISO8601", errors="coerce")
    return table.sort_values(["when", "run"], kind="stable").reset_index(drop=True)


def _about(holding: Holding) -> dict[str, Any]:
    seen = {
        name: sorted(filter(None, holding.parts[name].unique().to_pylist())) for name in _DISTINCT
    }
    appended = holding.commits[0].name.split("@")[1]
    versions: dict[str, set[str]] = {}
    for text in seen["versions"]:
        for package, version in json.loads(text).items():
            versions.setdefault(package, set()).add(version)
    return {
        "when": seen["started"][0] if seen["started"] else appended,
        "gpu": ", ".join(seen["gpu"]) or None,
        "versions": {name: ", ".join(sorted(found)) for name, found in sorted(versions.items())},
    }


def difference(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> str:
    """Say what two runs ran on that was not the same; empty where nothing is known to differ."""
    said = []
    if before["gpu"] and after["gpu"] and before["gpu"] != after["gpu"]:
        said.append(f"{before['gpu']} → {after['gpu']}")
    old, new = before["versions"], after["versions"]
    changed = [name for name in old if name in new and old[name] != new[name]]
    said += [f"{name} {old[name]} → {new[name]}" for name in changed]
    return some(said, _MOST)


def runs_table(holdings: Sequence[Holding]) -> pd.DataFrame:
    """Make the table `Archive.runs`."""
    rows = [
        {
            "run": each.run,
            "ranks": len(each.parts["rank"].unique()),
            "world_size": max(filter(None, each.parts["world_size"].to_pylist()), default=None),
            "profiles": len(each.parts),
            "frames": sum(each.parts["frames"].to_pylist()),
            "bytes": sum(each.parts["bytes"].to_pylist()),
        }
        for each in holdings
    ]
    names = ["run", "ranks", "world_size", "profiles", "frames", "bytes"]
    table = moments(holdings).merge(pd.DataFrame(rows, columns=names), on="run")
    table["world_size"] = table["world_size"].astype("Int64")
    return table[["run", "when", *names[1:], "gpu", "versions"]]
