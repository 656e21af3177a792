"""``ranks=``: a cell that runs on ipyparallel's engines, and what it leaves here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.error import UsageError

from protonlab import capture
from protonlab.display import show_run
from protonlab.errors import MetricError, ProtonLabError
from protonlab.front_end import HEADLESS, front_end
from protonlab.model import Run
from protonlab.option_line import OptionLine
from protonlab.runs import EngineCell, find_engines
from protonlab.watch import line_of

_OURS = ("ranks", "view", "metrics")  # options that mean nothing to an engine


def run_on_ranks(shell: Any, options: OptionLine, source: str, *, shows: bool) -> Run:
    """Run a cell on every engine as a ``%%proton`` cell of its own; keep and show the Run.

    Parameters
    ----------
    shell
        IPython's shell; receives the run under the name of the cell, and as ``_proton``.
    options
        The option line.
    source
        The cell.
    shows
        Whether to display the run.

    Raises
    ------
    UsageError
        If there are no engines, or they cannot record; nothing has run then.
    ipyparallel.error.RemoteError
        If the cell failed on an engine. What was recorded is kept and shown all the same.
    KeyboardInterrupt
        When the engines have been interrupted, too.
    """
    __tracebackhide__ = True
    if _awaits(shell, source):
        raise UsageError(
            "ranks= cannot run a cell with await outside of a function: ipyparallel's engines "
            "never answer to one, under %%px neither"
        )
    name = options.name or "proton"
    with _progress(name) as say:
        try:
            engines = find_engines(shell, options.values["ranks"])
            cell = EngineCell(engines, engines.prepare(say), name)
        except ProtonLabError as error:
            raise UsageError(str(error)) from None
        for message in cell.messages:
            print(message)
        run = None  # an older one under the name would mislead
        try:
            cell.run(
                f"%%proton {options.without(*_OURS)} view=none\n{source}",
                streams=engines.streams and front_end() is not HEADLESS,
                say=say,
            )
        finally:
            try:
                run = cell.collect(say)
            finally:
                for variable in ("_proton", options.name):
                    if variable is not None:
                        shell.user_ns[variable] = run
            if shows:
                _show(run, options)
    return run


@contextmanager
def _progress(name: str) -> Iterator[Callable[[str], None]]:
    """Offer a line of progress, where somebody may look, that goes away at the end."""
    here = front_end()
    if not here.is_watched:
        yield lambda text: None
        return
    line = None

    def say(text: str) -> None:
        nonlocal line
        line = line or line_of(here)
        line.say(f"{name}: {text}")

    try:
        yield say
    finally:
        if line is not None:
            line.say("")


def _awaits(shell: Any, source: str) -> bool:
    """Whether a cell can only run as a coroutine."""
    try:
        return bool(shell.should_run_async(source, transformed_cell=shell.transform_cell(source)))
    except SyntaxError:  # the engines say where
        return False


def _show(run: Run, options: OptionLine) -> None:
    view = options.values.get("view", capture.option("view").default)
    if not view:
        return
    try:
        show_run(run, view, options.values.get("metrics"))
    except MetricError as error:  # only now it is known what the kernels record
        print(error)
        show_run(run, view)
