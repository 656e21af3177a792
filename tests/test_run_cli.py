"""`view` and `diff` on the folders of runs, and how a run shows itself."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
from click.testing import CliRunner, Result
from rank_builders import profiled_run, traced_run
from rich.console import Console

import protonlab
from protonlab import Run
from protonlab.cli import main
from protonlab.cli._terminal import fitted
from protonlab.display import run_views
from protonlab.model.manifest import RankManifest, manifest_name
from protonlab.views import run_tree

PROFILES = Path(__file__).parent / "profiles"


def command(*arguments: str | Path) -> Result:
    return CliRunner(catch_exceptions=False).invoke(main, list(map(str, arguments)))


def write(run: Run, folder: Path, *, without: int | None = None) -> Path:
    """Leave what `protonlab run` would have, but for the profile of one rank."""
    folder.mkdir()
    for rank in run.ranks:
        suffix = ".hatchet" if rank in run.profiles else ".chrome_trace"
        file = manifest_name(rank).replace(".json", suffix)
        state = "recording" if rank == without else "complete"
        if state == "complete":
            (run.profiles.get(rank) or run.traces[rank]).save(folder / file)
        manifest = RankManifest(
            rank,
            len(run.ranks),
            state,  # type: ignore[arg-type]
            "2026-11-30T07:30:00+00:00",
            files=(file,) if state == "complete" else (),
        )
        (folder / manifest_name(rank)).write_text(json.dumps(manifest.to_dict()))
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("runs")
    return (
        write(profiled_run(4, slow={2: 1.2}), place / "monday"),
        write(profiled_run(4, slow={2: 1.2, 3: 1.1}, seed=1), place / "tuesday", without=1),
    )


def test_view_prints_the_ranks_trees_as_one(folders: tuple[Path, Path]) -> None:
    lines = command("view", folders[0]).output.splitlines()
    assert lines[0] == "monday · time · 4 ranks"
    assert lines[1].split() == [
        *("median", "(µs)", "lowest", "(µs)", "highest", "(µs)", "spread", "(%)"),
        *("lowest", "on", "highest", "on", "name"),
    ]
    matmul = next(line for line in lines if line.endswith("matmul"))
    assert "rank 2" in matmul
    verdict = next(line for line in lines if "waited for" in line)
    assert verdict.startswith("Rank 2 is probably waited for: rank 2 computes 1.")


def test_view_names_missing_ranks(folders: tuple[Path, Path]) -> None:
    output = command("view", folders[1], "--depth", "1", "-m", "avg_time/us").output
    assert "tuesday · avg_time/us · 3 of 4 ranks" in output
    assert "Rank 1 began to record at 2026-11-30T07:30:00+00:00 and did not end" in output
    assert len(re.findall(r"[Rr]anks? 1|missing", output)) == 1  # told of once
    assert "4 frames below depth 1" in output or "frames below depth 1" in output


def test_a_page_replaces_no_file_of_the_run(folders: tuple[Path, Path]) -> None:
    file = folders[0] / "rank-00000.hatchet"
    held = file.read_bytes()
    for arguments in (("view", folders[0]), ("diff", *folders), ("diff", folders[1], folders[0])):
        result = command(*arguments, "-o", file)
        assert result.exit_code == 1
        assert f"{file} is a file of the run to view; name another page with -o" in result.output
    assert file.read_bytes() == held
    page = folders[0] / "page.html"
    for _ in range(2):
        assert command("view", folders[0], "-o", page).exit_code == 0
    page.unlink()


def test_options_of_a_tree_are_refused_for_traces(tmp_path: Path) -> None:
    folder = write(traced_run(2), tmp_path / "traced")
    for option in (("-m", "time"), ("-i", "x"), ("-e", "x"), ("-d", "1"), ("--order", "widest")):
        result = command("view", folder, *option)
        assert result.exit_code == 2
        assert re.search(r"Error: --\w+: .* holds traces, which have no tree", result.output)


def test_run_says_why_its_filter_let_nothing_through_and_that_nothing_ran(tmp_path: Path) -> None:
    whole = profiled_run(2)
    filtered = {
        rank: replace(
            profile, info=replace(profile.info, include="atmul", launches={"matmul": (5, 0)})
        ).with_hook({}, set(), {"matmul"})
        for rank, profile in whole.profiles.items()
    }
    folder = write(replace(whole, profiles=filtered), tmp_path / "filtered")
    why = "No kernel passed include=atmul. Patterns are anchored at the start of the compiled name "
    assert protonlab.load_run(folder).notes[0].startswith(why)
    assert command("view", folder).output.count(why) == 1
    assert why in command("view", folder / "rank-00000.hatchet").output
    empty = {
        rank: protonlab.load(PROFILES / "tree_scopes_3.9.0.hatchet").filter(include="none")
        for rank in whole.profiles
    }
    assert "No kernel was launched." in replace(whole, profiles=empty).notes


def test_diff_compares_runs_rank_by_rank(folders: tuple[Path, Path]) -> None:
    output = command("diff", *folders).output
    assert output.startswith("mean of 3 ranks: time")
    assert "3 paired ranks" in output
    assert "\nNot compared: rank 1, of which only the run before has a profile.\n" in output
    output = command("diff", folders[1], folders[1]).output
    assert "\nRank 1 of 4 left no profile in the run after.\n" in output


def test_diff_of_runs_has_no_profile_to_choose(folders: tuple[Path, Path]) -> None:
    result = command("diff", *folders, "--name-b", "x")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "--name-b x: runs are compared, no reports" in result.stderr


@pytest.mark.parametrize(
    ("width", "columns", "left_out"),
    [
        (120, 6, ""),
        (80, 4, "lowest (µs), lowest on"),
        (60, 3, "lowest (µs), highest (µs), lowest on"),
        (10, 1, "lowest (µs), highest (µs), spread (%), lowest on, highest on"),
    ],
)
def test_narrow_terminals_leave_out_columns_rather_than_names(
    folders: tuple[Path, Path], width: int, columns: int, left_out: str
) -> None:
    tree = fitted(run_tree(protonlab.load_run(folders[0])), width)
    assert len(tree.columns) == len(tree.styles) == columns
    note = f"Left out, since the terminal has {width} columns: {left_out}."
    assert tree.notes == ((note,) if left_out else ())
    page = io.StringIO()
    Console(file=page, width=width).print(tree)
    assert "forward" in page.getvalue() or width == 10


def test_pages_of_runs_are_written(folders: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    assert command("view", folders[0], "-o", page).exit_code == 0
    text = page.read_text()
    assert "is probably waited for" in text
    for view in ("flame", "heatmap", "bars"):
        assert re.search(rf'"view": ?"{view}"', text)
    held = protonlab.load(page)
    assert isinstance(held, dict)
    assert list(held) == [f"monday, rank {rank}" for rank in range(4)]
    assert command("view", folders[0], "-m", "avg_time/us", "-o", page).exit_code == 0
    assert "avg_time/us" in page.read_text()
    assert "avg_time/us" not in text
    other = tmp_path / "diff.html"
    assert command("diff", *folders, "-o", other).exit_code == 0
    assert "paired ranks" in other.read_text()


def test_traces_alone_have_no_tree(tmp_path: Path) -> None:
    folder = write(traced_run(2, late_ns={1: 500_000}), tmp_path / "traces")
    output = command("view", folder).output
    assert output.splitlines()[0] == "traces: 2 ranks"
    assert "Rank 1 is waited for: it came last to 36 of 36 collectives" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "time,count"], "the tree of a run is of one metric"),
        (["--name", "x"], "is the folder of a run, no report"),
        (["-i", "nothing"], "begin with .* to match anywhere. The names:\n  matmul\n  norm"),
    ],
)
def test_view_refuses_what_a_run_has_not(
    folders: tuple[Path, Path], arguments: list[str], message: str
) -> None:
    result = command("view", folders[0], *arguments)
    assert result.exit_code == 1
    assert message in result.output


def test_metric_that_a_run_has_not_is_typed_wrongly(folders: tuple[Path, Path]) -> None:
    for given in (("view", folders[0]), ("diff", *folders)):
        result = command(*given, "-m", "gbyte/s")
        assert result.exit_code == 2
        assert "'gbyte/s' is not a metric" in result.output


def test_a_filter_holds_on_every_rank(folders: tuple[Path, Path]) -> None:
    output = command("view", folders[0], "-i", "norm").output
    assert "norm" in output
    assert "matmul" not in output.split("Cannot tell")[0]


def test_what_is_no_run_is_said_so(folders: tuple[Path, Path], tmp_path: Path) -> None:
    assert "holds no manifest of a rank" in command("view", tmp_path).output
    file = folders[0] / "rank-00000.hatchet"
    assert "compare a run with a run" in command("diff", folders[0], file).output
    assert command("view", tmp_path / "nowhere").exit_code == 2


def test_a_run_shows_who_is_waited_for_and_its_figures() -> None:
    parts = run_views(profiled_run(3, slow={0: 1.5}), draws=True)
    assert [type(part).__name__ for part in parts] == [
        *("Summary", "InWords", "FlameFigure", "HeatmapFigure", "BarsFigure", "KernelTable"),
    ]
    assert str(parts[0]).startswith("synthetic: 3 ranks")
    text = run_views(profiled_run(3), draws=False)
    assert [type(part).__name__ for part in text] == ["Summary", "InWords", "KernelTable"]
    traces = run_views(traced_run(2), draws=True)
    assert [type(part).__name__ for part in traces] == ["Summary", "InWords", "TimelineFigure"]
    assert len(run_views(Run.from_profiles({}), draws=True)) == 1


def test_a_run_behind_a_url_is_viewed_too(folders: tuple[Path, Path]) -> None:
    memory = fsspec.filesystem("memory")
    for folder in folders:
        memory.put(str(folder), f"/nightly/{folder.name}", recursive=True)
    try:
        output = command("view", "memory://nightly/monday").output
        compared = command("diff", "memory://nightly/monday", folders[1]).output
    finally:
        memory.rm("/nightly", recursive=True)
    assert output.startswith("monday · time · 4 ranks")
    assert "3 paired ranks" in compared
    assert command("view", "memory://nightly/gone").exit_code == 1


def test_what_a_file_says_is_not_obeyed_by_the_terminal(tmp_path: Path) -> None:
    folder = write(profiled_run(2), tmp_path / "odd")
    manifest = json.loads((folder / "rank-00001.json").read_text())
    manifest |= {"state": "failed", "error": "\x1b[2Jgone", "files": []}
    (folder / "rank-00001.json").write_text(json.dumps(manifest))
    output = command("view", folder).output
    assert "[2Jgone" in output
    assert "\x1b" not in output
