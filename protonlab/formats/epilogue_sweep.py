"""Sweeps of epilogue overlap that protonlab saved, read back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pandas as pd

from protonlab.errors import ProfileFormatError, ProtonLabError
from protonlab.formats.variants import read_variants
from protonlab.model import ProfileInfo, VariantComparison
from protonlab.model.compiled import CompiledComparison
from protonlab.model.epilogue_sweep import EpilogueCase, EpilogueSweep
from protonlab.model.pair_warnings import ROUND
from protonlab.model.parquet import pyarrow
from protonlab.model.sweep_document import SWEEP_KEY, SWEEP_METADATA, SWEEP_VERSION
from protonlab.model.variants import PAIR_COLUMNS

_START = re.compile(rb'\{\s*"' + SWEEP_KEY.encode() + rb'"\s*:')
_Case = tuple[str, int, int, int, int]


class _Compiled(msgspec.Struct):
    """What a switch changed, and of which cases."""

    cases: list[_Case]
    compiled: CompiledComparison


class _Stored(msgspec.Struct):
    """The document."""

    protonlab_epilogue_sweep: int
    info: ProfileInfo
    copy_gbyte_s: float | None
    protocol: dict[str, Any]
    left_out: tuple[str, ...]
    cases: list[_Case]
    comparisons: list[msgspec.Raw]
    compiled: list[_Compiled]


class _Comparisons(Mapping[EpilogueCase, VariantComparison]):
    """Comparisons that are read when they are asked for."""

    def __init__(self, stored: Mapping[EpilogueCase, bytes], source: str, bounds: Any) -> None:
        self._stored, self._source, self._bounds = stored, source, bounds
        self._read: dict[EpilogueCase, VariantComparison] = {}

    def __getitem__(self, case: EpilogueCase) -> VariantComparison:
        if case not in self._read:
            self._read[case] = read_variants(
                self._stored[case], source=f"{self._source}: {case}", **self._bounds
            )
        return self._read[case]

    def __iter__(self) -> Iterator[EpilogueCase]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def is_sweep(start: bytes) -> bool:
    """Whether a JSON document that starts so is a saved sweep."""
    return _START.match(start) is not None


def read_sweep(data: bytes, *, source: str, max_depth: int, max_frames: int) -> EpilogueSweep:
    """Read what `EpilogueSweep.save` wrote as JSON.

    Parameters
    ----------
    data
        The document.
    source
        What to call the data in errors: the file's path.
    max_depth, max_frames
        Largest tree to accept in profiles.

    Raises
    ------
    ProfileFormatError
        If this is no such document. What is wrong with one case's comparison is raised when it is
        asked for.
    """
    try:
        stored = msgspec.json.decode(data, type=_Stored)
        compiled = {
            EpilogueCase(*case): each.compiled for each in stored.compiled for case in each.cases
        }
        cases = [EpilogueCase(*case) for case in stored.cases]
    except (msgspec.DecodeError, RecursionError, ProtonLabError) as error:
        raise ProfileFormatError(
            f"{source}: no sweep that EpilogueSweep.save wrote: {error}"
        ) from None
    if stored.protonlab_epilogue_sweep != SWEEP_VERSION:
        raise ProfileFormatError(
            f"{source}: {SWEEP_KEY} is {stored.protonlab_epilogue_sweep}; this protonlab reads "
            f"{SWEEP_VERSION}"
        )
    if len(stored.cases) != len(stored.comparisons):
        raise ProfileFormatError(
            f"{source}: {len(stored.cases)} cases and {len(stored.comparisons)} comparisons"
        )
    found = {case: bytes(raw) for case, raw in zip(cases, stored.comparisons, strict=True)}
    bounds = {"max_depth": max_depth, "max_frames": max_frames}
    return EpilogueSweep(
        comparisons=_Comparisons(found, source, bounds),
        compiled=compiled,
        info=stored.info,
        copy_gbyte_s=stored.copy_gbyte_s,
        protocol=stored.protocol,
        left_out=stored.left_out,
    )


def sweep_in_parquet(data: bytes) -> bytes | None:
    """Find a sweep's document in a parquet file; None where the file is something else.

    Raises
    ------
    MissingDependencyError
        If pyarrow is not there.
    """
    arrow = pyarrow()
    try:
        file = arrow.parquet.ParquetFile(arrow.BufferReader(data))
        text = (file.schema_arrow.metadata or {}).get(SWEEP_METADATA)
        if text is None:
            return None
        document = msgspec.json.decode(text)
        table = file.read().to_pandas()
        pairs = {key: part for key, part in table.groupby(list(EpilogueCase.__annotations__))}
        for case, comparison in zip(document["cases"], document["comparisons"], strict=True):
            comparison["pairs"] = _columns(pairs.get(tuple(case), table.iloc[:0]))
    except (arrow.ArrowException, OSError, ValueError, KeyError, TypeError):
        return None
    return msgspec.json.encode(document)


def _columns(table: pd.DataFrame) -> dict[str, list[Any]]:
    return {
        name: [None if value != value else value for value in table[name].tolist()]
        for name in (*PAIR_COLUMNS, *({ROUND} & set(table)))
    }
