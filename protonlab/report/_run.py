"""Running a notebook in a kernel of its own."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbclient.util import ensure_async
from nbformat import NotebookNode
from nbformat.v4 import new_output
from traitlets.config import Config


def run_notebook(
    notebook: NotebookNode,
    *,
    folder: Path,
    timeout: float = 600,
    allow_errors: bool = False,
    on_cell: Callable[[int], None] | None = None,
) -> str | None:
    """Run a notebook in place, with the Python that protonlab is installed in.

    Parameters
    ----------
    notebook
        The notebook; its outputs are replaced.
    folder
        Working directory of the run.
    timeout
        Longest time for one cell, in seconds.
    allow_errors
        Whether to go on after a cell that raises; that is no problem then.
    on_cell
        Called with the index of each cell that starts, from another thread.

    Returns
    -------
    str or None
        What went wrong, in one sentence; the cells up to there have their outputs, and that cell
        shows an error whatever ended it.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the kernel is gone by then.
    """
    for cell in notebook.cells:  # what an older run left must not pass for this one's
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    last: int | None = None

    def on_start(cell: NotebookNode, cell_index: int) -> None:
        nonlocal last
        last = cell_index
        if on_cell is not None:
            on_cell(cell_index)

    client = NotebookClient(
        notebook,
        kernel_name="python3",
        # Searched nowhere, python3 is this Python; a kernel spec of that name elsewhere on this
        # machine may be one without protonlab.
        config=Config({"KernelSpecManager": {"kernel_dirs": []}}),
        # A person's IPython history is not the place for what a report ran.
        extra_arguments=["--log-level=ERROR", "--HistoryManager.enabled=False"],
        timeout=timeout,
        allow_errors=allow_errors,
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(folder.resolve())}},
        on_cell_start=on_start,
    )
    # What the process itself writes is its log, also of its own shutdown: no output of a cell.
    with tempfile.TemporaryFile() as log:
        run = _Run(client, log)
        run.start()
        run.wait()
        if run.error is None:
            return None
        where = "a cell" if last is None else f"cell [{_number(notebook, last)}]"
        problem = _problem(run.error, where, timeout, log)
    if last is not None:
        _show(run.error, problem, notebook.cells[last])
    return problem


class _Run(threading.Thread):
    """An event loop of its own, so that Ctrl-C stays with the caller, who may have a loop too."""

    def __init__(self, client: NotebookClient, log: IO[bytes]) -> None:
        super().__init__(name="protonlab report", daemon=True)
        self.error: BaseException | None = None
        self._client, self._log = client, log
        # Joining a thread once more after an interrupt returns at once (CPython 3.11): an event
        # says when it ended.
        self._started, self._ended = threading.Event(), threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._execute())
        except BaseException as error:
            self.error = error
        finally:
            self._started.set()
            self._ended.set()

    def wait(self) -> None:
        """Wait for the end; an interrupt stops the kernel first and is raised then."""
        try:
            self._ended.wait()
        except BaseException:
            self._started.wait(10)
            if self._loop is not None and self._task is not None:
                with suppress(RuntimeError):  # it ended just now
                    self._loop.call_soon_threadsafe(self._task.cancel)
            self._ended.wait(30)
            raise

    async def _execute(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._started.set()
        try:
            await self._client.async_execute(stderr=self._log)
        finally:
            manager = self._client.km  # nbclient takes it away unless it was stopped on its start
            if manager is not None and manager.has_kernel:
                await ensure_async(manager.shutdown_kernel(now=True))


def failure_of(notebook: NotebookNode) -> str | None:
    """Name the first error among the stored outputs that its cell does not announce by a tag."""
    for cell in notebook.cells:
        if cell.cell_type != "code" or "raises-exception" in cell.metadata.get("tags", []):
            continue
        for output in cell.outputs:
            if output.output_type == "error":
                where = f"cell [{cell.execution_count}]" if cell.execution_count else "a cell"
                return _raised(where, output.ename, output.evalue)
    return None


def _number(notebook: NotebookNode, index: int) -> int:
    """Count up to a cell as Jupyter does in a run from the top; its own count may be missing."""
    return sum(
        cell.cell_type == "code"
        and bool(cell.source.strip())
        and "skip-execution" not in cell.metadata.get("tags", [])
        for cell in notebook.cells[: index + 1]
    )


def _raised(where: str, name: str, value: str) -> str:
    return f"{where} raised {name}: {value}".split("\n")[0].rstrip(": ")


def _problem(error: BaseException, where: str, timeout: float, log: IO[bytes]) -> str:
    if isinstance(error, CellExecutionError):
        return _raised(where, error.ename, error.evalue)
    if isinstance(error, CellTimeoutError):
        return f"{where} did not finish within {timeout:g} s; give it a larger timeout"
    if isinstance(error, DeadKernelError | RuntimeError):
        log.seek(0)
        lines = log.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        died = f"the kernel died in {where}"
        return f"{died}; the last it wrote: {last}" if last else died
    raise error


def _show(error: BaseException, problem: str, cell: NotebookNode) -> None:
    """Let the cell say what ended it, if it was no exception of its own."""
    if all(output.output_type != "error" for output in cell.outputs):
        name = type(error).__name__
        output = new_output("error", ename=name, evalue=problem)  # type: ignore[no-untyped-call]
        cell.outputs.append(output)
