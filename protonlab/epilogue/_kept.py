"""The file of a sweep: written behind each case, so that a later sweep can go on from there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from protonlab.errors import ProfileFormatError, ProtonLabError
from protonlab.experiment._machine import machine_here
from protonlab.formats import load
from protonlab.model.epilogue_sweep import EpilogueCase, EpilogueSweep
from protonlab.model.sweep_document import check_name
from protonlab.model.units import counted

_ANEW = "to measure anew, delete it or give another name"


def kept_sweep(
    path: Path, cases: Sequence[EpilogueCase], settings: Mapping[str, Any]
) -> EpilogueSweep | None:
    """Read the sweep that is to go on; None where there is no file yet.

    Parameters
    ----------
    path
        Where the sweep is kept.
    cases
        What is asked for.
    settings
        What has to be the same for numbers of one sweep.

    Raises
    ------
    ProtonLabError
        If what lies there is no sweep, holds all cases already, or was measured in another way or
        on another machine.
    """
    if not path.is_file():
        return None
    try:
        earlier = load(path)
    except ProfileFormatError as error:
        raise ProtonLabError(f"{error}; it was left as it is: give another name") from None
    if not isinstance(earlier, EpilogueSweep):
        raise ProtonLabError(f"{path} holds no sweep; it was left as it is: give another name")
    if all(case in earlier.comparisons for case in cases):
        raise ProtonLabError(f"{path} holds all of {counted(len(cases), 'case')}; {_ANEW}")
    if not earlier.comparisons:
        return earlier
    before = {**earlier.protocol, "gpu": earlier.info.gpu, **earlier.info.versions}
    for name, value in {**settings, **machine_here()}.items():
        if before.get(name) != value:
            raise ProtonLabError(
                f"{path} was measured with {name} {before.get(name)!r}, and this would be "
                f"{value!r}: numbers of one sweep have to be measured alike; {_ANEW}"
            )
    return earlier


def check_place(path: Path) -> None:
    """Check that a sweep can be written, before anything is measured.

    Raises
    ------
    ProtonLabError
        If it cannot: the name says no format, or the folder is not there or not the user's.
    """
    check_name(path)
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ProtonLabError(f"cannot write {path}: no folder {path.parent}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ProtonLabError(f"cannot write {path}: the folder is not yours to write to")
