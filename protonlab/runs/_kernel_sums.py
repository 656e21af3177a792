"""Sums of the kernels of some profiles: what questions over many runs are answered from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from protonlab.model import Device, Profile
from protonlab.model.devices import FLOPS_WIDTHS, IDEAL_BYTES, IDEAL_FLOPS, ideal_times
from protonlab.model.frames import KINDS, OVERHEAD_KINDS
from protonlab.model.kernels import KERNEL_TEXT
from protonlab.runs._packages import pyarrow
from protonlab.runs._parts import ROW

# What a row is: a kernel's, or all frames of a profile.
KERNEL, TOTAL = "kernel", "total"
_KEY, _DEVICE = ("rank", "step"), ("device_type", "device_id")
SUM_COLUMNS = (*_KEY, ROW, *KERNEL_TEXT, "devices")
_IDEAL = (IDEAL_FLOPS, IDEAL_BYTES)
_SOURCES = ("bytes", *(f"flops{width}" for width in FLOPS_WIDTHS))
_LAUNCHED, _OVERHEAD = KINDS.index("kernel"), [KINDS.index(name) for name in OVERHEAD_KINDS]
# Frames that are held before they are added up.
_MOST_ROWS = 200_000
_KIND = "_kind"  # of a frame, as a number


@dataclass
class KernelSums:
    """Adds up the additive metrics of profiles, by kernel and as a whole."""

    _frames: list[Any] = field(default_factory=list)
    _sums: list[Any] = field(default_factory=list)
    _totals: list[Any] = field(default_factory=list)
    _devices: dict[tuple[Device, ...], list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, profile: Profile, table: Any, rank: int, step: int) -> None:
        """Add a profile: itself, and its table as a part of the archive."""
        arrow = pyarrow()
        metrics = [column.column for column in profile.columns if column.additive]
        own = table.select([*KERNEL_TEXT, *_DEVICE, *metrics]).replace_schema_metadata()
        kinds = profile.frames["kind"].cat.codes.to_numpy()
        for name, value in (("rank", rank), ("step", step)):
            own = own.append_column(name, arrow.array(np.full(len(own), value)))
        self._frames.append(own.append_column(_KIND, arrow.array(kinds)))
        self._devices.setdefault(profile.devices, []).append((rank, step))
        if sum(map(len, self._frames)) > _MOST_ROWS:
            self._add_up()

    def _add_up(self) -> None:
        """Add up whole profiles: frames of the same kernel and device, and all that count."""
        if not self._frames:
            return
        arrow = pyarrow()
        frames = arrow.concat_tables(self._frames, promote_options="permissive")
        self._frames.clear()
        keys = (*_KEY, *KERNEL_TEXT, *_DEVICE)
        metrics = [name for name in frames.column_names if name not in (*keys, _KIND)]
        sums = added(frames.unify_dictionaries(), (_KIND, *keys), metrics)
        kinds = sums[_KIND].to_numpy()
        counted = sums.filter(arrow.array(~np.isin(kinds, _OVERHEAD)))
        self._totals.append(added(counted, _KEY, metrics))
        sums = sums.drop_columns(_KIND).filter(arrow.array(kinds == _LAUNCHED))
        for name in (*KERNEL_TEXT, "device_type"):
            place = sums.column_names.index(name)
            sums = sums.set_column(place, name, sums[name].cast(arrow.string()))
        self._sums.append(sums)

    def table(self) -> Any:
        """Return the sums.

        Returns
        -------
        pyarrow.Table
            Columns `SUM_COLUMNS`, then one for each additive metric and the ideal times behind
            ``util``. ``_row`` is `KERNEL`, or `TOTAL` for the sums over all that was not launched
            by profiling itself.
        """
        arrow = pyarrow()
        self._add_up()
        sums = joined(self._sums)
        ideal = self._ideal_times(sums)
        for name, values in ideal.items():
            sums = sums.append_column(name, arrow.array(values, from_pandas=True))
        sums = sums.append_column("devices", arrow.array(np.ones(len(sums), dtype=np.int64)))
        values = [name for name in sums.column_names if name not in (*_KEY, *KERNEL_TEXT, *_DEVICE)]
        sums = added(sums, (*_KEY, *KERNEL_TEXT), values)
        totals = joined(self._totals)
        if ideal:
            totals = totals.join(added(sums, _KEY, list(ideal)), list(_KEY), use_threads=False)
        tables = []
        for table, row in ((sums, KERNEL), (totals, TOTAL)):
            rows = arrow.repeat(arrow.scalar(row), len(table))
            tables.append(table.append_column(ROW, rows))
        result = joined(tables)
        return result.select(
            [*SUM_COLUMNS, *(name for name in result.column_names if name not in SUM_COLUMNS)]
        )

    def _ideal_times(self, sums: Any) -> Mapping[str, Any]:
        """Ideal times of sums; they are of devices, which may differ from rank to rank."""
        arrow = pyarrow()
        sources = [name for name in _SOURCES if name in sums.column_names]
        if not sources:
            return {}
        kinds = {"rank": "int64", "step": "int64", "device_type": "string"}
        kinds |= dict.fromkeys(("device_id", *sources), "double")
        few = sums.select(list(kinds)).cast(arrow.schema(list(kinds.items()))).to_pandas()
        result = {name: np.full(len(few), np.nan) for name in _IDEAL}
        keys = list(zip(few["rank"].tolist(), few["step"].tolist(), strict=True))
        for devices, places in self._devices.items():
            there = {*places}
            rows = np.array([key in there for key in keys], dtype=np.bool_)
            ideal = ideal_times(few[rows], devices)
            for name, values in result.items():
                values[rows] = ideal[name].to_numpy()
        return result


def added(table: Any, keys: Sequence[str], values: Sequence[str]) -> Any:
    """Add up rows of the same keys; a sum is missing where all values are."""
    arrow = pyarrow()
    known = arrow.compute.ScalarAggregateOptions(min_count=1)
    sums = table.group_by(list(keys), use_threads=False).aggregate(
        [(name, "sum", known) for name in values]
    )
    return arrow.table(
        {name: sums[name] for name in keys} | {name: sums[f"{name}_sum"] for name in values}
    )


def joined(tables: Sequence[Any]) -> Any:
    """Lay tables of sums behind each other; a column that one lacks is missing there."""
    return pyarrow().concat_tables(tables, promote_options="permissive").combine_chunks()
