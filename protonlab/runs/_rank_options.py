"""What every rank of a run is told: what to record, which steps, and where to write."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The environment variable that holds them as JSON.
VARIABLE = "PROTONLAB_RUN"


@dataclass(frozen=True)
class RankOptions:
    """Options of a run, each in its final form, as the option table describes it.

    Parameters
    ----------
    folder
        The run folder, absolute; empty until it was made.
    include, exclude, record, context, data
        As of a `Session`.
    first, end
        The first step that is recorded, and the one behind the last; None: no step, no end.
    scope
        Only what is launched within Proton's scope of this name.
    keep_host
        Whether the name of the host is kept.
    """

    folder: str = ""
    include: str | None = None
    exclude: str | None = None
    record: tuple[str, ...] | None = None
    context: str = "shadow"
    data: str = "tree"
    first: int = 0
    end: int | None = None
    scope: str | None = None
    keep_host: bool = False

    def to_json(self) -> str:
        """Write them for the environment."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RankOptions:
        """Read what `to_json` wrote."""
        document: Mapping[str, Any] = json.loads(text)
        record = document.get("record")
        return cls(**{**document, "record": None if record is None else tuple(record)})

    @property
    def of_session(self) -> dict[str, Any]:
        """Keywords of a `RankSession`."""
        names = ("include", "exclude", "record", "context", "data", "keep_host")
        return {name: getattr(self, name) for name in names}
