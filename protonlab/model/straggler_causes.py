"""What a rank that is waited for does more than another: the kernels that take longer on it."""

from __future__ import annotations

import pandas as pd

from protonlab.model.collectives import collective_rows
from protonlab.model.profile import Profile
from protonlab.model.sentences import printable
from protonlab.model.trace import Trace
from protonlab.model.units import format_quantity

_MOST = 3
_LEAST_SHARE = 0.01


def cause(rank: int, part: Profile | Trace, other_rank: int, other: Profile | Trace) -> str:
    """Say in one sentence which kernels take longer on a rank than on another.

    Parameters
    ----------
    rank, part
        The rank, and what it recorded.
    other_rank, other
        Another one, of the same kind.
    """
    mine, theirs = _times(part), _times(other)
    more = mine.sub(theirs, fill_value=0.0).sort_values(ascending=False)
    more = more[more > _LEAST_SHARE * float(theirs.sum())].head(_MOST)
    if more.empty:
        return (
            f"No kernel takes notably longer on rank {rank} than on rank {other_rank}, so look at "
            "what its CPU does meanwhile (data loading, logging, Python), not at kernels."
        )
    parts = []
    for place, time in zip(more.index, more.to_numpy(float), strict=True):
        scope, label = map(str, place)
        where = f" in {printable(scope)}" if scope else ""
        parts.append(f"{printable(label)}{where} (+{format_quantity(float(time) * 1e-9, 's')})")
    return f"Kernels that take longer on rank {rank} than on rank {other_rank}: {', '.join(parts)}."


def _times(part: Profile | Trace) -> pd.Series:
    """Time of the kernels that are no collectives, by the scope around them and their label."""
    if isinstance(part, Trace):
        events = part.events
        rows = (events["kind"] == "kernel").to_numpy() & ~collective_rows(events["name"])
        table = events[rows]
        scopes = [path[-2] if len(path) > 2 else "" for path in table["path"]]
        time = table[part.duration]
    else:
        frames = part.frames
        rows = (frames["kind"] == "kernel").to_numpy() & ~collective_rows(frames["name"])
        table = frames[rows]
        above = table["parent_id"].to_numpy()
        names = frames["label"].astype(object).to_numpy()[above]
        scopes = [name if parent else "" for name, parent in zip(names, above, strict=True)]
        time = table["time_ns"] if "time_ns" in table else pd.Series(0.0, index=table.index)
    values = time.astype("Float64").fillna(0.0).astype(float)
    keys = [pd.Index(scopes, dtype=object), table["label"].astype(object).to_numpy()]
    return values.groupby(keys, sort=False).sum()
