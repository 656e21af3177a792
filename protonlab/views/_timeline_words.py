"""What a timeline says in words: its title, its lanes with their idle shares, its notes."""

from __future__ import annotations

from collections.abc import Sequence

from protonlab.model import Trace, format_quantity
from protonlab.model.occupancy import Occupancy
from protonlab.model.units import counted
from protonlab.views._timeline_boxes import TimelineBoxes
from protonlab.views._timeline_rows import Rows
from protonlab.views._timeline_time import TimeAxis
from protonlab.views.layout import title_of
from protonlab.views.names import escaped, shortened, told_apart

_LONGEST_LANE, _LONGEST_LABEL = 40, 36
_MOST_GAPS, _MOST_GPUS = 2, 4


def title_for(
    trace: Trace, axis: TimeAxis, reach: tuple[float, float], work: Sequence[Occupancy]
) -> str:
    """Title: what, over what time, how much of it the GPUs were idle, and which GPU it is."""
    gpus = sorted(
        (each for each in work if each.lane is None and each.window), key=lambda each: each.idle
    )
    if len(gpus) > 2:
        idle = [f"{len(gpus)} GPUs idle {_share(gpus[0])} to {_share(gpus[-1])}"]
    else:
        idle = [f"{each.name} idle {_share(each)}" for each in work if each in gpus]
    over = f"timeline over {axis.amount(reach[1] - reach[0])}"
    return title_of(trace.info.name, over, *idle, trace.info.gpu)


def lane_texts(trace: Trace, rows: Rows, work: Sequence[Occupancy]) -> list[str]:
    """Names of the lanes, escaped, streams with their idle share."""
    gpus = sum(each.lane is None for each in work)
    streams = {each.lane: each for each in work if each.lane is not None}
    names = []
    told = len({trace.lanes[at].name for at in rows.lanes}) == len(rows.lanes)
    for at in rows.lanes:
        lane = trace.lanes[at]
        of_gpu = f"GPU {lane.process}, " if gpus > 1 and at in streams and not told else ""
        names.append(f"{of_gpu}{lane.name}")
    texts = told_apart(names, _LONGEST_LANE)
    return [
        escaped(text if at not in streams else f"{text} · idle {_share(streams[at])}")
        for text, at in zip(texts, rows.lanes, strict=True)
    ]


def notes_of(
    trace: Trace,
    rows: Rows,
    boxes: TimelineBoxes,
    axis: TimeAxis,
    work: Sequence[Occupancy],
    part: tuple[float, float] | None = None,
) -> list[str]:
    """Write the sentences below the lanes, not escaped; `part`: what is seen, if not all."""
    notes = []
    gpus = [each for each in work if each.lane is None and each.window]
    for gpu in gpus[:_MOST_GPUS]:
        notes.append(
            f"{gpu.name}: at work for {axis.amount(gpu.busy)} of {axis.amount(gpu.window)} between "
            f"its first and its last launch, idle {_share(gpu)}."
        )
    if len(gpus) > _MOST_GPUS:
        notes.append(f"{counted(len(gpus) - _MOST_GPUS, 'more GPU')}: Trace.idle holds all.")
    longest = [
        f"{axis.amount(duration)} (at {axis.amount(start - axis.origin)}, between "
        f"{_label(before)} and {_label(after)})"
        for _, start, duration, before, after in trace.gaps.head(_MOST_GAPS).itertuples(
            index=False, name=None
        )
    ]
    if longest:
        notes.append(f"Longest gaps: {', '.join(longest)}.")
    many = boxes.count > 1
    if part is not None:
        many &= (boxes.end >= part[0]) & (boxes.start <= part[1])
        if not many.any():
            notes.append("In this part each event has a box of its own.")
    if many.any():
        notes.append(
            f"{counted(int(boxes.count[many].sum()), 'event')} too narrow to see are drawn as "
            f"{counted(int(many.sum()), 'box', 'boxes')} of many; zoom in to see each."
        )
    return [*notes, *rows.notes]


def _label(label: object) -> str:
    return shortened(str(label), _LONGEST_LABEL)


def _share(work: Occupancy) -> str:
    return format_quantity(100 * work.idle, "%")
