"""Chrome traces to Trace: Proton's since 3.6, its instrumentation's, torch's, and saved ones."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from protonlab.errors import ProfileFormatError
from protonlab.formats._trace_event import Event
from protonlab.formats._trace_table import EventReader
from protonlab.formats._tree import StoredText, collector_paused
from protonlab.model import MetricColumn, ProfileInfo
from protonlab.model.trace import HOOK_COLUMNS, Lane, Trace, empty_events, hook_column
from protonlab.model.trace_document import TRACE_VERSION

_EXPECTED = "a chrome trace that Proton wrote"
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")


class Document(msgspec.Struct):
    """The file; ``protonlab`` holds what a chrome trace has no place for."""

    traceEvents: list[Event]
    baseTimeNanoseconds: int | None = None
    protonlab: dict[str, Any] = {}


class Saved(msgspec.Struct):
    """What a saved trace carries under ``protonlab``."""

    version: int = TRACE_VERSION
    info: ProfileInfo = msgspec.field(default_factory=ProfileInfo)
    unit: Literal["ns", "cycles"] | None = None
    lanes: list[tuple[str, int | str | None, int | str | None, int]] = []
    columns: list[tuple[str, str, str, bool]] = []
    hooks: dict[str, StoredText] = {}


def read_chrome_trace(
    data: bytes, *, source: str, info: ProfileInfo | None = None, max_events: int = 20_000_000
) -> Trace:
    """Read a chrome trace.

    Parameters
    ----------
    data
        JSON.
    source
        What to call the data in errors: the file's path.
    info
        How the trace came to be; by default what the file says.
    max_events
        Largest trace to accept.

    Raises
    ------
    ProfileFormatError
        If the data is no trace of Proton's or larger than the bound.
    """
    with collector_paused():
        document, saved = _decode(data, source)
        if len(document.traceEvents) > max_events:
            raise ProfileFormatError(
                f"{source}: more than max_frames={max_events} events; pass a larger max_frames to "
                "load it"
            )
        return _trace(document, saved, source, info or saved.info)


def _trace(document: Document, saved: Saved, source: str, info: ProfileInfo) -> Trace:
    reader = EventReader(document.traceEvents, source, [Lane(*lane) for lane in saved.lanes])
    lanes, base = tuple(reader.lanes), document.baseTimeNanoseconds
    if not reader.rows:
        return Trace(empty_events(), lanes, base_time_ns=base, info=info)
    unit = saved.unit or reader.unit
    events = reader.table(info.cells, unit)
    for name in HOOK_COLUMNS:
        stored = saved.hooks.get(name) or StoredText([], [-1] * len(events))
        try:
            events[name] = hook_column(name, stored.names, stored.codes, len(events))
        except ValueError as error:
            raise ProfileFormatError(
                f"{source}: its column {name!r} does not fit its {len(events)} events ({error}); a "
                "program that is not protonlab may have changed the file"
            ) from None
    columns = reader.add_metrics(events, [MetricColumn(*each) for each in saved.columns])
    return Trace(events, lanes, columns, unit, base, info)


def _decode(data: bytes, source: str) -> tuple[Document, Saved]:
    try:
        document = _whole(data)
        saved = msgspec.convert(document.protonlab, Saved)
    except msgspec.ValidationError as error:
        raise ProfileFormatError(f"{source}: {error}; expected {_EXPECTED}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProfileFormatError(
            f"{source}: not whole JSON: {error}. The file may be cut off; expected {_EXPECTED}"
        ) from None
    if saved.version != TRACE_VERSION:
        raise ProfileFormatError(
            f"{source}: written by a protonlab with trace version {saved.version!r}; this one "
            f"reads {TRACE_VERSION}. Update protonlab."
        )
    return document, saved


def _whole(data: bytes) -> Document:
    """Decode the document; Triton 3.6 writes one a stream, one behind the other."""
    documents: list[Document] = []
    rest = memoryview(data)
    while True:
        try:
            documents.append(msgspec.json.decode(rest, type=Document))
            break
        except msgspec.DecodeError as error:
            end = _TRAILING.search(str(error))
            if end is None:
                raise
            stop = int(end[1]) - 1  # counted from 1
            documents.append(msgspec.json.decode(rest[:stop], type=Document))
            rest = rest[stop:]
    for other in documents[1:]:
        documents[0].traceEvents.extend(other.traceEvents)
    return documents[0]
