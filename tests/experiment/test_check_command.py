"""`protonlab check`: exit codes, summaries in files, and what was typed wrongly."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from test_check import LONG, SHORT, around, repeated, variants

from protonlab.cli import main


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


def test_command_passes_and_fails_by_exit_code(tmp_path: Path) -> None:
    before, good, bad = (tmp_path / f"{name}.json" for name in ("before", "good", "bad"))
    variants(0.9).save(before)
    variants(0.9, seed=1).save(good)
    variants(0.95, seed=2).save(bad)
    passed = run(before, good)
    assert passed.exit_code == 0, passed.output
    assert "is not slower by more than 3 %" in passed.output
    assert run(before, bad, "--threshold", "10%").exit_code == 0
    summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
    result = run(before, bad, "--markdown", summary, "--junit", junit)
    assert result.exit_code == 1
    assert "failed: 1 of 1 slower by more than 3 %" in result.output
    assert "**regressed**" in summary.read_text("utf-8")
    assert ElementTree.fromstring(junit.read_text("utf-8"))[0].get("failures") == "1"


def test_command_notes_other_work_of_saved_comparisons(tmp_path: Path) -> None:
    short, long, summary = (tmp_path / name for name in ("s.json", "l.json", "summary.md"))
    SHORT.save(short)
    LONG.save(long)
    result = run(short, long, "--markdown", summary)
    assert result.exit_code == 0, result.output
    assert result.output.count("launches other kernels: ") == 2
    assert summary.read_text("utf-8").count("A call of ") == 2
    assert "other kernels" not in run(short, short).output


def test_command_judges_one_comparison_and_two_profiles(tmp_path: Path) -> None:
    pair, before, after = (tmp_path / name for name in ("p.json", "b.hatchet", "a.hatchet"))
    variants(1.1).save(pair)
    repeated(k=around(1000)).save(before)
    repeated(k=around(1100)).save(after)
    assert run(pair).exit_code == 1
    assert run(before, after).exit_code == 1
    assert run(after, before, "-m", "gbyte/s", "--include", "k").exit_code == 0


def test_command_typed_wrongly(tmp_path: Path) -> None:
    pair = tmp_path / "p.json"
    variants(1.0).save(pair)
    assert run(tmp_path / "missing.json").exit_code == 2
    unclear = run(pair, "-t", "3")
    assert unclear.exit_code == 2
    assert "write it as 3% or 0.03" in unclear.output
    profile = tmp_path / "p.hatchet"
    repeated(k=around(1000)).save(profile)
    for arguments, says in (
        ((pair, "--absolute"), "absolute is for a comparison of variants held against a baseline"),
        ((pair, pair, "-m", "time/us"), "metric is for profiles; a comparison of variants holds"),
        ((pair, "--include", "k"), "include is for profiles"),
        ((profile,), "a profile is held against another one"),
        ((profile, profile, "--include", "("), "--include is not a regular expression"),
        ((profile, profile, "--any-outputs"), "any outputs is for comparisons of variants"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert f"Error: {says}" in result.output
    nameless = run(profile, profile, "-m", "speed")
    assert (nameless.exit_code, "speed" in nameless.output) == (2, True)
    assert run(profile, pair).exit_code == 1
    for arguments, says in (
        (("--markdown", tmp_path / "no" / "summary.md"), r"--markdown .*: there is no folder"),
        (("--junit", pair), r"--junit .*: that is another of these files; name a new one"),
        (("--junit", tmp_path / "x", "--markdown", tmp_path / "x"), "is another of these"),
    ):
        refused = run(pair, *arguments)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert re.search(says, refused.stderr)
    assert not (tmp_path / "x").exists()
    unwritable = run(pair, "--markdown", "/proc/summary.md")
    assert unwritable.exit_code == 1
    assert "cannot tell" in unwritable.stdout or "passed" in unwritable.stdout
    assert "/proc/summary.md" in unwritable.stderr
    pair.write_text("{}")
    assert "a JSON object without traceEvents" in run(pair).output


def test_summary_of_a_step_is_added_to_and_another_file_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, step, report = (tmp_path / name for name in ("p.json", "step.md", "report.md"))
    variants(0.9).save(pair)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    for path in (step, report):
        path.write_text("# Earlier")
        for _ in "ab":
            assert run(pair, "--markdown", path).exit_code == 0
    once = report.read_text("utf-8")
    assert once.startswith("### serial against overlap")
    assert step.read_text("utf-8") == f"# Earlier\n{once}\n{once}"
    step.unlink()
    assert run(pair, "--markdown", step).exit_code == 0
    assert step.read_text("utf-8") == once
