"""A RankManifest: what one rank of a job says about the profile that it wrote into a run folder."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from protonlab.errors import ProfileFormatError

SCHEMA = 1
# What a manifest is called in its folder; a second recording of a rank appends -1, -2 and so on.
MANIFEST_NAME = re.compile(r"rank-(\d{5,})(?:-(\d+))?\.json")

State = Literal["recording", "complete", "failed"]
STATES: tuple[str, ...] = get_args(State)


def manifest_name(rank: int, again: int = 0) -> str:
    """Name the manifest of a rank; `again` counts the recordings of that rank before this one."""
    return f"rank-{rank:05d}{f'-{again}' if again else ''}.json"


@dataclass(frozen=True)
class RankManifest:
    """What one rank says about its profile; written when it starts to record, replaced at the end.

    Parameters
    ----------
    rank, world_size
        Number of the rank in the job, from 0, and how many ranks the job has.
    state
        ``"recording"``, also where the rank was killed; ``"complete"``; ``"failed"``, where the
        script or the recording did: `error` says how, and the profile is there if `files` names it.
    started
        When recording began, ISO 8601, UTC.
    local_rank
        Number of the rank on its host.
    host
        Name of the host; None where it was not to be kept.
    attempt
        How often an elastic job had been restarted before.
    files
        Names of the files in the same folder that hold what was recorded.
    ended
        When recording ended, as `started`.
    gpu_uuid, gpu_name
        The GPU that the rank used; None on the interpreter.
    versions
        Package -> version.
    clocks
        Readings of the GPU's clocks at the end: ``when``, ``sm_mhz``, ``memory_mhz``, ``power_w``,
        ``temperature_c``; empty where there are none.
    steps, first_step
        Number of whole steps that were recorded, and the number of the first of them, from 0; None
        where no steps were counted. The profile's repeat i is step `first_step` + i.
    step_s
        Median wall time of a recorded step, in seconds.
    overhead_s
        Seconds a step that recording cost: `step_s` less the median wall time of the same job's
        steps that ran without it, before and after, the first two left out. Noise can make it
        negative. None where fewer than three steps ran without.
    error
        One sentence on what failed.
    include, exclude
        The launch hook's filter.

    Raises
    ------
    ProfileFormatError
        If a value is not legal; the message names it and the legal ones.
    """

    rank: int
    world_size: int
    state: State
    started: str
    local_rank: int | None = None
    host: str | None = None
    attempt: int = 0
    files: tuple[str, ...] = ()
    ended: str | None = None
    gpu_uuid: str | None = None
    gpu_name: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    clocks: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    first_step: int | None = None
    step_s: float | None = None
    overhead_s: float | None = None
    error: str | None = None
    include: str | None = None
    exclude: str | None = None
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        for name in _NAMES:
            reason = _wrong(name, getattr(self, name))
            if reason:
                raise ProfileFormatError(f"{name}={getattr(self, name)!r}: {reason}")
        if self.rank >= self.world_size:
            raise ProfileFormatError(
                f"rank={self.rank}: a job of world_size={self.world_size} has the ranks 0 to "
                f"{self.world_size - 1}"
            )

    @property
    def complete(self) -> bool:
        """Whether the rank ended well and its profile is whole."""
        return self.state == "complete"

    def to_dict(self) -> dict[str, Any]:
        """Write as plain values for JSON."""
        plain = {name: getattr(self, name) for name in _NAMES}
        return {
            "schema": plain.pop("schema"),
            **plain,
            "files": list(self.files),
            "versions": dict(self.versions),
            "clocks": dict(self.clocks),
        }

    @classmethod
    def from_dict(cls, document: Any, *, source: str = "manifest") -> RankManifest:
        """Read what `to_dict` wrote, by this or a later version; unknown keys are passed over.

        Parameters
        ----------
        document
            Plain values, as JSON holds them.
        source
            Where they come from, for messages: a file's name.

        Raises
        ------
        ProfileFormatError
            If it is no manifest; the message names source, key and the legal values.
        """
        if not isinstance(document, Mapping):
            raise ProfileFormatError(
                f"{source}: a manifest is a JSON object, not {type(document).__name__}"
            )
        missing = [name for name in _REQUIRED if name not in document]
        if missing:
            raise ProfileFormatError(f"{source}: no manifest of a rank, it has no {missing[0]!r}")
        known = {name: document[name] for name in _NAMES if name in document}
        if isinstance(known.get("files"), list):
            known["files"] = tuple(known["files"])
        try:
            return cls(**known)
        except ProfileFormatError as error:
            raise ProfileFormatError(f"{source}: {error}") from error

    @classmethod
    def parse(cls, text: str | bytes, *, source: str = "manifest") -> RankManifest:
        """Read a manifest's JSON; raises as `from_dict` does, also where it is none."""
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ProfileFormatError(f"{source}: no JSON ({error})") from error
        return cls.from_dict(document, source=source)


_NAMES = tuple(each.name for each in dataclasses.fields(RankManifest))
_REQUIRED = ("schema", "rank", "world_size", "state", "started")
_COUNTS = {"rank": 0, "world_size": 1, "attempt": 0, "local_rank": 0, "steps": 0, "first_step": 0}
_OPTIONAL = frozenset(_NAMES) - {*_REQUIRED, "attempt", "files", "versions", "clocks"}
_SECONDS = ("step_s", "overhead_s")
_MOMENTS = ("started", "ended")


def _wrong(name: str, value: Any) -> str:
    """Say what would be legal; empty where the value is."""
    if value is None and name in _OPTIONAL:
        return ""
    if name == "schema":
        legal = type(value) is int and 1 <= value <= SCHEMA
        return "" if legal else f"this protonlab reads schema {SCHEMA}; a newer one may read it"
    if name == "state":
        return "" if value in STATES else f"use {', '.join(STATES[:-1])} or {STATES[-1]}"
    if name in _COUNTS:
        least = _COUNTS[name]
        legal = type(value) is int and value >= least
        return "" if legal else f"it is a whole number from {least} up"
    if name in _SECONDS:
        legal = type(value) in (int, float) and math.isfinite(value)
        legal = legal and (value >= 0 or name == "overhead_s")  # a difference may be negative
        return "" if legal else "it is a number of seconds"
    if name in _MOMENTS:
        return "" if _is_moment(value) else "it is a moment, ISO 8601 with its time zone"
    if name == "files":
        legal = isinstance(value, tuple) and all(map(_is_file_name, value))
        return "" if legal else "it lists names of files in the manifest's own folder"
    if name in ("versions", "clocks"):
        values = str if name == "versions" else object
        legal = isinstance(value, Mapping) and all(
            isinstance(key, str) and isinstance(each, values) for key, each in value.items()
        )
        return "" if legal else f"it maps names to {'text' if values is str else 'values'}"
    return "" if isinstance(value, str) else "it is text"


def _is_moment(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


def _is_file_name(value: Any) -> bool:
    """Whether it names a file beside the manifest: a manifest from elsewhere reaches no other."""
    return isinstance(value, str) and value not in ("", ".", "..") and not set(value) & set("/\\\0")
