"""What a person sees while a cell runs: the profile so far, with ``live=``, and how long it takes.

Nothing of it stays in the stored notebook: the live view stands where the summary will stand. The
line of progress is no output but an element of the page that goes away by itself; where our ES
module cannot run, as in VS Code and Colab, it is an output that is emptied at the end. A terminal
gets none: it would stand in the middle of what the cell prints.

While a cell runs its bars are the static picture, drawn anew each time. That is plain HTML, which
every front end shows that can update an output, without plotly.js; hover and zoom would be gone a
second later anyway.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import Any, Protocol

from IPython.core.display_functions import display

from protonlab.capture import Session
from protonlab.display import Summary, summary
from protonlab.errors import CaptureError
from protonlab.front_end import HEADLESS, FrontEnd, front_end
from protonlab.model import Profile
from protonlab.model.units import counted
from protonlab.views import KernelTable, bars, table, themed_picture_of

_TICK_S = 1.0
_SHARE = 0.05  # of the time: the most that the live view may take
_LISTED, _DRAWN = 20, 10  # kernels in the table, and as bars


@dataclass(frozen=True)
class SoFar:
    """Summary, bars and kernel table of a profile that is being recorded.

    Parameters
    ----------
    lines
        The summary.
    picture
        The bars, as HTML without script; empty before the first kernel.
    kernels
        The table; none before the first kernel.
    """

    lines: Summary
    picture: str = ""
    kernels: KernelTable | None = None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        html = [self.lines._repr_html_(), self.picture, self.kernels.html() if self.kernels else ""]
        text = [repr(self.lines), *([str(self.kernels)] if self.kernels else [])]
        return {"text/html": "".join(html), "text/plain": "\n".join(text)}


class Line(Protocol):
    """Where the line of progress stands."""

    def say(self, text: str) -> None:
        """Show a text in place of the last one; an empty one takes the line away."""


class OutputLine:
    """A line of progress as an output, for front ends that can change one but not run our module.

    It is emptied at the end, so a stored notebook holds an output without content.
    """

    def __init__(self) -> None:
        self._slot: Any = None

    def say(self, text: str) -> None:
        """Show a text in place of the last one."""
        if self._slot is not None:
            data = {"text/plain": text} if text else {}
            self._slot.update(data, raw=True)
        elif text:
            self._slot = display({"text/plain": text}, raw=True, display_id=True)  # type: ignore[no-untyped-call]


def line_of(here: FrontEnd) -> Line:
    """Return a line of progress that suits a front end."""
    if not here.is_live:
        return OutputLine()
    # The widget takes a moment to import, and short cells need none.
    from protonlab.views.live import figure_server

    return figure_server()


class Watch:
    """Shows how a session is getting on, from a thread of its own.

    Parameters
    ----------
    session
        A session that records.
    every
        Seconds between updates of the live view; 0 shows none.
    """

    def __init__(self, session: Session, every: int = 0) -> None:
        self._session, self._every = session, every
        self._here = front_end()
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._shows_line = False
        self._line: Line | None = None  # of progress
        self._slot: Any = None  # IPython's handle of the live view
        self._readings = 0
        self._cost_s = 0.0

    def start(self) -> None:
        """Show the live view, empty as yet, and begin to watch; nothing where nobody looks."""
        self._shows_line = self._here.is_watched and self._session.problem is None
        if self._every and self._session.problem is None:
            self._open_view()
        if self._slot is not None and not self._here.is_live:
            self._shows_line = False  # the live view says it, and a second output would be one more
        if self._slot is not None or self._shows_line:
            self._thread = threading.Thread(target=self._run, name="protonlab", daemon=True)
            self._thread.start()

    def _open_view(self) -> None:
        here = self._here
        if not here.is_watched:
            if here.name != HEADLESS.name:
                self._session.notes.append(f"live={self._every}: no updates in {here.name}")
            return
        try:
            self._session.so_far()
        except CaptureError as error:
            self._session.notes.append(f"live={self._every}: {error}")
            return
        waiting = SoFar(Summary((f"{self._session.name}: recording …",)))
        self._slot = display(waiting, display_id=True)  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        """Stop watching, before the session stops; leave a note on what it has cost."""
        if self._thread is None:
            return
        self._ended.set()
        self._thread.join()
        self._thread = None
        if self._readings:
            whole = time.monotonic() - self._began
            self._session.notes.append(f"Watched live: {self._cost(whole)}.")
        self.say("reading …")

    def replace(self, part: object) -> None:
        """Display something in the place of the live view, if there is one."""
        slot, self._slot = self._slot, None
        if slot is None:
            display(part)  # type: ignore[no-untyped-call]
        else:
            slot.update(part)

    def say(self, what: str) -> None:
        """Show what is being done, if the cell took long enough to have a line of progress."""
        if self._line is not None:
            self._line.say(f"{self._session.name}: {what}")

    def clear(self) -> None:
        """Take away what is left: the line of progress, and a live view that nothing replaced."""
        if self._line is not None:
            self._line.say("")
        if self._slot is not None:
            self._slot.update({}, raw=True)

    def _run(self) -> None:
        due = self._began + self._every if self._slot is not None else math.inf
        while not self._ended.wait(_TICK_S):
            try:
                if self._shows_line:
                    self._tell()
                if time.monotonic() >= due:
                    cost = self._update()
                    pause = cost / _SHARE
                    if self._readings == 1:  # it paid for imports and the like, once and for all
                        pause = min(pause, 2.0 * self._every)
                    due = time.monotonic() + max(self._every, pause) - _TICK_S / 2
            except CaptureError as error:  # with repeats, or when the cell ends all sessions
                self._session.notes.append(f"live={self._every}: {error}")
                due = math.inf
            except Exception as error:
                self._session.notes.append(f"the live view ended: {error!r}")
                return

    def _tell(self) -> None:
        if self._line is None:
            self._line = line_of(self._here)
        self.say(f"recording, {time.monotonic() - self._began:.0f} s")

    def _update(self) -> float:
        """Update the live view; return what that has cost in seconds."""
        before, start = self._cost_s, time.thread_time()  # processor time: the cell has it not
        profile = self._session.so_far()
        self._readings += 1
        self._cost_s = before + time.thread_time() - start
        self._slot.update(self._drawn(profile))
        cost = time.thread_time() - start
        self._cost_s = before + cost
        return cost

    def _drawn(self, profile: Profile) -> SoFar:
        whole = time.monotonic() - self._began
        lines = (f"recording, {whole:.0f} s · {self._cost(whole)}", *summary(profile).lines)
        if profile.kernels.empty:
            return SoFar(Summary(lines))
        drawn = themed_picture_of(bars(profile, top=_DRAWN))
        return SoFar(Summary(lines), drawn, table(profile, top=_LISTED))

    def _cost(self, whole: float) -> str:
        share = 100 * self._cost_s / whole if whole else 0.0
        readings = counted(self._readings, "reading")
        return f"{readings} took {self._cost_s:.2f} s ({share:.1f} % of {whole:.1f} s)"
