"""The gate in tests: a pytest that records a baseline, passes by it, and fails."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from gated import ONE, Gated, gated

from protonlab.capture import device
from protonlab.pytest_plugin import FOLDER

__all__ = ["gated"]


def test_records_passes_fails_and_skips(gated: Gated, tmp_path: Path) -> None:
    gated.write("test_gated_speed.py", ONE)
    run = gated.run
    summary = tmp_path / "sum.md"
    code, text = run("--protonlab-record", "--protonlab-markdown", str(summary))
    assert code == 0, text
    assert "reference and ours recorded as test_gated_speed.test_speed." in text
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
        assert baseline.name == "test_gated_speed.test_speed.interpreter-cpu.json"

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
    assert "pytest_plugin.py" not in text  # the test fails at its own line
    assert ">       assert len(protonlab_gate(" in text
    assert "**regressed**" in summary.read_text("utf-8")
    assert 'name="ours by reference: slowdown"' in junit.read_text("utf-8")

    baseline.rename(baseline.with_name("test_gated_speed.test_speed.nvidia-h100.json"))
    code, text = run("-rs")
    assert code == 0, text
    assert "only test_gated_speed.test_speed.nvidia-h100.json" in " ".join(text.split())


def test_without_any_baseline_it_fails_before_measuring(gated: Gated, tmp_path: Path) -> None:
    gated.write("test_gated_speed.py", ONE)
    run = gated.run
    summary = tmp_path / "sum.md"
    code, text = run("--protonlab-markdown", str(summary))
    assert code == 1
    assert "No gate was judged and no baseline recorded: no test" in text
    assert "No gate was judged and no baseline recorded: no test" in summary.read_text("utf-8")
    assert "there is no baseline test_gated_speed.test_speed in" in text
    assert "record one with pytest --protonlab-record" in text


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--protonlab-threshold=3", "--protonlab-threshold: threshold='3'; write it as 3% or 0.03"),
        ("--protonlab-markdown=/no/such/y.md", "--protonlab-markdown: no folder /no/such for y.md"),
        ("--protonlab-markdown=/", "--protonlab-markdown: / is a folder; give a file's name"),
    ],
)
def test_options_that_are_not_legal_end_it_before_any_test(
    gated: Gated, option: str, says: str
) -> None:
    gated.write("test_ran.py", "def test_runs() -> None:\n    raise SystemExit\n")
    code, text = gated.run(option)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {says}" in text
    assert "test_ran" not in text


@pytest.mark.parametrize(
    ("option", "says"),
    [("threshold=3", "threshold=3; write it"), ("outputs='no'", "outputs='no'; use 'equal', or")],
)
def test_what_a_gate_is_given_is_looked_at_before_it_measures(
    gated: Gated, option: str, says: str
) -> None:
    source = ONE.replace("variants, ", f"dict.fromkeys(variants, exit), {option}, ")
    gated.write("test_gated_speed.py", source)
    code, text = gated.run("--protonlab-record")
    assert code == 1
    assert f"ProtonLabError: {says}" in text


TIMED = """
    import os, time
    from pathlib import Path
    from variant_kernels import SHORT_S, scale

    def timed():
        began = time.monotonic()
        scale()
        with Path(__file__).with_name(f"{os.getpid()}.txt").open("a") as file:
            file.write(f"{began} {time.monotonic()}\\n")

    def test_speed(protonlab_gate):
        variants = {"reference": timed, "ours": timed}
        protonlab_gate(variants, budget_s=max(0.3, SHORT_S), metric="time/us")
"""


def test_workers_take_turns_and_the_summary_is_of_all(gated: Gated, tmp_path: Path) -> None:
    for name in ("test_one.py", "test_two.py"):
        gated.write(name, TIMED)
    summary = tmp_path / "sum.md"
    options = ("-p", "xdist", "-n", "2", "--protonlab-record", "--protonlab-markdown")
    code, text = gated.run_apart(*options, str(summary))
    assert code == 0, text
    for source in (text, summary.read_text("utf-8")):
        found = re.findall(r"recorded as (test_\w+)\.test\\?_speed", source.replace("\\_", "_"))
        assert sorted(found) == ["test_one", "test_two"]
    spans = sorted(
        (float(words[0]), float(words[-1]))
        for path in gated.folder.glob("*.txt")
        if (words := path.read_text().split())
    )
    assert len(spans) == 2  # a worker each
    assert spans[0][1] <= spans[1][0]
