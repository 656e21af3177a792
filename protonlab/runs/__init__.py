"""Many ranks and many runs: what each rank of a job recorded, together, and kept over time.

Names resolve on first use: importing this package loads no torch, Dask or pyarrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protonlab.runs._archive import Archive
    from protonlab.runs._engine_cell import EngineCell
    from protonlab.runs._engines import find_engines
    from protonlab.runs._job import Recorded, program_of, run_folder, run_job
    from protonlab.runs._load_run import load_run
    from protonlab.runs._rank_options import RankOptions
    from protonlab.runs._recording import RankSession

_HOME: dict[str, str] = {
    "Archive": "_archive",
    "EngineCell": "_engine_cell",
    "RankOptions": "_rank_options",
    "RankSession": "_recording",
    "Recorded": "_job",
    "find_engines": "_engines",
    "load_run": "_load_run",
    "program_of": "_job",
    "run_folder": "_job",
    "run_job": "_job",
}

__all__: list[str] = [
    "Archive",
    "EngineCell",
    "RankOptions",
    "RankSession",
    "Recorded",
    "find_engines",
    "load_run",
    "program_of",
    "run_folder",
    "run_job",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'protonlab.runs' has no attribute {name!r}")
    return getattr(importlib.import_module(f"protonlab.runs.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
