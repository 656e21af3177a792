"""Comparisons of variants that protonlab saved, read back."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from protonlab.errors import ProfileFormatError
from protonlab.formats.hatchet import read_hatchet
from protonlab.model import Metric, Profile, ProfileInfo, VariantComparison
from protonlab.model.pair_warnings import ROUND
from protonlab.model.variant_document import VARIANTS_KEY, VARIANTS_VERSION
from protonlab.model.variants import PAIR_COLUMNS

_START = re.compile(rb'\{\s*"' + VARIANTS_KEY.encode() + rb'"\s*:')


class _Stored(msgspec.Struct):
    """The document."""

    protonlab_variants: int
    names: tuple[str, str]
    metric: Metric
    protocol: dict[str, Any]
    info: ProfileInfo
    outputs_equal: bool | None
    outputs: str
    notes: tuple[str, ...]
    pairs: dict[str, list[float | str | None]]
    profiles: tuple[msgspec.Raw, msgspec.Raw] | None = None


def is_variants(start: bytes) -> bool:
    """Whether a document that starts so is a saved comparison of variants."""
    return _START.match(start) is not None


def read_variants(
    data: bytes, *, source: str, max_depth: int, max_frames: int
) -> VariantComparison:
    """Read what `VariantComparison.save` wrote.

    Parameters
    ----------
    data
        The document.
    source
        What to call the data in errors: the file's path.
    max_depth, max_frames
        Largest tree to accept in its profiles.

    Raises
    ------
    ProfileFormatError
        If this is no such document.
    """
    try:
        stored = msgspec.json.decode(data, type=_Stored)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProfileFormatError(
            f"{source}: no comparison that VariantComparison.save wrote: {error}"
        ) from None
    if stored.protonlab_variants != VARIANTS_VERSION:
        raise ProfileFormatError(
            f"{source}: {VARIANTS_KEY} is {stored.protonlab_variants}; this protonlab reads "
            f"{VARIANTS_VERSION}"
        )
    profiles = stored.profiles and tuple(
        read_hatchet(
            bytes(raw),
            source=f"{source}: profile of {name}",
            max_depth=max_depth,
            max_frames=max_frames,
        )
        for name, raw in zip(stored.names, stored.profiles, strict=True)
    )
    return VariantComparison(
        names=stored.names,
        metric=stored.metric,
        pairs=_pairs(stored.pairs, source),
        protocol=stored.protocol,
        info=stored.info,
        outputs_equal=stored.outputs_equal,
        outputs=stored.outputs,
        notes=stored.notes,
        profiles=_two(profiles),
    )


def _two(profiles: tuple[Profile, ...] | None) -> tuple[Profile, Profile] | None:
    return (profiles[0], profiles[1]) if profiles else None


def _pairs(stored: dict[str, list[float | str | None]], source: str) -> pd.DataFrame:
    """Check the columns and put them together."""
    missing = [name for name in PAIR_COLUMNS if name not in stored]
    if missing:
        raise ProfileFormatError(f"{source}: pairs lack {', '.join(missing)}")
    if len({len(column) for column in stored.values()}) > 1:
        raise ProfileFormatError(f"{source}: the columns of pairs differ in length")
    columns = dict(PAIR_COLUMNS)
    if any(value is not None for value in stored.get(ROUND, ())):
        columns[ROUND] = np.float64
    try:
        table = pd.DataFrame(
            {name: pd.Series(stored[name], dtype=kind) for name, kind in columns.items()}
        )
    except (TypeError, ValueError):
        raise ProfileFormatError(f"{source}: pairs hold text where a number belongs") from None
    table.index.name = "pair"
    times = table[["time_ns_a", "time_ns_b"]].to_numpy(np.float64)
    if not (times > 0).all():
        raise ProfileFormatError(f"{source}: a pair has a time that is no positive number")
    if not table["order"].isin(["AB", "BA"]).all():
        raise ProfileFormatError(f"{source}: the order of a pair is neither AB nor BA")
    return table
