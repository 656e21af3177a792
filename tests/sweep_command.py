"""The command that sweeps, in a folder, and three cases that are small enough to be interpreted."""

from __future__ import annotations

import contextlib
from pathlib import Path

from click.testing import CliRunner, Result

from protonlab.cli import main
from protonlab.epilogue import epilogue_cases

CASES = epilogue_cases((1, 2, 4), ks=(128,), kernels=("ours",), experts=2, n=128)
_ASKED = ("--tokens=1", "--tokens=2", "--tokens=4", "--k=128", "--n=128", "--experts=2")


def sweep(folder: Path, *arguments: str) -> Result:
    with contextlib.chdir(folder):
        return CliRunner(catch_exceptions=False).invoke(main, ["sweep", *arguments])


def sweep_of_three(folder: Path, *arguments: str) -> Result:
    """Sweep over `CASES` into ``s.json``."""
    return sweep(folder, "s.json", *_ASKED, *arguments)
