"""Metrics that are still on the GPU when their launch is over, for a Triton that records none.

Triton 3.6 takes a metric also after the launch's frame was closed. So a tensor is copied on the
launch's stream, which waits for nothing, and read when the session pauses or stops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import torch

from protonlab.capture import _proton
from protonlab.capture._launch_metrics import Unrecordable, checked
from protonlab.capture._launch_record import Notes

proton = _proton.require()


class LateMetric(NamedTuple):
    """One metric of one launch, waiting on the GPU."""

    scope: int
    kernel: str
    key: str
    tensor: Any
    place: Callable[..., Any] | None
    notes: Notes


class LateMetrics:
    """Metrics to be read later; all hooks share what waits, as every session receives it."""

    _waiting: ClassVar[list[LateMetric]] = []

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def keep(
        self, scope: int, kernel: str, key: str, tensor: Any, place: Callable[..., Any] | None
    ) -> None:
        """Copy a tensor of one element on the current stream."""
        copy = tensor.detach().reshape(()).clone()
        self._waiting.append(LateMetric(scope, kernel, key, copy, place, self._notes))

    def settle(self, types: dict[str, type]) -> None:
        """Read what waits, with one copy a dtype and device, and write it into Proton's frames."""
        waiting = self._waiting[:]
        del self._waiting[: len(waiting)]
        groups: dict[tuple[Any, Any], list[LateMetric]] = {}
        for late in waiting:
            groups.setdefault((late.tensor.dtype, late.tensor.device), []).append(late)
        for (_, device), group in groups.items():
            if device.type == "cuda":
                torch.cuda.synchronize(device)  # the copies were made on any stream
            proton.enter_state(proton.metadata_state(group[0].kernel))
            try:
                values = torch.stack([late.tensor for late in group]).tolist()
            finally:
                proton.exit_state()
            for late, value in zip(group, values, strict=True):
                _write(late, value, types)


def _write(late: LateMetric, value: Any, types: dict[str, type]) -> None:
    try:
        proton.add_metrics(late.scope, {late.key: checked(late.key, value, types)})
    except Unrecordable as error:
        problem = f"the launch metadata of {late.kernel} has no metric {late.key!r}: {error}"
        late.notes.tell(late.kernel, late.key, problem, late.place)
    except Exception as error:
        problem = f"Proton refused metrics of {late.kernel} ({late.key}): {error}"
        late.notes.tell(late.kernel, late.key, problem, late.place)
