"""How something was measured, in words: where, with what, and when."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any, Self

import pandas as pd

from protonlab.model.clocks import STEADY, ClockReading
from protonlab.model.epilogue_sweep import EpilogueSweep
from protonlab.model.info import ProfileInfo
from protonlab.model.profile import Profile
from protonlab.model.run import Run
from protonlab.model.sentences import on_ranks
from protonlab.model.trace import Trace
from protonlab.model.units import counted
from protonlab.model.variants import VariantComparison

_UNKNOWN = "not recorded"
_MOST_OTHERS = 3  # that differ from most ranks
_FIRST = ("driver", "triton", "torch")  # versions that times depend on


@dataclass(frozen=True)
class Evidence:
    """How something was measured, in words.

    Parameters
    ----------
    name
        What it is called.
    where
        GPU, or what took its place.
    versions
        Driver, Triton, torch and others.
    clocks
        SM clock, power and temperature while it was recorded.
    when
        Date and time.
    """

    name: str
    where: str
    versions: str
    clocks: str
    when: str

    @classmethod
    def of(cls, measured: Profile | Trace) -> Self:
        """Put the `info` of something measured into words."""
        info = measured.info
        name = info.name or type(measured).__name__.lower()
        return cls(
            name, _where(measured), _versions(info.versions), _clocks(info.clocks), info.when
        )

    @classmethod
    def of_run(cls, run: Run) -> Self:
        """Put a run into words: what most ranks have in common, and which of them differ."""
        parts: list[tuple[int, Profile | Trace]] = [*run.profiles.items(), *run.traces.items()]
        one = dict(reversed(parts))
        readings = [(rank, reading) for rank, part in parts for reading in part.info.clocks]
        ranks = counted(len(run.ranks), "rank")
        if run.missing:
            ranks = f"{len(run.ranks)} of {run.world_size} ranks"
        return cls(
            f"{run.name}, {ranks}",
            _in_common({rank: _where(part) for rank, part in one.items()}),
            _in_common({rank: _versions(part.info.versions) for rank, part in one.items()}),
            _clocks([reading for _, reading in readings], _slowest(readings)),
            _span([part.info.when for _, part in parts if part.info.when]),
        )

    @classmethod
    def of_variants(cls, comparison: VariantComparison) -> Self:
        """Put how a comparison was measured into words, the clocks from beside its pairs."""
        name = " against ".join(comparison.names)
        return cls._of_pairs(name, comparison.info, comparison.pairs)

    @classmethod
    def of_sweep(cls, sweep: EpilogueSweep) -> Self:
        """Put how a sweep was measured into words, the clocks of all of its cases."""
        name = f"epilogue sweep, {counted(len(sweep.cases), 'case')}"
        return cls._of_pairs(name, sweep.info, sweep.to_pairs())

    @classmethod
    def _of_pairs(cls, name: str, info: ProfileInfo, pairs: pd.DataFrame) -> Self:
        beside = ["sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c"]
        known = pairs.reindex(columns=beside).itertuples(index=False, name=None)
        readings = [ClockReading("", "", *map(_known, row)) for row in known]
        where = info.gpu or info.backend
        return cls(name, where, _versions(info.versions), _clocks(readings), info.when)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _date(self.when))
        for field in fields(self):
            if field.name != "name" and not getattr(self, field.name):
                object.__setattr__(self, field.name, _UNKNOWN)

    def as_json(self) -> dict[str, str]:
        """Plain values that `read` takes."""
        return asdict(self)

    @classmethod
    def read(cls, value: Any) -> Self | None:
        """Check plain values; None when they are something else."""
        names = [field.name for field in fields(cls)]
        texts = [value.get(name) for name in names] if isinstance(value, Mapping) else [None]
        return cls(*map(str, texts)) if all(isinstance(text, str) for text in texts) else None


def _known(value: float) -> Any:
    return None if math.isnan(value) else value


def _where(measured: Profile | Trace) -> str:
    info = measured.info
    return measured.where if isinstance(measured, Profile) else info.gpu or info.backend


def _in_common(texts: Mapping[int, str]) -> str:
    """Say what most ranks have, then the ranks that have something else."""
    ranks: dict[str, list[int]] = {}
    for rank, text in sorted(texts.items()):
        ranks.setdefault(text or _UNKNOWN, []).append(rank)
    most, *others = sorted(ranks, key=lambda text: -len(ranks[text])) or [""]
    said = [f"{on_ranks(ranks[text])}: {text}" for text in others[:_MOST_OTHERS]]
    more = [f"{len(others) - _MOST_OTHERS} more differ"] if len(others) > _MOST_OTHERS else []
    return "; ".join([most, *said, *more])


def _slowest(readings: Sequence[tuple[int, ClockReading]]) -> str:
    """Name the rank whose SM clock was clearly below that of the others."""
    lowest: dict[int, int] = {}
    for rank, reading in readings:
        if reading.sm_mhz is not None:
            lowest[rank] = min(reading.sm_mhz, lowest.get(rank, reading.sm_mhz))
    slowest = min(lowest, key=lowest.__getitem__, default=0)
    clear = lowest and lowest[slowest] < (1 - STEADY) * median(lowest.values())
    return f" (lowest on rank {slowest})" if clear else ""


def _versions(versions: Mapping[str, str]) -> str:
    names = [*_FIRST, *(name for name in versions if name not in _FIRST)]
    return ", ".join(f"{name} {versions[name]}" for name in names if name in versions)


def _date(when: str) -> str:
    """``2026-11-30T04:22:22.123+00:00`` -> ``2026-11-30 04:22 +00:00``."""
    day, _, time = when.partition("T")
    if not time:
        return when
    zone = next((time[at:] for at in range(5, len(time)) if time[at] in "+-Z"), "")
    return f"{day} {time[:5]} {zone}".strip()


def _span(times: Sequence[str]) -> str:
    """From the first to the last; what they share is said once."""
    if not times:
        return ""
    first, last = _date(min(times)).split(), _date(max(times)).split()
    if first == last:
        return " ".join(first)
    if len(first) == len(last) == 3:
        if first[2] == last[2]:
            first.pop()
        if first[0] == last[0]:
            last.pop(0)
    return " ".join([*first, "to", *last])


def _clocks(readings: Sequence[ClockReading], slowest: str = "") -> str:
    parts = []
    for title, unit, values in (
        ("SM", "MHz", [reading.sm_mhz for reading in readings]),
        ("memory", "MHz", [reading.memory_mhz for reading in readings]),
        ("", "W", [reading.power_w for reading in readings]),
        ("", "°C", [reading.temperature_c for reading in readings]),
    ):
        known = [value for value in values if value is not None]
        if known:
            low, high = f"{min(known):.0f}", f"{max(known):.0f}"
            span = low if low == high else f"{low}–{high}"
            parts.append(f"{title} {span} {unit}{slowest if title == 'SM' else ''}".strip())
    return ", ".join(parts)
