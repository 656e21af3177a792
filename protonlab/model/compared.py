"""The two tables of a comparison: the trees as one, and the kernels of both profiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from protonlab.model.alignment import Alignment
from protonlab.model.changes import VALUE_COLUMNS, change_columns
from protonlab.model.frames import FloatArray, IntArray, objects_of, text_column
from protonlab.model.measured import Measured
from protonlab.model.renames import Spellings, renamed

Sides = tuple[Measured, Measured]
Rows = tuple[IntArray, IntArray]
Texts = npt.NDArray[np.object_]


def compared_frames(alignment: Alignment, sides: Sides) -> pd.DataFrame:
    """Compare frame by frame; the columns are those of `Comparison.frames`."""
    rows = (alignment.before, alignment.after)
    one, other = sides
    own = [_picked(side.exclusive, row) for side, row in zip(sides, rows, strict=True)]
    exclusive = np.nan_to_num(own[1]) - np.nan_to_num(own[0])
    if not one.metric.additive:
        exclusive[:] = np.nan
    text = {}
    for name in ("name", "label", "kind"):
        old, new = (
            _texts(side.profile.frames[name], row) for side, row in zip(sides, rows, strict=True)
        )
        text[name] = np.where(rows[1] >= 0, new, old)
        if name == "name":
            # The root is the whole of a profile, whatever it is called.
            moved = (old != new) & (rows[0] >= 0) & (rows[1] >= 0) & (alignment.depth > 0)
            renamed_from = old
            renamed_from[~moved] = None
    return pd.DataFrame(
        {
            "parent_id": alignment.parent,
            "depth": alignment.depth,
            **{name: text_column(values) for name, values in text.items()},
            "renamed_from": text_column(renamed_from),
            **_value_columns(
                sides,
                rows,
                (one.frames, other.frames),
                (one.frames_by_repeat, other.frames_by_repeat),
            ),
            "exclusive_difference": exclusive,
            "before_frame": rows[0],
            "after_frame": rows[1],
        },
        index=pd.RangeIndex(len(alignment.parent), name="frame_id"),
    )


def compared_kernels(alignment: Alignment, sides: Sides, names: Spellings) -> pd.DataFrame:
    """Compare kernel by kernel; the columns are those of `Comparison.kernels`."""
    tables = [side.kernels for side in sides]
    old, new = (list(map(str, table.index)) for table in tables)
    common = {*old} & {*new}
    partner = {name: name for name in common} | renamed(
        [name for name in old if name not in common],
        [name for name in new if name not in common],
        _places_taken(alignment, sides),
        names,
    )
    taken = {*partner.values()}
    pairs: list[tuple[str | None, str | None]] = [(name, partner.get(name)) for name in old]
    pairs += [(None, name) for name in new if name not in taken]
    rows = (
        np.array([-1 if one is None else tables[0].index.get_loc(one) for one, _ in pairs], int),
        np.array([-1 if two is None else tables[1].index.get_loc(two) for _, two in pairs], int),
    )
    values = [table["value"].to_numpy() for table in tables]
    counts = [table["count"].to_numpy() for table in tables]
    labels = [_texts(table["label"], row) for table, row in zip(tables, rows, strict=True)]
    result = pd.DataFrame(
        {
            "name": _column([one if two is None else two for one, two in pairs]),
            "label": _column(np.where(rows[1] >= 0, labels[1], labels[0]).tolist()),
            "renamed_from": _column([None if two in (None, one) else one for one, two in pairs]),
            **_value_columns(
                sides,
                rows,
                (values[0], values[1]),
                (sides[0].kernels_by_repeat, sides[1].kernels_by_repeat),
            ),
            "count_before": _picked(counts[0], rows[0]),
            "count_after": _picked(counts[1], rows[1]),
        }
    )
    order = result["difference"].abs().sort_values(ascending=False, kind="stable").index
    return result.loc[order].reset_index(drop=True)


def _value_columns(
    sides: Sides,
    rows: Rows,
    values: tuple[FloatArray, FloatArray],
    by_repeat: tuple[FloatArray, FloatArray],
) -> dict[str, object]:
    """Compare values at rows of either side."""
    repeated = bool(sides[0].repeats and sides[1].repeats)
    samples = (_picked(by_repeat[0], rows[0]), _picked(by_repeat[1], rows[1]))
    columns = change_columns(
        sides[0].metric,
        _picked(values[0], rows[0]),
        _picked(values[1], rows[1]),
        (rows[0] >= 0, rows[1] >= 0),
        samples if repeated else None,
    )
    return {name: columns[name] for name in VALUE_COLUMNS if name in columns}


def _places_taken(alignment: Alignment, sides: Sides) -> Iterator[tuple[str, str]]:
    """Pairs of kernels of which one took the other's place in the tree."""
    frames, others = (side.profile.frames for side in sides)
    both = (alignment.before >= 0) & (alignment.after >= 0)
    kernels = (frames["kind"] == "kernel").to_numpy()[alignment.before] & both
    names = _texts(frames["name"], alignment.before[kernels])
    there = _texts(others["name"], alignment.after[kernels])
    moved = names != there
    return zip(map(str, names[moved]), map(str, there[moved]), strict=True)


def _picked(values: FloatArray, rows: IntArray) -> FloatArray:
    """Values at rows of the last axis, NaN where a row is -1."""
    padded = np.concatenate([values, np.full((*values.shape[:-1], 1), np.nan)], axis=-1)
    picked: FloatArray = padded[..., rows]
    return picked


def _texts(column: pd.Series, rows: IntArray) -> Texts:
    """Text at rows of a column, None where a row is -1."""
    return objects_of([*column.astype(object), None])[rows]


def _column(values: Sequence[object]) -> pd.Series:
    """Text that stays what it is, None where missing, whatever pandas' version infers."""
    return pd.Series(values, dtype=object)
