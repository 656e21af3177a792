"""`export_report`: run a notebook if asked to, and write it as one HTML page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from protonlab.errors import ProtonLabError
from protonlab.report._notebook import check_language, read_notebook, unexecuted
from protonlab.report._options import ReportOptions
from protonlab.report._parameters import inject
from protonlab.report._run import failure_of, run_notebook
from protonlab.report._target import check_target
from protonlab.report._writing import write_page

__all__ = ["ReportOptions", "export_report"]


def export_report(
    notebook: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    execute: bool = False,
    parameters: Mapping[str, Any] | None = None,
    timeout: float = 600,
    title: str | None = None,
    options: ReportOptions | None = None,
) -> Path:
    """Write a notebook as one HTML page that opens offline, with its figures alive.

    The page holds the profiles behind its figures: `protonlab.load` reads them back.

    Parameters
    ----------
    notebook
        Path of the ``.ipynb`` file; it is not changed.
    output
        Path of the page; by default beside the notebook, with the suffix ``.html``. An older page
        is replaced only when the new one is complete.
    execute
        Run the notebook first, in its own folder. False: show the outputs that it is stored with.
    parameters
        Name -> value; the notebook is run with them. They go behind the cell tagged
        ``parameters``, as papermill does it.
    timeout
        Longest time for one cell when it is run, in seconds.
    title
        Title of the page; the notebook's first heading when it is not given.
    options
        What the page shows and holds.

    Returns
    -------
    pathlib.Path
        Path of the page.

    Raises
    ------
    ProtonLabError
        If the notebook cannot be read, a parameter is not among the notebook's, a cell fails (the
        page is written all the same and shows the failure), or the page cannot be written.

    Examples
    --------
    >>> protonlab.export_report("sweep.ipynb", execute=True)  # doctest: +SKIP
    >>> protonlab.load("sweep.html")["run1"]  # doctest: +SKIP
    <Profile 'run1': 2 kernels, 12 launches, NVIDIA H200>
    """
    target, problem, _ = export(
        Path(notebook),
        Path(output) if output is not None else None,
        parameters=parameters or {},
        timeout=timeout if execute or parameters else None,
        title=title,
        options=options or ReportOptions(),
    )
    if problem:
        raise ProtonLabError(f"{notebook}: {problem}; the page shows it: {target}")
    return target


def export(
    notebook: Path,
    output: Path | None,
    *,
    parameters: Mapping[str, Any],
    timeout: float | None,
    title: str | None,
    options: ReportOptions,
    on_cell: Callable[[int, int], None] | None = None,
) -> tuple[Path, str | None, str | None]:
    """Export with everything told: a time-out of None runs nothing.

    Returns
    -------
    tuple
        The page, what went wrong in the notebook, and what else its reader should know.
    """
    target = output if output is not None else notebook.with_suffix(".html")
    if target.resolve() == notebook.resolve():
        raise ProtonLabError(f"{target} is the notebook itself; name another output")
    check_target(target)
    node = read_notebook(notebook)
    if timeout is None:
        note = unexecuted(node)
        problem = None if options.allow_errors else failure_of(node)
    else:
        if not timeout > 0:
            raise ProtonLabError(f"timeout={timeout:g}; give seconds, more than 0")
        check_language(node, notebook)
        note = inject(node, parameters)
        cells = len(node.cells)
        problem = run_notebook(
            node,
            folder=notebook.parent,
            timeout=timeout,
            allow_errors=options.allow_errors,
            on_cell=(lambda index: on_cell(index + 1, cells)) if on_cell else None,
        )
    write_page(node, target, folder=notebook.parent, title=title, options=options)
    return target, problem, note
