"""What a timeline's boxes are called, in which colour they stand, and what hovering them says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from protonlab.model import Trace
from protonlab.model.frames import IntArray
from protonlab.model.units import counted
from protonlab.views import theme
from protonlab.views._timeline_boxes import TimelineBoxes
from protonlab.views._timeline_rows import Rows
from protonlab.views._timeline_time import TimeAxis
from protonlab.views.hover import hover_text, share
from protonlab.views.names import escaped, fitted, hover_lines, shortened

_LONGEST_LABEL = 100
_LONGEST_VALUE = 60
_MOST_VALUES = 8


def scope_roles(trace: Trace) -> dict[str, str]:
    """Label -> role for a trace of scopes only: each of the longest has a colour of its own."""
    if (trace.events["kind"] == "kernel").any() or trace.unit == "ns":
        return {}
    longest = trace.scopes.groupby("label", sort=False)[f"time_{trace.unit}"].sum()
    labels = longest.sort_values(ascending=False, kind="stable").index[: len(theme.PARTS)]
    return dict(zip(labels, theme.PARTS, strict=False))


def box_table(
    trace: Trace, rows: Rows, boxes: TimelineBoxes, axis: TimeAxis, span: float
) -> pd.DataFrame:
    """Describe each box as `box_traces` needs it.

    Parameters
    ----------
    trace, rows, boxes, axis
        What is drawn.
    span
        Part of the time that is seen, in the trace's unit; texts are made for it.
    """
    single = boxes.count == 1
    event = rows.event[boxes.first]
    seen = trace.events.iloc[event]
    width = (boxes.end - boxes.start).astype(np.float64)
    room = theme.NOMINAL_WIDTH - 160  # names of lanes take the rest
    pixels = width / span * room
    amounts = [axis.amount(value) for value in width.tolist()]
    labels = [
        shortened(str(label), _LONGEST_LABEL) if alone else counted(int(number), "event")
        for label, alone, number in zip(seen["label"], single, boxes.count, strict=True)
    ]
    asides = [
        amount if alone else f"busy {share(part, 1.0)}"
        for amount, alone, part in zip(amounts, single, boxes.share.tolist(), strict=True)
    ]
    hovers = np.empty(len(boxes), dtype=object)
    hovers[single] = _single_hovers(trace, event[single], axis)
    hovers[~single] = _merged_hovers(trace, rows, boxes, axis)
    texts = [
        escaped(fitted(label, aside, wide - theme.TEXT_PADDING))
        for label, aside, wide in zip(labels, asides, pixels, strict=True)
    ]
    return pd.DataFrame(
        {
            "role": np.where(single, _roles(trace, seen), _merged_roles(boxes.share)),
            "label": labels,
            "aside": asides,
            "text": texts,
            "hover": hovers,
            "start": axis.of_values(boxes.start),
            # Half a pixel is the least that can be seen.
            "width": np.maximum(width, boxes.pixel / 2) / axis.step,
            "row": rows.row[boxes.first],
            "edge": (pixels > theme.NARROW).astype(int),
        }
    )


def _roles(trace: Trace, seen: pd.DataFrame) -> list[str]:
    own = scope_roles(trace)
    roles = []
    for kind, hook, label in zip(seen["kind"], seen["hook"], seen["label"], strict=True):
        if kind == "kernel":
            roles.append(theme.role_of_kernel(hook))
        elif kind in ("metadata", "metric"):
            roles.append("overhead")
        elif kind == "scope":
            roles.append(own.get(label, "scope"))
        else:
            roles.append("copy" if kind == "copy" else "event")
    return roles


def _merged_roles(shares: Iterable[float]) -> list[str]:
    steps = ((1 / 3, "many_low"), (2 / 3, "many_half"))
    return [next((role for bound, role in steps if part < bound), "many_high") for part in shares]


def _single_hovers(trace: Trace, events: IntArray, axis: TimeAxis) -> list[str]:
    table = trace.events.iloc[events]
    lines: list[list[str]] = [[] for _ in events]
    for column in trace.columns:
        values = table[column.column]
        present = values.notna().to_numpy()
        for row in np.flatnonzero(present).tolist():
            if len(lines[row]) < _MOST_VALUES:
                text = str(values.iat[row])[:_LONGEST_VALUE]
                lines[row].append(f"{escaped(column.column)}: <b>{escaped(text)}</b>")
    texts = []
    shown = ("label", "name", trace.start, trace.duration, "path", "hook", "lane")
    columns = (table[name].astype(object).tolist() for name in shown)
    for row, (label, name, start, length, path, hook, lane) in enumerate(
        zip(*columns, strict=True)
    ):
        above = " › ".join(path[1:-1])
        parts = (
            f"<b>{axis.amount(length)}</b>, from {axis.amount(start - axis.origin)} on",
            escaped(trace.lanes[lane].name),
            f"in {hover_lines(above)}" if above else "",
            "<br>".join(lines[row]),
            "" if pd.isna(hook) else theme.HOOK_WORDS[hook],
        )
        texts.append(hover_text(label, name, *parts))
    return texts


def _merged_hovers(trace: Trace, rows: Rows, boxes: TimelineBoxes, axis: TimeAxis) -> list[str]:
    """Say of each box of many how many, how busy, and what took most of it."""
    labels = trace.events["label"].cat
    names = [shortened(str(label), 60) for label in labels.categories]
    codes = labels.codes.to_numpy()[rows.event]
    lanes = trace.events["lane"].to_numpy()[rows.event[boxes.first]].tolist()
    length, parts = rows.end - rows.start, boxes.share.tolist()
    texts = []
    for at in np.flatnonzero(boxes.count > 1).tolist():
        first, number = int(boxes.first[at]), int(boxes.count[at])
        code, often, most = _most(
            codes[first : first + number].tolist(), length[first : first + number].tolist()
        )
        start, end, busy = (int(each[at]) for each in (boxes.start, boxes.end, boxes.busy))
        head = counted(number, "event")
        texts.append(
            hover_text(
                head,
                head,
                f"busy <b>{share(parts[at], 1.0)}</b>: {axis.amount(busy)} of "
                f"{axis.amount(end - start)}, from {axis.amount(start - axis.origin)} on",
                escaped(trace.lanes[lanes[at]].name),
                f"most of it: {escaped(names[code])}, {often} ×, {axis.amount(most)}",
                "zoom in to see each",
            )
        )
    return texts


def _most(codes: Sequence[int], lengths: Sequence[int]) -> tuple[int, int, int]:
    """Find what took most of the time: its code, how often it is there, and its time."""
    spent: Counter[int] = Counter()
    for code, length in zip(codes, lengths, strict=True):
        spent[code] += length
    code, most = max(spent.items(), key=lambda item: item[1])
    return code, codes.count(code), most
