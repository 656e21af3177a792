"""From what Proton wrote about a session to its profile or trace."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from protonlab.capture import _surroundings
from protonlab.capture._part import LEFT_OUT, Part
from protonlab.capture.clocks import Clocks, driver_version
from protonlab.capture.proton_words import CheckedWords
from protonlab.formats import read_profile, read_trace
from protonlab.model import Profile, ProfileInfo, Trace
from protonlab.model.clocks import clock_notes
from protonlab.model.merging import merged, split
from protonlab.model.units import counted

if TYPE_CHECKING:
    from protonlab.capture._hook_session import HookSession

_NOTHING = b'[{"frame":{"name":"ROOT","type":"function"},"metrics":{},"children":[]},{}]'
INTERPRETER = "interpreter, CPU"
_SMALL = 1024  # bytes


@dataclass(frozen=True)
class Source:
    """A session that has ended.

    Parameters
    ----------
    name, words
        The session's.
    seen
        What its launch hook saw.
    when
        Its start, ISO 8601 with time zone.
    completed
        Repeats that ran to their end; what any other one recorded is left out.
    warmup
        Rounds before them, unrecorded.
    clocks
        Readings of the GPUs' clocks.
    earlier
        What was read while the session recorded, without the hook's knowledge; None when nothing.
    notes
        What others have to say about the session.
    keeps_rest
        Whether the sums hold a repeat that did not end: work behind the last step of a job.
    """

    name: str
    words: CheckedWords
    seen: HookSession
    when: str
    completed: Sequence[int]
    warmup: int
    clocks: Clocks
    earlier: Profile | None = None
    notes: Sequence[str] = ()
    keeps_rest: bool = False

    @property
    def info(self) -> ProfileInfo:
        """How the profile came to be, without clocks: they depend on the GPUs that it names."""
        seen, record = self.seen, self.seen.record
        backend = self.words.backend or _surroundings.default_backend()
        driver = "" if seen.interpreted else driver_version()
        return ProfileInfo(
            name=self.name,
            backend=INTERPRETER if seen.interpreted else backend,
            context=self.words.context,
            mode=str(self.words.mode or ""),
            versions={**_surroundings.versions(), **({"driver": driver} if driver else {})},
            gpu="" if seen.interpreted else _surroundings.gpu_name(),
            when=self.when,
            include=seen.hook.include,
            exclude=seen.hook.exclude,
            launches=record.launches,
            cells=_surroundings.cells() if self.words.context == "python" else {},
            repeats=len(self.completed),
            warmup=self.warmup,
            tuning=seen.trials,
            notes=(*record.notes, *self.notes),
        )


def result_of(parts: Sequence[Part], source: Source) -> Profile | Trace:
    """Read what the session was told to keep."""
    return (trace_of if source.words.data == "trace" else profile_of)(parts, source)


def profile_of(parts: Sequence[Part], source: Source) -> Profile:
    """Read trees and add them up."""
    info, record, completed = source.info, source.seen.record, source.completed
    pieces = [piece for part in parts for piece in _pieces(part, _read(part.data, info))]
    pieces = [(repeat, piece) for repeat, piece in pieces if repeat != LEFT_OUT]
    if source.earlier is not None or not pieces:
        pieces.insert(0, (None, source.earlier or _read(_NOTHING, info)))
    partial = [each for repeat, each in pieces if repeat is not None and repeat not in completed]
    drops = bool(completed) and not source.keeps_rest
    lost = sum(int(each.kernels["count"].sum()) for each in partial) if drops else 0
    pieces = [
        (repeat if repeat in completed else None, piece)
        for repeat, piece in pieces
        if not drops or repeat is None or repeat in completed
    ]
    profile = pieces[0][1] if len(pieces) == 1 and pieces[0][0] is None else merged(pieces)
    kept = record.kept
    profile = profile.with_hook(record.kernel_of, kept, record.filtered, kept)
    found = (note for _, piece in pieces for note in piece.info.notes)
    notes = list(dict.fromkeys([*info.notes, *found]))
    if lost:
        notes.append(
            f"the last repeat did not end; {counted(lost, 'launch', 'launches')} of it left out"
        )
    used = [gpu.device_id for gpu in profile.devices if gpu.device_type == "CUDA"]
    clocks = source.clocks.of(used)
    notes += clock_notes(clocks)
    return replace(profile, info=replace(info, clocks=clocks, notes=tuple(notes)))


def _read(data: bytes, info: ProfileInfo) -> Profile:
    """Read a tree of Proton's; one without frames, as most cells of a notebook leave, but once."""
    if len(data) > _SMALL:
        return read_profile(data, info=info)
    empty = _read_empty(data)
    if empty is None:
        return read_profile(data, info=info)
    return replace(empty, frames=empty.frames.copy(), info=info)


@functools.lru_cache(maxsize=4)  # a document a backend
def _read_empty(data: bytes) -> Profile | None:
    profile = read_profile(data)
    return profile if len(profile.frames) == 1 else None


def _pieces(part: Part, profile: Profile) -> list[tuple[int | None, Profile]]:
    if part.repeat is not None:
        return [(part.repeat, piece) for _, piece in split(profile, "")]
    return split(profile, part.scope)


def trace_of(parts: Sequence[Part], source: Source) -> Trace:
    """Read a chrome trace; several files are its phases."""
    traces = [read_trace(part.data, info=source.info) for part in parts if part.data]
    record = source.seen.record
    trace = Trace.joined(traces, source.info)
    return trace.with_hook(record.kernel_of, record.kept, record.filtered, record.kept)
