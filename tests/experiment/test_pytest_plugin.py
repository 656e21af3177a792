"""The gate in tests: a pytest that records a baseline, passes by it, and fails."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from protonlab.capture import device
from protonlab.pytest_plugin import FOLDER

SOURCE = """
    from variant_kernels import scale

    def test_speed(protonlab_gate):
        variants = {"reference": scale, "ours": scale}
        assert len(protonlab_gate(variants, budget_s=0.6, metric="time/us")) >= 2
"""
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run pytest on the source; its exit code and what it said."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    folder = tmp_path / "gated"
    folder.mkdir()
    file = folder / "test_gated_speed.py"
    file.write_text(textwrap.dedent(SOURCE))

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.delitem(sys.modules, file.stem, raising=False)
        own = ["-q", "-c", "/dev/null", "--rootdir", str(folder), "-p", "protonlab.pytest_plugin"]
        off = ["-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = pytest.main([*own, *off, *arguments, str(file)])
        return int(code), capsys.readouterr().out

    return run


def test_records_passes_fails_and_skips(run: Run, tmp_path: Path) -> None:
    summary = tmp_path / "sum.md"
    code, text = run("--protonlab-record", "--protonlab-markdown", str(summary))
    assert code == 0, text
    assert "reference and ours recorded as test_speed." in text
    lines = summary.read_text("utf-8").splitlines()
    assert lines[0].startswith("### reference and ours recorded as test")
    assert "**recorded, and nothing was judged**" in lines
    assert [line.split("|")[1].strip() for line in lines if line.endswith("| not judged |")] == [
        "ours by reference",
        "reference",
        "ours",
    ]
    (baseline,) = (tmp_path / "gated" / FOLDER).iterdir()
    assert json.loads(baseline.read_text())["names"] == ["reference", "ours"]
    if device() == "cpu":
        assert baseline.name == "test_speed.interpreter-cpu.json"

    # Times of the interpreter scatter widely, hence the threshold.
    wide = ("--protonlab-threshold", "300%")
    code, text = run(*wide)
    assert code == 0, text
    assert "protonlab gates" in text
    assert "passed" in text
    assert "other kernels" not in text
    assert "A call of" not in text

    # So far that the interval of two pairs, which may reach over a factor of 1,000, is beyond.
    doctored = json.loads(baseline.read_text())
    for column in ("time_ns_b", "value_b"):
        doctored["pairs"][column] = [value / 1e9 for value in doctored["pairs"][column]]
    baseline.write_text(json.dumps(doctored))
    junit = tmp_path / "junit.xml"
    files = ("--protonlab-markdown", str(summary), "--junit-xml", str(junit))
    code, text = run(*wide, *files)
    assert code == 1, text
    assert "RegressionError: reference and ours against the baseline" in text
    assert "**regressed**" in summary.read_text("utf-8")
    assert 'name="ours by reference: slowdown"' in junit.read_text("utf-8")

    baseline.rename(baseline.with_name("test_speed.nvidia-h100.json"))
    code, text = run("-rs")
    assert code == 0, text
    assert "only test_speed.nvidia-h100.json" in " ".join(text.split())


def test_without_any_baseline_it_fails_before_measuring(run: Run, tmp_path: Path) -> None:
    summary = tmp_path / "sum.md"
    code, text = run("--protonlab-markdown", str(summary))
    assert code == 1
    assert "No gate was judged and no baseline recorded: no test" in text
    assert "No gate was judged and no baseline recorded: no test" in summary.read_text("utf-8")
    assert "there is no baseline test_speed in" in text
    assert "record one with pytest --protonlab-record" in text
