"""What a launch hook keeps of a launch, of a kernel, and of a session."""

from __future__ import annotations

from dataclasses import dataclass


class Launch:
    """One launch, from its first enter to its last exit."""

    scope: int | None = None  # Proton's id of the open frame
    name = ""  # of the open frame
    owner: object | None = None  # the hook that opened the frame
    keys: frozenset[str] = frozenset()  # metrics written so far
    failed = False  # its metadata function raised
    closed = False

    def __init__(self, compiled: str) -> None:
        self.compiled = compiled


class Kernel:
    """A compiled kernel as the hook has seen it."""

    __slots__ = ("keep", "kept", "seen", "state")

    def __init__(self, keep: bool, state: str) -> None:
        self.keep = keep
        self.seen = 0
        self.kept = 0
        self.state = state  # frame under which Proton files what its metadata function launches


@dataclass(frozen=True)
class HookRecord:
    """What a hook knows after a session.

    Parameters
    ----------
    launches
        Compiled name -> (launches seen, launches kept).
    kernel_of
        Frame name -> compiled name.
    notes
        Sentences about metrics that are missing.
    """

    launches: dict[str, tuple[int, int]]
    kernel_of: dict[str, str]
    notes: tuple[str, ...]

    def since(self, before: HookRecord) -> HookRecord:
        """Return what came after an earlier record of the same hook."""
        launches = {}
        for name, (seen, kept) in self.launches.items():
            seen_before, kept_before = before.launches.get(name, (0, 0))
            if seen > seen_before:
                launches[name] = (seen - seen_before, kept - kept_before)
        return HookRecord(launches, self.kernel_of, self.notes[len(before.notes) :])
