"""Which events get a box of their own, and which are drawn as one: those narrower than a pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from protonlab.model.frames import BoolArray, FloatArray, IntArray
from protonlab.views._timeline_rows import Rows

OVERVIEW = 1024  # pixels of a wide cell
DETAIL = 2**20  # pixels of a part that is zoomed to as far as anybody would
_COARSE = 256  # pixels over all of the time, for what lies outside of that part


@dataclass(frozen=True)
class TimelineBoxes:
    """Boxes in order of row and start; each array of shape (n,).

    Parameters
    ----------
    first, count
        Which of the rows' events a box stands for: `count` from `first` on.
    start, end
        Where it begins and ends, in the trace's unit.
    busy
        Sum of the durations of its events.
    pixel
        What was taken for the width of a pixel there; a box is drawn at least half as wide.
    """

    first: IntArray
    count: IntArray
    start: IntArray
    end: IntArray
    busy: IntArray
    pixel: FloatArray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def share(self) -> FloatArray:
        """Share of a box in which an event ran, 0 to 1; 1 for a box without length."""
        length = self.end - self.start
        return np.where(length > 0, self.busy / np.maximum(length, 1), 1.0)


def boxes_of(
    rows: Rows, low: float, high: float, limit: int, *, pixels: int = OVERVIEW
) -> TimelineBoxes:
    """Make at most `limit` boxes, as fine as that allows from `low` to `high`.

    What lies outside of that part is drawn coarsely, so that a person who moves there sees what is
    there. Every event is in exactly one box: counts and durations add up to those of the trace.

    Parameters
    ----------
    rows
        Events with their rows; at least one.
    low, high
        The part, in the trace's unit.
    limit
        Most boxes, as far as there are not more rows.
    pixels
        How many pixels the part has; events narrower than one are drawn together.
    """
    whole = float(max(rows.end.max() - rows.start.min(), 1))
    inside = (rows.end >= low) & (rows.start <= high)
    fine = max((high - low) / pixels, 1e-9)
    coarse = max(whole / _COARSE, fine)
    while True:
        boxes = _merged(rows, inside, fine, coarse)
        if len(boxes) <= limit or fine > whole:
            return boxes
        fine *= 2 if len(boxes) < 4 * limit else 4
        coarse = max(coarse, fine)


def _merged(rows: Rows, inside: BoolArray, fine: float, coarse: float) -> TimelineBoxes:
    """Draw neighbours within one pixel of a row as one."""
    pixel = np.where(inside, fine, coarse)
    duration = rows.end - rows.start
    narrow = duration < pixel
    place = np.floor(rows.start / pixel)
    same = (
        (rows.row[1:] == rows.row[:-1])
        & (inside[1:] == inside[:-1])
        & narrow[1:]
        & narrow[:-1]
        & (place[1:] == place[:-1])
    )
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    return TimelineBoxes(
        first=first,
        count=np.diff(np.concatenate([first, [len(same) + 1]])),
        start=rows.start[first],
        end=np.maximum.reduceat(rows.end, first),
        busy=np.add.reduceat(duration, first),
        pixel=pixel[first],
    )
