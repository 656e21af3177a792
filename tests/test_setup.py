"""The files that set the project up agree with each other and say what to do next."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

# Where conda-forge's name differs from PyPI's.
CONDA_NAMES = {
    "msgpack": "msgpack-python",
    "kaleido": "python-kaleido",
    "playwright": "playwright-python",
    "torch": "pytorch",
}


@pytest.fixture(scope="module")
def pyproject(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "pyproject.toml").read_text())


def requirements(pyproject: dict[str, Any], *extras: str) -> dict[str, str]:
    """Name -> version range; of extras that stand within extras, too."""
    project = pyproject["project"]
    found = {(r := Requirement(line)).name: str(r.specifier) for line in project["dependencies"]}
    for extra in extras:
        for r in map(Requirement, project["optional-dependencies"][extra]):
            found |= requirements(pyproject, *r.extras) if r.extras else {r.name: str(r.specifier)}
    return found


def test_environment_yml_lists_what_pyproject_lists(
    project: Path, pyproject: dict[str, Any]
) -> None:
    environment = yaml.safe_load((project / "environment.yml").read_text())
    assert environment["channels"] == ["conda-forge"]
    conda = {r.name: r.specifier for r in map(Requirement, environment["dependencies"])}
    wanted = requirements(pyproject, "test", "docs")
    expected = {CONDA_NAMES.get(name, name): Requirement(f"x{s}") for name, s in wanted.items()}
    expected["python"] = Requirement(f"x{pyproject['project']['requires-python']}")
    expected["pip"] = Requirement("x")
    assert conda == {name: r.specifier for name, r in expected.items()}


def test_constraints_pin_torch_and_leave_triton_to_it(project: Path) -> None:
    lines = (project / "constraints.txt").read_text().splitlines()
    pins = {r.name: r for line in lines if not line.startswith("#") for r in [Requirement(line)]}
    assert re.fullmatch(r"==\d+\.\d+\.\d+", str(pins["torch"].specifier))
    assert "triton" not in pins


def test_oldest_environment_is_the_lower_bound_of_each_range(
    project: Path, pyproject: dict[str, Any]
) -> None:
    ranges = requirements(pyproject)
    lines = (project / ".ci" / "oldest.txt").read_text().splitlines()
    for pin in (Requirement(line) for line in lines if not line.startswith("#")):
        lowest = str(pin.specifier).removeprefix("==").removesuffix(".*")
        assert f">={lowest}" in ranges[pin.name].split(","), pin


def test_every_dependency_is_imported_somewhere(project: Path, pyproject: dict[str, Any]) -> None:
    imported_as = {
        "ipython": "IPython",
        "markdown-it-py": "markdown_it",
        "nvidia-ml-py": "pynvml",
    }
    source = "\n".join(path.read_text() for path in (project / "protonlab").rglob("*.py"))
    needed_without_import = {
        "ipykernel",  # the kernel that notebooks run in
        "ipywidgets",  # the front end's half of anywidget
        "torch",  # the tensors of the people who use this
    }
    for name in set(requirements(pyproject)) - needed_without_import:
        module = imported_as.get(name, name)
        assert re.search(rf"^\s*(?:import|from) {module}\b", source, re.MULTILINE), name


def test_ci_runs_the_command_that_readme_gives(project: Path) -> None:
    commands = re.findall(r"^    (make \w+)$", (project / "README.md").read_text(), re.MULTILINE)
    assert commands == ["make demo", "make test"]
    assert "make test" in (project / ".ci" / "run").read_text().splitlines()


def test_ci_runs_each_folder_of_tests_on_the_oldest_releases(project: Path) -> None:
    script = (project / ".ci" / "run").read_text()
    folders = {path.parent.name for path in (project / "tests").glob("*/test_*.py")}
    named = {*re.findall(r"\btests/(\w+)(?= |$)", script, re.MULTILINE)}
    assert named == folders - {"browser"}
    nodes = re.findall(r"\btests/(\w+\.py)(?:::(\w+))?", script)
    assert nodes
    for file, test in nodes:
        assert f"def {test}" in (project / "tests" / file).read_text()


def test_changelog_has_the_current_work(project: Path, pyproject: dict[str, Any]) -> None:
    headings = re.findall(r"^## \[(.+?)\]", (project / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings
    assert headings[0] in ("Unreleased", pyproject["project"]["version"])


def make(
    project: Path, folder: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run make with the project's Makefile in an empty folder."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(project / name, folder)
    # These tests may themselves run below `make test`, which leaves its flags to those below.
    inherited = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=inherited | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", ["demo", "test"])
def test_make_says_what_to_install_when_venv_is_absent(
    project: Path, tmp_path: Path, target: str
) -> None:
    # Debian's python3 without python3-venv: the import of ensurepip fails.
    (tmp_path / "ensurepip.py").write_text("raise ModuleNotFoundError('ensurepip')")
    result = make(project, tmp_path, target, f"PYTHON={sys.executable}", PYTHONPATH=str(tmp_path))
    assert result.returncode != 0
    assert "apt install python3-venv" in result.stderr
    assert not (tmp_path / ".venv").exists()


def test_make_says_what_to_do_without_python(project: Path, tmp_path: Path) -> None:
    result = make(project, tmp_path, "demo", "PYTHON=python3-that-is-not-here")
    assert result.returncode != 0
    assert "there is no python3-that-is-not-here here" in result.stderr
    assert "apt install python3 python3-venv" in result.stderr


def test_make_refreshes_the_environment_when_a_list_is_newer(project: Path, tmp_path: Path) -> None:
    def plan() -> str:
        return make(project, tmp_path, "--dry-run", "test").stdout

    assert "-m venv" in plan()
    venv = tmp_path / ".venv"
    venv.mkdir()
    for stamp in (".created", ".installed-test"):
        (venv / stamp).touch()
    assert "pip" in plan()  # make() copied the lists again, just now
    os.utime(venv / ".installed-test", (4e9, 4e9))
    flags = "--numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder"
    assert plan() == f".venv/bin/python -m pytest {flags}\n"
