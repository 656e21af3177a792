"""A VariantComparison in words: its verdict, and the blocks that a terminal and a page show."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from protonlab.model.changes import percent_of, ratio_texts
from protonlab.model.metrics import Metric
from protonlab.model.sentences import cleaned_lines
from protonlab.model.units import counted, format_quantity

# Work per call may differ by this before a rate no longer says who is faster; a file may keep seven
# digits.
SAME_WORK = 1e-5
_HEADER = ("", "median", "5 % to 95 %", "time of a call")


def verdict(comparison: Any) -> str:
    """Say in one sentence which variant is faster; `VariantComparison.verdict`."""
    sentence = _verdict(comparison)
    if comparison.outputs_equal is False:
        sentence = f"{sentence}; but their outputs differ"
    if comparison.info.backend.startswith("interpreter"):
        return f"{sentence}; on the interpreter, where times say nothing about a GPU"
    return sentence


def _verdict(comparison: Any) -> str:
    found, metric = comparison.ratio, comparison.metric
    pairs = pairs_in_words(comparison)
    if found.n == 0:
        return "nothing measured yet"
    if math.isnan(found.low):
        return f"cannot tell: no interval of the ratio follows from {pairs}"
    percent = f"{100 * found.confidence:g} % interval"
    if found.low <= 1 <= found.high:
        bounds = " to ".join(ratio_texts(found.low, found.high))
        return f"cannot tell: the {percent} of the ratio, {bounds}, holds 1 ({pairs})"
    # A time is better when it is less, a rate when it is more.
    turned = metric.unit == "s"
    ratio, low, high = (
        1 / value if turned else value for value in (found.estimate, found.low, found.high)
    )
    winner, loser = comparison.names[::-1] if ratio > 1 else comparison.names
    if ratio < 1:
        ratio, low, high = 1 / ratio, 1 / low, 1 / high
    shares = " to ".join(percent_of(bound).removesuffix(" %") for bound in sorted((low, high)))
    words = f"{percent} {shares}, {pairs}"
    if turned or _same_work(comparison):
        return f"{winner} is {percent_of(ratio)} faster, {words}"
    return f"{winner} has {percent_of(ratio)} more {metric.name} than {loser}, {words}"


def pairs_in_words(comparison: Any) -> str:
    """Say how many pairs there are, and in how many rounds."""
    pairs = counted(comparison.ratio.n, "pair")
    if comparison.rounds is None:
        return pairs
    return f"{pairs} in {counted(comparison.rounds, 'round')}"


def _same_work(comparison: Any) -> bool:
    """Whether the rate of both counts the same amount a call, so that it says who is faster."""
    amounts = [
        value * time for value, time in zip(comparison.values, comparison.times_ns, strict=True)
    ]
    return bool(np.all(np.abs(amounts[1] - amounts[0]) <= SAME_WORK * np.abs(amounts[0])))


def as_text(comparison: Any) -> str:
    """Write the comparison for a terminal."""
    rows = [_HEADER, *_rows(comparison)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    table = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    lines = [
        _title(comparison),
        comparison.verdict,
        *(f"  {line}" for line in table),
        *_lines(comparison),
        *(f"Warning: {each}" for each in comparison.warnings),
    ]
    return cleaned_lines("\n".join(lines))


def as_html(comparison: Any) -> str:
    """Write the comparison for a page; names are data."""
    cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in _rows(comparison))
    header = "".join(f"<th>{html.escape(cell)}</th>" for cell in _HEADER)
    parts = [
        f"<div>{html.escape(_title(comparison))}</div>",
        f"<div><strong>{html.escape(comparison.verdict)}</strong></div>",
        f"<table><thead><tr>{header}</tr></thead>",
        f"<tbody>{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table>",
        *(f"<div>{html.escape(line)}</div>" for line in _lines(comparison)),
        *(
            f"<div><strong>Warning:</strong> {html.escape(each)}</div>"
            for each in comparison.warnings
        ),
    ]
    return "".join(parts)


def _title(comparison: Any) -> str:
    first, second = comparison.names
    kind = comparison.protocol.get("protocol", "")
    return ", ".join(filter(None, (f"{first} against {second}: {comparison.metric.name}", kind)))


def _rows(comparison: Any) -> Iterator[tuple[str, ...]]:
    for name, values, times in zip(
        comparison.names, comparison.values, comparison.times_ns, strict=True
    ):
        if not len(values):
            yield name, "–", "–", "–"
            continue
        low, high = np.quantile(values, (0.05, 0.95))
        yield (
            name,
            comparison.metric.format(float(np.median(values))),
            _range(comparison.metric, float(low), float(high)),
            format_quantity(float(np.median(times)) * 1e-9, "s"),
        )


def _range(metric: Metric, low: float, high: float) -> str:
    return f"{metric.format(low)} to {metric.format(high)}"


def _lines(comparison: Any) -> Iterator[str]:
    if comparison.outputs:
        yield f"Outputs: {comparison.outputs}"
    if comparison.protocol.get("in_words"):
        yield f"Protocol: {comparison.protocol['in_words']}"
    info = comparison.info
    versions = ", ".join(f"{name} {version}" for name, version in info.versions.items())
    where = " · ".join(filter(None, (info.gpu or info.backend, versions, info.when)))
    if where:
        yield f"Measured on: {where}"
