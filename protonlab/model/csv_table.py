"""The frame table as CSV, for spreadsheets and other languages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from protonlab.model.writing import replacing


def write_csv(profile: Any, path: Path) -> None:
    """Write the frame table as it is, a row a frame: metrics exclusive, vectors as JSON.

    Missing values are empty. It cannot be loaded again: it says neither what was measured where
    nor what the columns are.
    """
    table = profile.frames.copy()
    for column in profile.columns:
        if table[column.column].dtype == object:
            table[column.column] = [_text(value) for value in table[column.column]]
    with replacing(path) as file:
        table.to_csv(file, mode="wb", encoding="utf-8", lineterminator="\n")


def _text(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, tuple) else value
