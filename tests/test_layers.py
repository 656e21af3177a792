"""Imports go down only: the table of who stands on whom, checked on the syntax trees."""

from __future__ import annotations

import ast
import graphlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "protonlab"


@dataclass(frozen=True)
class Room:
    """What the files of one room may import: other rooms, and packages from outside."""

    rooms: str = ""
    outside: str = ""


# The house. A room is a folder or a single file of protonlab; each may also import itself and the
# standard library.
ROOMS = {
    "errors": Room(),
    "model": Room("errors", "cxxfilt numpy pandas pyarrow scipy"),
    "formats": Room("errors model", "ijson msgpack msgspec numpy pandas"),
    "recorded": Room("errors model formats"),
    "front_end": Room(),
    "capture": Room("errors model formats front_end", "numpy pynvml torch triton"),
    "views": Room("errors model formats front_end", "anywidget numpy pandas plotly rich traitlets"),
    "kernels": Room("errors", "numpy torch triton"),
    "experiment": Room("errors model formats capture", "numpy pandas scipy torch"),
    "runs": Room(
        "errors model formats capture",
        "dask distributed fsspec ipyparallel msgspec numpy pandas pyarrow ruptures torch",
    ),
    "startup": Room("runs"),
    "epilogue": Room("errors model formats kernels experiment", "torch"),
    "widget": Room(
        "errors model recorded front_end views experiment epilogue", "anywidget traitlets"
    ),
    "display": Room("errors model front_end views", "IPython pandas"),
    "option_line": Room("errors model capture", "IPython"),
    "option_help": Room("capture"),
    "statement": Room("", "IPython"),
    "cell_transformer": Room("capture option_line", "IPython"),
    "repetition": Room("capture", "IPython"),
    "watch": Room("errors model front_end capture display views", "IPython"),
    "ranks": Room("errors model front_end capture runs display option_line watch", "IPython"),
    "cell_recording": Room("errors model capture display option_line repetition watch"),
    "magic": Room(
        "model capture option_help option_line cell_transformer cell_recording ranks statement",
        "IPython",
    ),
    "page": Room(
        "errors model formats views", "jinja2 markdown_it markupsafe nbformat nh3 pygments"
    ),
    "report": Room("errors model formats page", "IPython nbclient nbformat traitlets"),
    "demo": Room("errors model formats report", "nbformat"),
    "pytest_plugin": Room("errors model experiment", "pytest"),
    "__main__": Room("cli"),
    "cli": Room(
        "errors model formats capture experiment views display report demo epilogue runs",
        "click rich",
    ),
}

# Triton's changes from version to version end in these files.
TRITON_ONLY_IN = {
    "capture/_proton.py",
    "capture/_interpreter.py",
    "capture/_tuning.py",
    "capture/_roof_kernels.py",
    "capture/launched.py",
}
WRITTEN_IN_TRITON = {"kernels"}

# Runs are read where nothing can be recorded: only what a rank runs stands on capture.
RANKS_RECORD_IN = re.compile(r"runs/_(rank|recording)\w*\.py")

FILES = sorted(PACKAGE.rglob("*.py"))
# The package's own __init__ resolves names of every room on first use.
FILES_IN_ROOMS = [path for path in FILES if path != PACKAGE / "__init__.py"]


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@dataclass(frozen=True)
class Import:
    """One imported module, with its full name."""

    module: str

    @property
    def root(self) -> str:
        return self.module.partition(".")[0]


def is_module(dotted: str) -> bool:
    """Whether this names a file or folder of ours; `from protonlab import views` imports one."""
    path = PACKAGE.parent / dotted.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def imports_of(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: write absolute imports"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield Import(inner if is_module(inner) else node.module)


def test_every_room_is_in_the_table() -> None:
    assert {room_of(path) for path in FILES_IN_ROOMS} <= set(ROOMS)


def test_architecture_page_describes_every_room() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    described = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", page, re.MULTILINE)
    assert set(described) == set(ROOMS)


def test_table_has_no_cycle() -> None:
    graph = {name: room.rooms.split() for name, room in ROOMS.items()}
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert set(order) == set(ROOMS)


@pytest.mark.parametrize("path", FILES_IN_ROOMS, ids=name_of)
def test_imports_go_down_only(path: Path) -> None:
    room = room_of(path)
    allowed = {room, *ROOMS[room].rooms.split()}
    for found in imports_of(path):
        if found.module == "protonlab":
            assert room == "cli", (
                f"{name_of(path)} imports protonlab itself, which needs every room"
            )
        elif found.root == "protonlab":
            assert found.module.split(".")[1] in allowed, (
                f"{name_of(path)} imports {found.module}; {room} may import {sorted(allowed)}"
            )


@pytest.mark.parametrize(
    "path", [path for path in FILES_IN_ROOMS if room_of(path) == "runs"], ids=name_of
)
def test_runs_are_read_without_capture(path: Path) -> None:
    if not RANKS_RECORD_IN.fullmatch(name_of(path)):
        assert not [
            each for each in imports_of(path) if each.module.startswith("protonlab.capture")
        ]


@pytest.mark.parametrize("path", FILES_IN_ROOMS, ids=name_of)
def test_outside_packages_are_those_of_the_room(path: Path) -> None:
    allowed = ROOMS[room_of(path)].outside.split()
    for found in imports_of(path):
        if found.root in sys.stdlib_module_names or found.root == "protonlab":
            continue
        assert found.root in allowed, (
            f"{name_of(path)} imports {found.module}; its room may import {allowed}"
        )
        if found.root == "triton" and room_of(path) not in WRITTEN_IN_TRITON:
            assert name_of(path) in TRITON_ONLY_IN, (
                f"{name_of(path)} imports {found.module}; only {sorted(TRITON_ONLY_IN)} may"
            )


def test_modules_form_no_cycle() -> None:
    """Also within a room, where the table says nothing; late imports and those for types count."""
    modules = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in FILES_IN_ROOMS
    }
    graph = {
        module: {found.module for found in imports_of(path) if found.module in modules} - {module}
        for module, path in modules.items()
    }
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_file_has_one_noun_and_at_most_300_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300
    assert path.stem.strip("_") not in {"utils", "util", "helpers", "core", "common"}
    assert len(path.relative_to(PACKAGE).parts) <= 2


@pytest.mark.parametrize("path", [p for p in FILES if p.name == "__init__.py"], ids=name_of)
def test_no_file_has_the_name_of_an_export(path: Path) -> None:
    """Such a file would replace the function of that name once something imports it."""
    exported: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            exported = set(ast.literal_eval(node.value))
    exported.discard("recorded")  # exported as the package that it is
    assert exported.isdisjoint(file.stem for file in path.parent.glob("*.py"))
    assert exported.isdisjoint(file.name for file in path.parent.iterdir() if file.is_dir())
