"""A folder of tests with gates, and a pytest that runs them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from protonlab.pytest_plugin import FOLDER

ONE = """
    from variant_kernels import SHORT_S, scale

    def test_speed(protonlab_gate):
        variants = {"reference": scale, "ours": scale}
        assert len(protonlab_gate(variants, budget_s=max(0.6, SHORT_S), metric="time/us")) >= 2
"""


@dataclass(frozen=True)
class Gated:
    """A folder whose tests have gates."""

    folder: Path
    patch: pytest.MonkeyPatch
    captured: pytest.CaptureFixture[str]

    def write(self, name: str, source: str) -> None:
        (self.folder / name).write_text(textwrap.dedent(source))

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run pytest on all of it; its exit code and what it said."""
        for file in self.folder.glob("*.py"):
            self.patch.delitem(sys.modules, file.stem, raising=False)
        code = pytest.main(self._arguments(*arguments))
        said = self.captured.readouterr()
        return int(code), said.out + said.err

    def run_apart(self, *arguments: str) -> tuple[int, str]:
        """Do the same in a process of its own, whose workers find the same modules."""
        found = subprocess.run(
            [sys.executable, "-m", "pytest", *self._arguments(*arguments)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return found.returncode, found.stdout + found.stderr

    def _arguments(self, *arguments: str) -> list[str]:
        own = ["-q", "-c", "/dev/null", "--rootdir", str(self.folder)]
        own += ["-p", "protonlab.pytest_plugin", "-p", "no:cacheprovider"]
        off = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        return [*own, *off, *arguments, str(self.folder)]

    @property
    def baselines(self) -> list[str]:
        return sorted(path.name for path in (self.folder / FOLDER).iterdir())


@pytest.fixture
def gated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Gated:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    folder = tmp_path / "gated"
    folder.mkdir()
    return Gated(folder, monkeypatch, capsys)
