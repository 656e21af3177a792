"""Tab in real shells, set up by the line that ``protonlab --help`` names."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner

from protonlab.cli import main

BARE = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}
FIRST = {"zsh": "autoload -U compinit && compinit -D -u; "}  # which a user's .zshrc has
COMPLETED = {
    "rep": "report",
    "report --exe": "report --execute",
    "view --order wid": "view --order widest",
    "view run": "view run 1.hatchet",
    "report note": "report notebooks",
    "diff run": "diff run 1.hatchet",
    "report x.ipynb -o p": "report x.ipynb -o page.html",
}


@pytest.fixture(params=BARE)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[pexpect.spawn]:
    name = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    (tmp_path / "notebooks").mkdir()
    for file in ("run 1.hatchet", "page.html"):
        (tmp_path / file).touch()
    text = CliRunner().invoke(main, ["--help"]).stdout
    line = re.search(r'eval "\$\(_PROTONLAB_COMPLETE=bash_source protonlab\)"', text)
    assert line is not None
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    child = pexpect.spawn(
        name,
        [*BARE[name], "-i"],
        cwd=tmp_path,
        env=os.environ | {"PATH": path, "TERM": "dumb", "HOME": str(tmp_path)},
        encoding="utf-8",
        dimensions=(50, 120),
        timeout=120,
    )
    child.sendline(FIRST.get(name, "") + line[0].replace("bash_source", f"{name}_source"))
    yield child
    child.close(force=True)


def test_tab_completes_commands_options_words_and_files(shell: pexpect.spawn) -> None:
    for typed, completed in COMPLETED.items():
        shell.send(f"protonlab {typed}\t")
        shell.send("\x01echo got: \r")  # at the start of the line, so that it prints what it became
        shell.expect(r"(?<!echo )got: protonlab ([^\r\n]*?)[ /]*\r")
        assert shell.match[1] == completed
