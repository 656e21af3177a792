"""Running one cell or statement several times, each a repeat of its session."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from IPython.utils.capture import CapturedIO, capture_output

from protonlab.capture import Session


@dataclass(frozen=True)
class Repetition:
    """How often something runs in a session.

    Parameters
    ----------
    session
        Records the repeats, but not the rounds before them.
    number
        Repeats; only the last one shows its value.
    warmup
        Rounds before them, whose output is dropped.
    """

    session: Session
    number: int = 1
    warmup: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether it runs once, as if nothing had been asked for."""
        return self.number == 1 and not self.warmup

    async def run_nodes(
        self,
        run: Callable[..., Awaitable[Any]],
        nodes: list[Any],
        cell_name: str,
        interactivity: str,
        **rest: Any,
    ) -> bool:
        """Run a cell's statements as IPython does, again and again.

        Parameters
        ----------
        run
            The shell's own ``run_ast_nodes``, which shows the traceback of what fails.
        nodes, cell_name, interactivity, **rest
            Its arguments.

        Returns
        -------
        bool
            Whether a round failed; the rounds after it did not run.
        """
        rounds = self.session.repeats(self.number, warmup=self.warmup)
        for current in rounds:
            shows = interactivity if current == self.number - 1 else "none"
            # A copy: IPython may append to the list.
            once = run(list(nodes), cell_name, interactivity=shows, **rest)
            if current < 0:
                with _silence() as dropped:
                    failed = await once
                if failed:  # in a terminal its traceback is among the output
                    dropped.show()  # type: ignore[no-untyped-call]
            else:
                failed = await once
            if failed:
                return True
        return False

    def call(self, execute: Callable[[], Any]) -> Any:
        """Call a function in each round; return its last value."""
        __tracebackhide__ = True
        value = None
        for current in self.session.repeats(self.number, warmup=self.warmup):
            if current < 0:
                with _silence():
                    execute()
            else:
                value = execute()
        return value


@contextmanager
def _silence() -> Iterator[CapturedIO]:
    """Drop what a round writes, also what C code, other programs and kernels write.

    What those write as an error stays, so that a crash can be read.
    """
    with capture_output() as dropped, _standard_output_dropped():
        try:
            yield dropped
        finally:
            torch = sys.modules.get("torch")
            if torch is not None and torch.cuda.is_initialized():
                with suppress(Exception):  # the cell's own; its next call raises it, too
                    torch.cuda.synchronize()  # which writes what kernels have printed


@contextmanager
def _standard_output_dropped() -> Iterator[None]:
    """Drop what is written past Python; a kernel of Jupyter's reads the descriptor, too."""
    _flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        _flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _flush() -> None:
    if sys.__stdout__ is not None:
        sys.__stdout__.flush()
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)
