"""Where the work of an archive is done: threads of this process, or a cluster that is there."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

from protonlab.runs._packages import dask

# Seconds before a bar of progress is worth showing.
_PATIENCE = 1.0


def active_client() -> Any | None:
    """Return the `distributed.Client` that is active in this process, None without one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def computed(tasks: Sequence[Any], *, progress: bool, here: bool) -> list[Any]:
    """Compute Dask's delayed values, on the active client or in threads.

    Parameters
    ----------
    tasks
        Delayed values.
    progress
        Whether to show Dask's bar once it takes more than a second.
    here
        Whether nothing but this process sees the data, so that a cluster cannot help.

    Returns
    -------
    list
        Results, in order; of a task that a cluster gave up (its workers died) the exception.
    """
    package = dask()
    client = None if here else active_client()
    if client is None:
        bar = package.diagnostics.ProgressBar(minimum=_PATIENCE)
        with bar if progress else contextlib.nullcontext():
            return list(package.compute(*tasks, **({"scheduler": "threads"} if here else {})))
    import distributed as untyped

    distributed: Any = untyped
    futures = client.compute(list(tasks))
    try:
        with contextlib.suppress(TimeoutError):
            distributed.wait(futures, timeout=_PATIENCE)
        if progress and any(not future.done() for future in futures):
            distributed.progress(futures, notebook=False)
        distributed.wait(futures)
        return [
            future.exception() if future.status == "error" else future.result()
            for future in futures
        ]
    except BaseException:
        client.cancel(futures)
        raise
