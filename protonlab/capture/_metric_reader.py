"""Reading the metrics of a launch at a glance, when launch metadata holds what the last one held.

A kernel's metadata function nearly always returns the same keys with values of the same types. For
those a function is written, as `dataclasses` write theirs: a loop over a table of keys would cost
every launch of the user's program about a microsecond more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from protonlab.capture._launch_metrics import HIGHEST, LOWEST

# From launch metadata to metrics; None when it needs a closer look.
MetricReader = Callable[[dict[str, Any]], dict[str, int | float] | None]

_FITS = {
    (int, int): "{value}",
    (int, float): "float({value})",
    (float, float): "{value}",
    (float, int): "int({value})",
}


def need_a_look(metadata: dict[str, Any]) -> None:
    """Read nothing: the reader of a kernel of which nothing is known yet."""
    return


def metric_reader(metadata: Mapping[str, Any], metrics: Mapping[str, Any]) -> MetricReader:
    """Write the reader for launch metadata like this.

    Parameters
    ----------
    metadata
        Evaluated launch metadata.
    metrics
        What was recorded of it: key -> int or float.

    Returns
    -------
    MetricReader
        It gives None for metadata with another number of keys, another type under a key, an int
        that does not fit in 64 bits, NaN or infinity.
    """
    lines = ["def read(metadata):"]
    tests = [f"len(metadata) == {len(metadata)}"]
    found = []
    for index, (key, metric) in enumerate(metrics.items()):
        value, kind, wanted = f"value_{index}", type(metadata[key]), type(metric)
        # Only bytes are cut to an int; of any other metric a fraction is a problem to be told.
        if (kind, wanted) not in _FITS or (kind is float and wanted is int and key != "bytes"):
            return need_a_look
        lines.append(f"    {value} = metadata.get({key!r})")
        tests.append(f"{value}.__class__ is {kind.__name__}")
        is_real = kind is float and wanted is float
        tests.append(
            f"{value} - {value} == 0.0" if is_real else f"{LOWEST} <= {value} <= {HIGHEST}"
        )
        found.append(f"{key!r}: {_FITS[kind, wanted].format(value=value)}")
    lines.append(f"    return {{{', '.join(found)}}} if {' and '.join(tests)} else None")
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # keys come in as literals, so no name is run as code
    reader: MetricReader = names["read"]
    return reader
