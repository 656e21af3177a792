"""The frame table: the one schema of a profile's tree, and sums over its subtrees.

One row a frame, in preorder, so that a subtree is a run of rows: frame ``i`` and everything below
it are the rows ``i`` to ``end[i]``. Sums over subtrees are array arithmetic, whatever the size.

Columns of the table, index ``frame_id`` (0 is the root):

=============== ============ =====================================================================
column          dtype        meaning
=============== ============ =====================================================================
``parent_id``   int64        row of the parent, -1 for the root
``depth``       int64        0 for the root
``name``        category     as Proton wrote it
``kernel``      category     compiled kernel name, from the launch hook; missing in foreign files
``label``       category     short, demangled
``kind``        category     one of `KINDS`
``hook``        category     one of `HOOK_STATES`; missing when no launch hook's record is at hand
``device_type`` category     CUDA, HIP, CPU; missing on frames that are no kernel
``device_id``   Int64        ordinal; missing on frames that are no kernel
``count``       Int64        launches
metrics         Int64, float exclusive, unit in the name (``time_ns``, ``bytes``, ``flops16``);
                or object    vector metrics are tuples. Missing is NA or NaN, never zero.
=============== ============ =====================================================================
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.devices import IDEAL_BYTES, IDEAL_FLOPS

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

KINDS = ("root", "scope", "python", "kernel", "metadata", "metric", "graph", "tuning")
# Launched by profiling itself or by autotuning: left out of totals, shown on request.
OVERHEAD_KINDS = ("metadata", "metric", "tuning")
HOOK_STATES = ("kept", "filtered", "unseen")

FRAME_COLUMNS = (
    "parent_id",
    "depth",
    "name",
    "kernel",
    "label",
    "kind",
    "hook",
    "device_type",
    "device_id",
)

# Names that a metric of the user's may not take: the table's own, those of a table of kernels, and
# the stems of Proton's measured times.
_TAKEN = (*FRAME_COLUMNS, "frame_id", "devices", IDEAL_FLOPS, IDEAL_BYTES, "time", "cpu_time")

METADATA_SCOPE = "__proton_launch_metadata"
TUNING_SCOPE = "__protonlab_tuning"
METRIC_FRAME = "<metric>"
GRAPH_FRAME = "<captured_at>"
PYTHON_FRAME = re.compile(r"(?P<file>.+):(?P<line>\d+)@(?P<function>.*)", re.DOTALL)

# "time (ns)", "cpu_time (ns)(exc)", "temperature (pty)": Proton writes unit and kind behind a name.
_RAW_METRIC = re.compile(
    r"(?P<stem>.*?)\s*(?:\((?P<unit>(?!(?:exc|inc|pty)\))[^()]*)\))?(?:\((?P<kind>exc|inc|pty)\))?"
)


@dataclass(frozen=True)
class MetricColumn:
    """A metric column of the frame table.

    Parameters
    ----------
    column
        Name in the table, with the unit (``time_ns``).
    raw
        Name as Proton wrote it (``time (ns)``).
    unit
        ``"ns"``, or empty where Proton states none.
    additive
        Whether values may be summed over frames: false for vectors, text and what Proton calls
        exclusive or property.
    """

    column: str
    raw: str
    unit: str
    additive: bool

    @property
    def stem(self) -> str:
        """Name without the unit, as the metric grammar uses it (``time``)."""
        return self.column.removesuffix(f"_{self.unit}") if self.unit else self.column

    @classmethod
    def from_raw(cls, raw: str, taken: Iterable[str] = ()) -> MetricColumn:
        """Name the column of a raw metric; `taken` holds the names that are in use already."""
        match = _RAW_METRIC.fullmatch(raw)
        stem, unit, kind = match.groups() if match and match["stem"] else (raw, None, None)
        column = f"{stem}_{unit}" if unit else stem
        used = {*_TAKEN, *taken}
        while column in used:  # a user's metric called "depth" becomes "depth_metric"
            column += "_metric"
        return cls(column, raw, unit or "", kind in (None, "inc"))


def columns_of_all(parts: Iterable[Sequence[MetricColumn]]) -> tuple[MetricColumn, ...]:
    """Metric columns of several tables; one may be summed where it may be in all that have it."""
    found: dict[str, MetricColumn] = {}
    for column in (each for part in parts for each in part):
        known = found.setdefault(column.column, column)
        if known.additive and not column.additive:
            found[column.column] = replace(known, additive=False)
    return tuple(found.values())


def check_columns(frames: pd.DataFrame, columns: Sequence[MetricColumn]) -> None:
    """Check that a table has the columns of every frame table, `columns`, and no other.

    Raises
    ------
    ProtonLabError
        If one is missing, or there is one that nothing says how to sum, show or save.
    """
    named = [*FRAME_COLUMNS, *(each.column for each in columns)]
    if missing := [name for name in named if name not in frames]:
        raise ProtonLabError(f"frames has no column {missing[0]!r}; it needs {', '.join(named)}")
    if more := [name for name in frames if name not in named]:
        raise ProtonLabError(
            f"frames has a column {more[0]!r} that columns does not name; leave it out, or make "
            "the profile with dataclasses.replace(profile, frames=…, columns=(*profile.columns, "
            f"protonlab.model.MetricColumn.from_raw({more[0]!r})))"
        )


def levels(depth: IntArray) -> Iterator[IntArray]:
    """Rows of each depth, the root's first, each in preorder."""
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[order], np.arange(depth.max(initial=0) + 2))
    for first, last in pairwise(bounds):
        yield order[first:last]


