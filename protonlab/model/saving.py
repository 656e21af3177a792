"""Saving a profile: the name of the file says in which format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from protonlab.errors import ProtonLabError
from protonlab.model.csv_table import write_csv
from protonlab.model.document import write_document
from protonlab.model.folded import write_folded
from protonlab.model.frames import check_columns
from protonlab.model.parquet import write_parquet
from protonlab.model.speedscope import write_speedscope

_WRITERS = (
    (".hatchet", write_document),
    (".speedscope.json", write_speedscope),
    (".folded", write_folded),
    (".csv", write_csv),
)
_PARQUET = ".parquet"
SUFFIXES = (*(suffix for suffix, _ in _WRITERS), _PARQUET)


def save_profile(profile: Any, path: Path) -> None:
    """Write a `Profile` in the format that the name of the file asks for.

    Raises
    ------
    ProtonLabError
        If the name asks for none that is known, or a column was put into the frame table since.
    MissingDependencyError
        If the format needs a package that is not there.
    """
    check_columns(profile.frames, profile.columns)
    name = path.name.lower()
    if name.endswith(_PARQUET):
        write_parquet(profile, path)
        return
    for suffix, write in _WRITERS:
        if name.removesuffix(".gz").endswith(suffix):
            write(profile, path)
            return
    raise ProtonLabError(
        f"{path}: the name of the file says how to save a profile; let it end in "
        f"{', '.join(SUFFIXES[:-1])} (these also gzipped, with .gz behind) or {_PARQUET}"
    )
