"""One event of a chrome trace as msgspec decodes it, and what its arguments say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from protonlab.model.frames import METADATA_SCOPE, METRIC_FRAME
from protonlab.model.trace import Lane
from protonlab.model.trace_document import FREQUENCY

LaneKey = tuple[int | str | None, int | str | None]
_values = msgspec.json.Decoder(dict[str, Any]).decode


class Event(msgspec.Struct, gc=False):
    """One event; which fields it has depends on ``ph``, its phase."""

    ph: str
    name: str = ""
    cat: str = ""
    ts: float | None = None
    dur: float | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    id: int | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")


@dataclass(frozen=True)
class Arguments:
    """Arguments of an event, and what they say of it.

    Parameters
    ----------
    values
        As the file has them.
    path
        Names from the root to the event.
    overhead
        Kind of what profiling itself launched, else empty.
    """

    values: dict[str, Any]
    path: tuple[str, ...] = ()
    overhead: str = ""

    @classmethod
    def read(cls, text: bytes) -> Arguments:
        """Decode arguments; msgspec.ValidationError when they are not as Proton writes them."""
        values = _values(text)
        path = msgspec.convert(values.get("call_stack", []), list[str])
        return cls(values, tuple(path), _overhead(path))

    @property
    def in_cycles(self) -> bool:
        """Whether the event is of the instrumentation backend's."""
        return FREQUENCY in self.values

    def metrics(self) -> Iterator[tuple[str, bool, Any]]:
        """Yield name, whether Proton recorded it as a metric, and value."""
        recorded = self.values.get("metrics", {})
        for name, value in recorded.items() if isinstance(recorded, dict) else ():
            yield name, True, _number(value)
        for name, value in self.values.items():
            if name not in ("call_stack", "metrics") and isinstance(value, (int, float, str)):
                yield name, False, value


def lanes_of(events: Sequence[Event]) -> list[Lane]:
    """Name lanes as the file does, and number them in its order."""
    names: dict[LaneKey, str] = {}
    order: dict[LaneKey, int] = {}
    for event in events:
        if event.ph != "M":
            if (event.pid, event.tid) not in names:
                names[event.pid, event.tid] = _lane_name(event)
        elif event.name == "thread_name":
            names[event.pid, event.tid] = str(_stated(event).get("name", event.tid))
        elif event.name == "thread_sort_index":
            index = _stated(event).get("sort_index", 0)
            order[event.pid, event.tid] = index if isinstance(index, int) else 0
    return [Lane(name, *key, order.get(key, 0)) for key, name in names.items()]


def _stated(event: Event) -> dict[str, Any]:
    """Read what metadata says of a lane; nothing where that is no object."""
    try:
        return _values(event.args)
    except msgspec.ValidationError:
        return {}


def _lane_name(event: Event) -> str:
    """Name a lane that the file does not: Triton 3.6 gives the number of a stream only."""
    if isinstance(event.tid, str):
        return event.tid if event.pid is None else f"{event.pid}, {event.tid}"
    return f"GPU Stream {event.tid}" if event.cat == "kernel" else f"Thread {event.tid}"


def _overhead(path: Sequence[str]) -> str:
    """Kind of what profiling itself launched, else nothing."""
    if METRIC_FRAME in path:
        return "metric"
    return "metadata" if any(name.partition(":")[0] == METADATA_SCOPE for name in path) else ""


def _number(value: Any) -> Any:
    """Read a metric: Proton writes numbers as text."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
