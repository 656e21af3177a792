"""The gate on outputs: what is fast and wrong fails, in words of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from gated import Gated, gated
from test_check import variants
from test_check_command import run

from protonlab import ProtonLabError, RegressionError, check
from protonlab.experiment import judged
from protonlab.pytest_plugin import FOLDER

__all__ = ["gated"]

WRONG: dict[str, Any] = {"outputs_equal": False, "outputs": "the result: 3 of 4 elements differ"}
EQUAL: dict[str, Any] = {"outputs_equal": True, "outputs": "identical (one tensor compared)"}
HOW = "The outputs differ: the result: 3 of 4 elements differ."


@pytest.mark.parametrize(
    ("baseline", "candidate", "summary"),
    [
        (WRONG, None, "failed: the outputs of overlap and serial differ"),
        (EQUAL, WRONG, "failed: the outputs of overlap and serial differ now, and were equal in"),
        ({}, WRONG, "failed: the outputs of overlap and serial differ now, and were not compared"),
        (WRONG, WRONG, "passed: "),
        (WRONG, EQUAL, "passed: "),
        (EQUAL, EQUAL, "passed: "),
        (EQUAL, {}, "passed: "),
        ({}, None, "passed: "),
    ],
)
def test_outputs_that_differ_fail_unless_they_did_in_the_baseline(
    baseline: dict[str, Any], candidate: dict[str, Any] | None, summary: str
) -> None:
    before = variants(0.9, **baseline)
    after = None if candidate is None else variants(0.9, seed=1, **candidate)
    gate = judged(before, after)
    assert gate.summary.startswith(summary)
    assert gate.regressed == ()
    assert gate.passed == summary.startswith("passed")
    assert (HOW in gate.notes) == ((candidate if candidate is not None else baseline) is WRONG)
    accepted = check(before, after, outputs="any")
    assert accepted.passed
    assert not [note for note in accepted.notes if "any-outputs" in note]


def test_wrong_and_slow_is_both_in_every_summary() -> None:
    with pytest.raises(
        RegressionError, match=r"failed: the outputs of .* differ; and 1 of 1 sl"
    ) as failure:
        check(variants(1.1, **WRONG))
    gate = failure.value.gate
    assert "**failed: the outputs of overlap and serial differ; and 1 of 1 " in gate.to_markdown()
    (suite,) = ElementTree.fromstring(gate.to_junit())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    names = [case.get("name") for case in suite.findall("testcase")]
    assert names == ["serial against overlap", "outputs"]


def test_word_that_says_nothing_of_outputs_is_refused() -> None:
    given: Any = "differ"
    with pytest.raises(ProtonLabError, match="outputs='differ'; use 'equal', or 'any'"):
        check(variants(1.0), outputs=given)


def test_command_fails_by_outputs(tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    variants(0.9, **EQUAL).save(before)
    variants(0.9, seed=1, **WRONG).save(after)
    failed = run(before, after)
    assert failed.exit_code == 1
    assert "failed: the outputs of overlap and serial differ now" in failed.output
    assert HOW in failed.output
    assert run(before, after, "--any-outputs").exit_code == 0


GATED = """
    from variant_kernels import SHORT_S, scale

    def test_speed(protonlab_gate):
        variants = {"reference": scale, "ours": lambda: FACTOR * scale()}
        protonlab_gate(variants, budget_s=SHORT_S, metric="time/us", threshold="900%" OUTPUTS)
"""


def test_tests_fail_by_outputs_and_no_baseline_of_such_is_recorded(gated: Gated) -> None:
    def write(factor: int, outputs: str = "") -> None:
        source = GATED.replace("FACTOR", str(factor)).replace("OUTPUTS", outputs)
        gated.write("test_gated.py", source)

    write(0)
    code, text = gated.run("--protonlab-record")
    assert code == 1
    assert "RegressionError: reference and ours not recorded as test_gated.test_speed." in text
    assert not (gated.folder / FOLDER).exists()
    write(1)
    assert gated.run("--protonlab-record")[0] == 0
    write(0)
    code, text = gated.run()
    assert code == 1
    assert "failed: the outputs of reference and ours differ now, and were equal in" in text
    write(0, ", outputs='any'")
    code, text = gated.run()
    assert code == 0, text
