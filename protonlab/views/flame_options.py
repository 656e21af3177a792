"""What of a flame graph is drawn, and which way it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from protonlab.errors import ProtonLabError
from protonlab.views.selection import check_count


@dataclass(frozen=True)
class FlameOptions:
    """What of a flame graph is drawn, and which way it stands.

    Parameters
    ----------
    root
        ``"top"`` (an icicle) or ``"bottom"`` (a flame).
    order
        Siblings as they were ``"recorded"``, or the ``"widest"`` on the left.
    overhead
        Also draw what profiling itself and autotuning launched.
    max_boxes
        Most boxes to draw, at least 2. The narrowest frames of each parent are folded into one
        box "other (n frames)" that is as wide as they are together. In a notebook with a living
        kernel, zooming to where something was folded gives it boxes.

    Raises
    ------
    ProtonLabError
        If one of these is not legal.

    Examples
    --------
    >>> FlameOptions(root="bottom", order="widest").root
    'bottom'
    """

    root: Literal["top", "bottom"] = "top"
    order: Literal["recorded", "widest"] = "recorded"
    overhead: bool = False
    max_boxes: int = 1500

    def __post_init__(self) -> None:
        if self.root not in ("top", "bottom"):
            raise ProtonLabError(f"root={self.root!r}; use 'top' or 'bottom'")
        if self.order not in ("recorded", "widest"):
            raise ProtonLabError(f"order={self.order!r}; use 'recorded' or 'widest'")
        check_count("max_boxes", self.max_boxes, 2)