def subtree_ends(parent: IntArray, depth: IntArray) -> IntArray:
    """Row behind the last descendant of each frame of a preorder table.

    Parameters
    ----------
    parent, depth
        Columns of the frame table, shape (n,).
    """
    end = np.full(len(parent), len(parent), dtype=np.int64)
    for level in levels(depth):
        if parent[level[0]] < 0:
            continue
        end[level] = end[parent[level]]
        siblings = parent[level[1:]] == parent[level[:-1]]
        end[level[:-1][siblings]] = level[1:][siblings]  # a frame ends where the next begins
    return end


def subtree_sums(values: FloatArray, parent: IntArray, depth: IntArray) -> FloatArray:
    """Sum float values over each subtree, level by level from the bottom.

    Differences of a running sum would be shorter but lose digits; integers use them
    (`subtree_counts`).
    """
    total = values.copy()
    for level in reversed(list(levels(depth))[1:]):
        np.add.at(total, parent[level], total[level])
    return total


def pruned(parent: IntArray, depth: IntArray, keep: BoolArray) -> tuple[IntArray, IntArray]:
    """Parent and depth of the kept frames, shape (kept,); the root must be kept.

    The parent of a kept frame becomes its nearest kept ancestor.

    Raises
    ------
    ProtonLabError
        If `keep` is no such choice.
    """
    if np.shape(keep) != parent.shape or np.asarray(keep).dtype != bool or not keep[0]:
        raise ProtonLabError(
            f"keep={keep!r}; give one bool for each of the {len(parent)} frames, True for the root"
        )
    position = np.cumsum(keep) - 1
    nearest = np.zeros(len(keep), dtype=np.int64)  # nearest kept ancestor
    new_depth = np.zeros(len(keep), dtype=np.int64)
    for level in list(levels(depth))[1:]:
        above = np.where(keep[parent[level]], parent[level], nearest[parent[level]])
        nearest[level] = above
        new_depth[level] = new_depth[above] + 1
    new_parent = position[nearest]
    new_parent[0] = -1
    return new_parent[keep], new_depth[keep]


def subtree_counts(values: IntArray, end: IntArray) -> IntArray:
    """Sum integers over each subtree, exactly."""
    running = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(values, dtype=np.int64)])
    sums: IntArray = running[end] - running[:-1]
    return sums


def below(marked: BoolArray, end: IntArray) -> BoolArray:
    """Frames that are marked or lie below a marked frame."""
    rows = np.flatnonzero(marked)
    delta = np.zeros(len(marked) + 1, dtype=np.int64)
    np.add.at(delta, rows, 1)
    np.add.at(delta, end[rows], -1)
    inside: BoolArray = np.cumsum(delta[:-1]) > 0
    return inside


def ancestors(marked: BoolArray, end: IntArray) -> BoolArray:
    """Frames that are marked or have a marked frame below them."""
    above: BoolArray = subtree_counts(marked.astype(np.int64), end) > 0
    return above


def inclusive_column(
    column: pd.Series, parent: IntArray, depth: IntArray, end: IntArray, overhead: BoolArray
) -> pd.Series:
    """Sum one additive column over each subtree; missing where nothing below has a value.

    Overhead frames do not count towards frames outside of them; they keep their own sums.
    """
    present = column.notna().to_numpy()
    shown = present & ~overhead
    integers = pd.api.types.is_integer_dtype(column.dtype)
    filled = column.fillna(0).to_numpy(dtype=np.int64 if integers else np.float64)

    def sums(mask: BoolArray) -> npt.NDArray[Any]:
        masked = np.where(mask, filled, 0)
        return subtree_counts(masked, end) if integers else subtree_sums(masked, parent, depth)

    total = sums(shown)
    known = subtree_counts(shown.astype(np.int64), end) > 0
    if (present & overhead).any():
        total = np.where(overhead, sums(present), total)
        known = np.where(overhead, subtree_counts(present.astype(np.int64), end) > 0, known)
    if integers:
        return pd.Series(pd.arrays.IntegerArray(total, ~known), index=column.index)
    return pd.Series(np.where(known, total, np.nan), index=column.index)


def categorical(codes: npt.NDArray[Any], names: Sequence[Any]) -> pd.Categorical:
    """Build a text column from names and the index of each row's name, -1 where missing."""
    known = isinstance(names, tuple) or len(names) < 2  # constants, or what empty tables have
    return pd.Categorical.from_codes(codes, dtype=_kept(tuple(names)) if known else _texts(names))


def text_column(values: npt.NDArray[np.object_]) -> pd.Categorical:
    """Build a text column from the text of each row, None where missing; names as they appear."""
    codes, distinct = pd.factorize(values)
    return categorical(codes, list(distinct))


def objects_of(values: Sequence[Any]) -> npt.NDArray[np.object_]:
    """Make a one-dimensional object array, also of tuples."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _texts(names: Sequence[Any]) -> pd.CategoricalDtype:
    return pd.CategoricalDtype(pd.Index(list(names), dtype=object))


# pandas checks a type's texts each time it is made, longer than a cell may take.
_kept = functools.lru_cache(maxsize=64)(_texts)
