"""Kernels of a profile against roofs: intensity, rate, what bounds them, and what cannot be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from protonlab.model import Profile, format_quantity
from protonlab.model.devices import FLOPS_WIDTHS
from protonlab.model.frames import FloatArray
from protonlab.model.roofs import MEASURED, Roof, Roofs

# A kernel may beat the fastest sample of a roof by this much before it is called impossible.
TOLERANCE = 1.02
MEMORY, COMPUTE, IMPOSSIBLE, UNKNOWN = "memory", "compute", "impossible", "unknown"


@dataclass(frozen=True)
class Points:
    """What a roofline shows.

    Parameters
    ----------
    table
        One row a kernel with flops, bytes and time, most time first: ``label``, ``time_ns``,
        ``flop/byte``, ``flop/s``, ``byte/s``, ``width`` (bits of most of its operands), ``bound``
        (memory, compute, impossible, unknown), ``of_roof`` (share of the roof that bounds it,
        0 to 1, NaN where it is not known), ``words``.
    without
        Labels of kernels that recorded no flops, or no bytes.
    of_no_width
        Labels of kernels that recorded bytes and ``flops``, which do not say of which width.
    """

    table: pd.DataFrame
    without: tuple[str, ...]
    of_no_width: tuple[str, ...]

    @property
    def widths(self) -> list[int]:
        """Widths of operands that occur."""
        return sorted(set(self.table["width"].tolist()))


def points_of(kernels: pd.DataFrame, roofs: Roofs) -> Points:
    """Place kernels, rows of `Profile.kernels`, under the roofs.

    The roof of a kernel follows from both its parts: bytes take at least their time at the highest
    bandwidth, and flops of each width at that width's rate; the longer one bounds it.
    """
    flops = {width: _column(kernels, f"flops{width}") for width in FLOPS_WIDTHS}
    total = np.nansum(list(flops.values()), axis=0)
    moved, seconds = _column(kernels, "bytes"), _column(kernels, "time_ns") / 1e9
    placed = (total > 0) & (moved > 0) & (seconds > 0)
    widths = np.array(FLOPS_WIDTHS)[np.argmax(np.nan_to_num(list(flops.values())), axis=0)]
    computing = np.zeros(len(kernels))
    fastest = np.zeros(len(kernels))  # the same by the fastest samples
    for width, of_width in flops.items():
        used = np.nan_to_num(of_width)
        roof = roofs.matmul(width)
        computing += np.where(used > 0, used / roof.value if roof else np.nan, 0.0)
        fastest += np.where(used > 0, used / roof.high if roof else np.nan, 0.0)
    memory = roofs.bandwidth
    moving = moved / memory.value if memory else np.full(len(kernels), np.nan)
    best_moving = moved / memory.high if memory else np.full(len(kernels), np.nan)
    table = pd.DataFrame(
        {
            "label": kernels["label"].astype(object),
            "time_ns": _column(kernels, "time_ns"),
            "flop/byte": _ratio(total, moved),
            "flop/s": _ratio(total, seconds),
            "byte/s": _ratio(moved, seconds),
            "width": widths,
            "bound": _bounds(moving, computing, np.fmax(best_moving, fastest), seconds),
            "of_roof": _ratio(np.fmax(moving, computing), seconds),
        }
    )[placed]
    table = table.sort_values("time_ns", ascending=False, kind="stable")
    table["words"] = [_words(row, roofs) for row in table.to_dict("records")]
    of_no_width = ~placed & (_column(kernels, "flops") > 0) & (moved > 0) & (seconds > 0)
    labels = kernels["label"].astype(str)
    return Points(table, tuple(labels[~placed & ~of_no_width]), tuple(labels[of_no_width]))


def roofs_of(
    profile: Profile, given: Roofs | None, cached: Roofs | None
) -> tuple[Roofs, list[str]]:
    """Choose the roofs: given, measured here before, or the data sheet's; with notes on them."""
    if given is not None:
        there, here = given.gpu, profile.info.gpu
        notes = list(given.notes)
        if there and here and there != here:
            notes.append(f"The roofs are of {there}, the profile of {here}.")
        return given, notes
    if cached is not None:
        return cached, list(cached.notes)
    if not profile.devices:
        return Roofs("no device", source="data sheet"), ["The profile names no device."]
    sheet = Roofs.of_data_sheet(profile.devices[0], profile.info.gpu)
    notes = list(sheet.notes)
    if len({device.arch for device in profile.devices}) > 1:
        notes.append(f"The roofs are those of {profile.devices[0]}, the first of several devices.")
    if sheet.roofs:
        notes.append(
            "Roofs of the data sheet; measure_roofs() on the device gives what it reaches."
        )
    return sheet, notes


def _column(kernels: pd.DataFrame, name: str) -> FloatArray:
    if name not in kernels:
        return np.full(len(kernels), np.nan)
    return kernels[name].to_numpy(dtype=np.float64, na_value=np.nan)


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return part / whole


def _bounds(
    moving: FloatArray, computing: FloatArray, least: FloatArray, seconds: FloatArray
) -> list[str]:
    """Name what bounds each kernel; `least` is the shortest time that is possible at all."""
    known = np.isfinite(moving) & np.isfinite(computing)
    bound = np.where(moving >= computing, MEMORY, COMPUTE)
    bound = np.where(known, bound, UNKNOWN)
    bound = np.where(least > TOLERANCE * seconds, IMPOSSIBLE, bound)
    return [str(word) for word in bound]


def _words(row: dict[str, object], roofs: Roofs) -> str:
    """Say in words how a kernel stands to its roof."""
    memory, matmul = roofs.bandwidth, roofs.matmul(int(row["width"]))  # type: ignore[call-overload]
    share = format_quantity(100 * float(row["of_roof"]), "%")  # type: ignore[arg-type]
    rate = format_quantity(float(row["flop/s"]), "FLOP/s")  # type: ignore[arg-type]
    speed = format_quantity(float(row["byte/s"]), "B/s")  # type: ignore[arg-type]
    if row["bound"] == IMPOSSIBLE:
        sheet = "" if roofs.source == MEASURED else "data sheet's "
        moves = memory is not None and float(row["byte/s"]) > memory.high * TOLERANCE  # type: ignore[arg-type]
        why = (
            "the byte model is wrong, or a cache served it" if moves else "the flop model is wrong"
        )
        return f"impossible: {share} of the {sheet}roof ({speed if moves else rate}); {why}"
    if row["bound"] == MEMORY and memory:
        return f"memory-bound: {share} of {_roof(memory)} ({speed})"
    if row["bound"] == COMPUTE and matmul:
        return f"compute-bound: {share} of {_roof(matmul)} ({rate})"
    return f"no roof is known for its {row['width']}-bit operands ({rate}, {speed})"


def _roof(roof: Roof) -> str:
    return f"{format_quantity(roof.value, roof.unit)} {roof.name}"
