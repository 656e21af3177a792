"""Reports: run a notebook if asked to, and write it as one HTML page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from traitlets.config import Config

from protonlab.errors import ProtonLabError
from protonlab.page import render

__all__ = ["check_target", "export_report", "read_notebook", "run_notebook", "write_page"]


def export_report(
    notebook: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    execute: bool = False,
    timeout: float = 600,
    title: str | None = None,
) -> Path:
    """Write a notebook as one HTML page that opens offline, with its figures alive.

    Parameters
    ----------
    notebook
        Path of the ``.ipynb`` file; it is not changed.
    output
        Path of the page; by default beside the notebook, with the suffix ``.html``. An older page
        is replaced only when the new one is complete.
    execute
        Run the notebook first. False: show the outputs that it is stored with.
    timeout
        Longest time for one cell when it is run, in seconds.
    title
        Title of the page; the notebook's first heading when it is not given.

    Returns
    -------
    pathlib.Path
        Path of the page.

    Raises
    ------
    ProtonLabError
        If the notebook cannot be read, a cell fails (the page is written all the same and shows
        the failure), or the page cannot be written.

    Examples
    --------
    >>> protonlab.export_report("sweep.ipynb", execute=True)  # doctest: +SKIP
    """
    source = Path(notebook)
    target = Path(output) if output is not None else source.with_suffix(".html")
    if target.resolve() == source.resolve():
        raise ProtonLabError(f"{target} is the notebook itself; name another output")
    check_target(target)
    node = read_notebook(source)
    problem = run_notebook(node, folder=source.parent, timeout=timeout) if execute else None
    write_page(node, target, title=title)
    if problem:
        raise ProtonLabError(f"{source}: {problem}; the page shows it: {target}")
    return target


def check_target(target: Path) -> None:
    """Find out before a long run, not after it, that the page has nowhere to go."""
    if not target.parent.is_dir():
        raise ProtonLabError(f"cannot write the page {target}: no folder {target.parent}")


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook of any nbformat version as version 4."""
    try:
        text = path.read_text(encoding="utf-8")
        node: NotebookNode = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
        nbformat.validate(node)
    except OSError as error:
        raise ProtonLabError(f"cannot read the notebook {path}: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, KeyError, nbformat.ValidationError) as error:
        raise ProtonLabError(
            f"{path} is not a notebook that Jupyter would open: {str(error).splitlines()[0]}"
        ) from error
    return node


def run_notebook(
    notebook: NotebookNode,
    *,
    folder: Path,
    timeout: float = 600,
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
    on_cell
        Called with the index of each cell that starts.

    Returns
    -------
    str or None
        What went wrong, in one sentence; the cells up to there have their outputs.
    """
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        # Searched nowhere, python3 is this Python; a kernel spec of that name elsewhere on this
        # machine may be one without protonlab.
        config=Config({"KernelSpecManager": {"kernel_dirs": []}}),
        extra_arguments=["--log-level=ERROR"],
        timeout=timeout,
        resources={"metadata": {"path": str(folder.resolve())}},
        on_cell_start=lambda cell, cell_index: on_cell(cell_index) if on_cell else None,
    )
    # What the process itself writes is its log, also of its own shutdown: no output of a cell.
    with tempfile.TemporaryFile() as log:
        return _problem_of(client, timeout, log)


def _problem_of(client: NotebookClient, timeout: float, log: IO[bytes]) -> str | None:
    try:
        client.execute(stderr=log)
    except CellExecutionError as error:
        return f"a cell raised {error.ename}: {error.evalue}".splitlines()[0].rstrip(": ")
    except CellTimeoutError:
        return f"a cell did not finish within {timeout:g} s"
    except DeadKernelError:
        log.seek(0)
        lines = log.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"the kernel died; the last it wrote: {last}" if last else "the kernel died"
    return None


def write_page(notebook: NotebookNode, target: Path, *, title: str | None = None) -> None:
    """Write the page, whole or not at all."""
    page = render(notebook, title=title)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(target)
    except OSError as error:
        raise ProtonLabError(f"cannot write the page {target}: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
