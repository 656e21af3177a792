"""Kernels of a frame table: one row each, and what a launch hook knows about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from protonlab.model.frames import HOOK_STATES, BoolArray, MetricColumn, categorical
from protonlab.model.vectors import VECTOR

# What makes two frames the same kernel.
KERNEL_TEXT = ("name", "label", "kernel", "hook")
_MEASURED = ("count", "time_ns")


def kernel_columns(frames: pd.DataFrame, columns: Sequence[MetricColumn]) -> list[MetricColumn]:
    """Count, time, and the additive columns that a kernel has a value in, not scopes alone."""
    is_kernel = (frames["kind"] == "kernel").to_numpy()

    def recorded(column: str) -> bool:
        return bool((is_kernel & frames[column].notna().to_numpy()).any())

    return [
        each
        for each in columns
        if each.column in _MEASURED or (each.additive and recorded(each.column))
    ]


def kernel_sums(frames: pd.DataFrame, sums: Sequence[str]) -> pd.DataFrame:
    """Sum columns over the frames of each kernel, slowest first, with the devices that ran it."""
    table = frames.loc[frames["kind"] == "kernel"]
    table = table.astype({name: object for name in (*KERNEL_TEXT, "device_type")})
    device = table.groupby(["device_type", "device_id"], dropna=False).ngroup()
    same_kernel = [table[name] for name in KERNEL_TEXT]
    result = table[list(sums)].groupby(same_kernel, sort=False, dropna=False).sum(min_count=1)
    devices = device.groupby(same_kernel, sort=False, dropna=False).nunique()
    result.insert(0, "devices", devices)
    return (
        result.reset_index()
        .sort_values("time_ns", ascending=False, kind="stable")
        .reset_index(drop=True)
    )


def hooked(
    frames: pd.DataFrame,
    columns: Sequence[MetricColumn],
    kernel_of: Mapping[str, str],
    kept: Collection[str],
    filtered: Collection[str],
    recorded: Mapping[str, Collection[str]] | None,
) -> pd.DataFrame:
    """Fill the columns ``kernel`` and ``hook``, and drop the metrics of other sessions' hooks.

    The parameters are those of `Profile.with_hook`.
    """
    kernels = (frames["kind"] == "kernel").to_numpy()
    if not kernels.any():
        return frames
    names = frames["name"].cat.categories
    compiled = {
        name: kernel_of.get(name, name if name in kept or name in filtered else None)
        for name in names
    }
    state = {
        name: "kept" if kernel in kept else "filtered" if kernel in filtered else "unseen"
        for name, kernel in compiled.items()
    }
    codes = frames["name"].cat.codes.to_numpy()
    texts = list(dict.fromkeys(kernel for kernel in compiled.values() if kernel is not None))
    place = {text: code for code, text in enumerate(texts)}
    of_kernel = np.array([place.get(compiled[name] or "", -1) for name in names], dtype=np.int64)
    of_hook = np.array([HOOK_STATES.index(state[name]) for name in names], dtype=np.int64)
    result = frames.assign(
        kernel=categorical(np.where(kernels, of_kernel[codes], -1), texts),
        hook=categorical(np.where(kernels, of_hook[codes], -1), HOOK_STATES),
    )
    for metric in columns:
        if metric.column in _MEASURED:
            continue
        key = metric.raw.removesuffix(VECTOR)
        foreign = kernels & _foreign(key, names, compiled, state, recorded)[codes]
        if (foreign & frames[metric.column].notna().to_numpy()).any():
            result[metric.column] = result[metric.column].mask(foreign)
    return result


def _foreign(
    metric: str,
    names: Iterable[str],
    compiled: Mapping[str, str | None],
    state: Mapping[str, str],
    recorded: Mapping[str, Collection[str]] | None,
) -> BoolArray:
    """Whether another session's hook recorded the metric, for each frame name."""

    def mine(name: str) -> bool:
        kernel = compiled[name]
        return recorded is None or kernel is None or metric in recorded.get(kernel, ())

    return np.array(
        [state[name] == "filtered" or (state[name] == "kept" and not mine(name)) for name in names],
        dtype=np.bool_,
    )
