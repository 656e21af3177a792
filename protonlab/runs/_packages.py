"""Packages that come with the extra ``cluster``."""

from __future__ import annotations

from typing import Any

from protonlab.errors import MissingDependencyError


def _missing(what: str, error: ImportError) -> MissingDependencyError:
    return MissingDependencyError(f"{what} ({error}); pip install 'protonlab[cluster]'")


def pyarrow() -> Any:
    """Import pyarrow with what an archive needs of it; MissingDependencyError without it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise _missing("an archive is parquet, which needs pyarrow", error) from error
    return pyarrow


def dask() -> Any:
    """Import Dask; MissingDependencyError without it."""
    try:
        import dask
        import dask.diagnostics
    except ImportError as error:
        raise _missing("many profiles are worked on with Dask", error) from error
    return dask


def dask_dataframe() -> Any:
    """Import Dask's DataFrame; MissingDependencyError without it."""
    try:
        import dask.dataframe
    except ImportError as error:
        raise _missing("frames of many profiles are a Dask DataFrame", error) from error
    return dask.dataframe


def ruptures() -> Any:
    """Import ruptures; MissingDependencyError without it."""
    try:
        import ruptures
    except ImportError as error:
        raise _missing("change points are found with ruptures", error) from error
    return ruptures
