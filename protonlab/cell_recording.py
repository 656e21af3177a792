"""The session around one cell or statement: from its option line to a profile that is shown."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

from protonlab import capture, display
from protonlab.errors import CaptureError, MetricError
from protonlab.model import Profile, Run, Trace
from protonlab.option_line import OptionLine
from protonlab.repetition import Repetition
from protonlab.watch import Watch

_OURS = (Profile, Trace, Run)  # a cell that runs again takes its own name


@dataclass(frozen=True)
class CellRecording:
    """A session that is open for one cell or statement."""

    options: OptionLine
    session: capture.Session
    watch: Watch
    info: Any = None  # IPython's ExecutionInfo, of a cell

    @classmethod
    def started(cls, options: OptionLine, hook: Any, info: Any = None) -> Self:
        """Start to record as an option line asks for, with the hook that it names."""
        session = capture.Session(
            options.name or "proton",
            hook=hook,
            **options.typed(
                "include", "exclude", "record", "sync", *capture.ProtonWords.__annotations__
            ),
        )
        live = options.values.get("live", capture.option("live").default)
        session.start(watched=live > 0)
        return cls(options, session, Watch(session, live), info)

    @property
    def repetition(self) -> Repetition:
        """How often the cell or statement runs."""
        return Repetition(
            self.session,
            self.options.values.get("repeat", capture.option("repeat").default),
            self.options.values.get("warmup", capture.option("warmup").default),
        )

    def belongs_to(self, result: Any) -> bool:
        """Whether this is the recording of the cell that has ended with `result`.

        IPython passes no result when a cell was cancelled before it began, and a new
        ExecutionInfo when an interrupt came from outside of the cell's own code.
        """
        if self.info is None:
            return False
        return result is None or result.info.raw_cell == self.info.raw_cell

    def stop(self) -> None:
        """Stop watching and recording."""
        self.watch.stop()
        self.session.stop()

    def finish(
        self, variables: MutableMapping[str, Any], *, shows: bool = True
    ) -> Profile | Trace | None:
        """Stop, leave the profile or trace in the user's variables, and show it."""
        name = self.options.name
        older = variables.get(name) if name is not None else None
        is_ours = older is None or isinstance(older, _OURS)
        profile: Profile | Trace | None = None  # an older one under the name would mislead
        with ExitStack() as stack:
            stack.callback(self.watch.clear)
            try:
                self.stop()
                profile = self.session.result
            except CaptureError as error:
                print(error)
            finally:  # also when an interrupt comes here
                variables["_proton"] = profile
                if name is not None and (is_ours or profile is not None):
                    variables[name] = profile
            if profile is not None and not is_ours:
                print(f"{name} was a {type(older).__name__}, and is what this cell recorded now")
            if profile is not None and shows:
                self._show(profile)
        return profile

    def _show(self, profile: Profile | Trace) -> None:
        values = self.options.values
        view, metrics = values.get("view", capture.option("view").default), values.get("metrics")
        if not view:
            return
        if isinstance(profile, Trace):
            return display.show_trace(profile)
        self.watch.say("drawing …")
        try:
            display.show(profile, view, metrics, first=self.watch.replace)
        except MetricError as error:  # only now it is known what the kernels record
            print(error)
            display.show(profile, view, first=self.watch.replace)
