"""Writing a profile as Proton's own JSON document, row by row, whatever its depth."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from protonlab.model.devices import Device
from protonlab.model.frames import MetricColumn
from protonlab.model.repeats import Repeats
from protonlab.model.writing import compact_json, write_atomically

DOCUMENT_VERSION = 1
# Columns of the frame table that Proton's format has no place for.
EXTRA_COLUMNS = frozenset({"kind", "kernel", "label", "hook"})


def write_document(profile: Any, path: Path) -> None:
    """Write a `Profile` atomically: the target is replaced when the whole document is on disk."""
    write_atomically(document(profile), path)


def document(profile: Any) -> Iterator[str]:
    """Write in pieces: a list of the root frame and the device table."""
    frames, columns = profile.frames, profile.columns
    extra = {
        "version": DOCUMENT_VERSION,
        "info": dataclasses.asdict(profile.info),
        "frames": {name: _coded(frames[name]) for name in sorted(EXTRA_COLUMNS)},
        "columns": [
            dataclasses.asdict(column) | {"kind": _kind(frames[column.column])}
            for column in columns
        ],
    }
    if profile.repeats is not None:
        extra["repeats"] = repeats_document(profile.repeats)
    depths = frames["depth"].to_numpy().tolist()
    names = frames["name"].astype(object).tolist()
    open_frames = 0
    yield "["
    for row, (depth, name, metrics) in enumerate(
        zip(depths, names, _metrics(frames, columns), strict=True)
    ):
        if open_frames > depth:
            yield "]}" * (open_frames - depth) + ","
        root = f'"protonlab":{compact_json(extra)},' if row == 0 else ""
        yield (
            f'{{{root}"frame":{{"name":{compact_json(name)},"type":"function"}},'
            f'"metrics":{compact_json(metrics)},"children":['
        )
        open_frames = depth + 1
    yield "]}" * open_frames
    yield "," + compact_json(_device_table(profile.devices)) + "]\n"


def repeats_document(repeats: Repeats | None) -> dict[str, Any] | None:
    """Write what each repeat recorded as plain values, None where missing."""
    if repeats is None:
        return None
    return {
        "number": repeats.number,
        "values": {
            name: [None if is_missing(value) else value for value in column.tolist()]
            for name, column in repeats.values.items()
        },
    }


def _kind(column: pd.Series) -> str:
    if pd.api.types.is_integer_dtype(column.dtype):
        return "int"
    return "float" if pd.api.types.is_float_dtype(column.dtype) else "other"


def _coded(column: pd.Series) -> dict[str, list[Any]]:
    """Turn a categorical column into names and codes, -1 where missing."""
    used = column.cat.remove_unused_categories()
    return {
        "names": used.cat.categories.tolist(),
        "codes": used.cat.codes.tolist(),
    }


def _metrics(
    frames: pd.DataFrame, columns: Sequence[MetricColumn]
) -> Iterator[dict[str, int | float | str | list[float]]]:
    """Metrics of each row under Proton's names; missing ones are left out."""
    raw: list[tuple[str, list[Any]]] = [
        ("device_id", frames["device_id"].astype("string").astype(object).tolist()),
        ("device_type", frames["device_type"].astype(object).tolist()),
        *((column.raw, frames[column.column].astype(object).tolist()) for column in columns),
    ]
    for row in range(len(frames)):
        # The root lists what viewers may sum, as Proton does.
        summed = {"count": 0, "time (ns)": 0} if row == 0 else {}
        yield summed | {name: value for name, values in raw if not is_missing(value := values[row])}


def is_missing(value: Any) -> bool:
    """Whether a cell of a table holds nothing."""
    return value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))


def _device_table(devices: Sequence[Device]) -> dict[str, dict[str, dict[str, Any]]]:
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for device in devices:
        entry = {
            "arch": device.arch,
            "bus_width": device.bus_width,
            "clock_rate": device.clock_rate_khz,
            "memory_clock_rate": device.memory_clock_rate_khz,
            "num_sms": device.num_sms,
        }
        known = {name: value for name, value in entry.items() if value is not None}
        table.setdefault(device.device_type, {})[str(device.device_id)] = known
    return table
