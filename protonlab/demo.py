"""The gallery: its first notebook run for real, and all of them copied to a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from nbformat.v4 import new_code_cell

from protonlab.errors import ProtonLabError
from protonlab.formats import read_profile
from protonlab.model import Profile
from protonlab.report import check_target, read_notebook, run_notebook, write_page

_FIRST_NOTEBOOK = "01_first_profile.ipynb"


def run_demo(output: Path, on_cell: Callable[[int, int], None]) -> Profile:
    """Run the first notebook, on the GPU or on the interpreter, and write it as one page.

    Parameters
    ----------
    output
        Path of the page.
    on_cell
        Called with the number of each cell that starts, from 1, and the number of cells.

    Returns
    -------
    Profile
        The notebook's ``run1``.

    Raises
    ------
    ProtonLabError
        If a cell fails (the page shows the failure) or the page cannot be written.
    """
    check_target(output)
    notebook = _gallery() / _FIRST_NOTEBOOK
    node = read_notebook(notebook)
    shown = len(node.cells)
    with tempfile.TemporaryDirectory(prefix="protonlab-") as folder:
        saved = Path(folder, "run1.hatchet")
        # The kernel is gone after the run; this cell, which the page never shows, brings run1 here.
        save = f"run1.save({str(saved)!r})"
        node.cells.append(new_code_cell(save))  # type: ignore[no-untyped-call]
        problem = run_notebook(
            node,
            folder=notebook.parent,
            on_cell=lambda index: on_cell(min(index + 1, shown), shown),
        )
        node.cells.pop()
        write_page(node, output, folder=notebook.parent)
        if problem:
            raise ProtonLabError(f"{notebook}: {problem}; the page shows it: {output}")
        return read_profile(saved.read_bytes())


def _gallery() -> Path:
    """Find the notebooks: in a wheel inside the package, in a checkout beside it."""
    package = Path(__file__).parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / _FIRST_NOTEBOOK).is_file():
            return folder
    raise ProtonLabError(
        f"{_FIRST_NOTEBOOK} is neither in {package / 'notebooks'} nor beside the package; "
        "install protonlab again"
    )


def copy_gallery(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Copy the notebooks into a folder, which is made if it is missing.

    Yields
    ------
    tuple
        Path of a notebook, and whether it is new: one that exists already stays as it is.

    Raises
    ------
    ProtonLabError
        If a notebook cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(_gallery().glob("[0-9]*.ipynb")):
            target = folder / source.name
            try:
                with target.open("xb") as file:
                    file.write(source.read_bytes())
            except FileExistsError:
                yield target, False
            except OSError:
                target.unlink(missing_ok=True)  # the part of it that is ours
                raise
            else:
                yield target, True
    except OSError as error:
        raise ProtonLabError(
            f"cannot copy to {error.filename or folder}: {error.strerror}"
        ) from error
