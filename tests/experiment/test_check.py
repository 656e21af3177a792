"""The gate: what it fails on, what it lets pass, and how it says so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from builders import document, kernel
from variant_builders import RATE, TIME, comparison, noisy

from protonlab import EpilogueCase, MetricError, Profile, ProtonLabError, RegressionError, check
from protonlab.experiment import Gate, baseline_of, judged
from protonlab.formats import read_profile
from protonlab.model import ClockReading, ProfileInfo, VariantComparison
from protonlab.model.merging import merged
from protonlab.recorded import epilogue_sweep

H200 = ProfileInfo(gpu="NVIDIA H200", backend="cupti", versions={"triton": "3.9.0"})


def repeated(info: ProfileInfo = H200, **times: Sequence[float]) -> Profile:
    """A kernel for each keyword, with its time in ns in each repeat."""
    number = len(next(iter(times.values())))
    parts = [
        read_profile(
            document(*(kernel(name, series[at], bytes=100) for name, series in times.items()))
        )
        for at in range(number)
    ]
    return replace(merged(list(enumerate(parts))), info=info)


def around(middle: float, n: int = 10, seed: int = 0, sigma: float = 0.002) -> list[float]:
    return list(middle * np.exp(np.random.default_rng(seed).normal(0, sigma, n)))


def variants(
    ratio: float, *, seed: int = 0, level: float = 1.0, **fields: Any
) -> VariantComparison:
    """Serial takes `ratio` times as long as overlap; a machine makes both `level` times slower."""
    a, b = noisy(16, ratio, sigma=0.002, seed=seed)
    return comparison(level * a, level * b, **({"info": H200} | fields))


def outcomes(gate: Gate) -> dict[str, str]:
    return {row.name: row.outcome for row in gate.rows}


@pytest.mark.parametrize(
    ("ratio", "threshold", "outcome"),
    [
        (1.05, "3%", "regressed"),
        (1.0298, 0.03, "not ruled out"),
        (1.029, "0.03", "not ruled out"),
        (1.01, "3 %", "holds"),
        (1.01, np.float32(0.03), "holds"),
        (0.95, "3%", "faster"),
        (1.01, "0%", "regressed"),
        (1.0, 0, "not ruled out"),
    ],
)
@pytest.mark.parametrize("metric", [RATE, TIME], ids=lambda metric: metric.name)
def test_interval_has_to_lie_wholly_beyond_the_threshold(
    ratio: float, threshold: Any, outcome: str, metric: Any
) -> None:
    found = variants(ratio, metric=metric)
    if outcome != "regressed":
        gate = check(found, threshold=threshold)
        assert outcomes(gate) == {"serial against overlap": outcome}
        assert gate.passed
        return
    with pytest.raises(RegressionError, match="serial against overlap: regressed") as failure:
        check(found, threshold=threshold)
    assert isinstance(failure.value, AssertionError)
    assert outcomes(failure.value.gate) == {"serial against overlap": "regressed"}


def test_slowdown_is_the_ratio_of_times_with_its_interval() -> None:
    found = variants(1.05, metric=TIME)
    (row,) = check(found, threshold="50%").rows
    assert (row.slowdown, row.low, row.high) == pytest.approx(
        (found.ratio.estimate, found.ratio.low, found.ratio.high)
    )
    (rate,) = check(variants(1.05), threshold="50%").rows
    assert (rate.slowdown, rate.low, rate.high) == pytest.approx((row.slowdown, row.low, row.high))
    assert re.fullmatch(r"\+[45]\.\d %", row.change)
    assert re.fullmatch(r"\+4\.\d to \+5\.\d %", row.interval)
    assert replace(row, slowdown=36.504).change == "+3,550.4 %"


def test_comparisons_are_judged_by_the_ratio_whatever_the_machine_does() -> None:
    before, same = variants(0.9), variants(0.9, seed=1, level=1.2)
    gate = check(before, same)
    assert outcomes(gate) == {
        "serial by overlap": "holds",
        "overlap": "not judged",
        "serial": "not judged",
    }
    with pytest.raises(RegressionError) as failure:
        check(before, same, absolute=True)
    assert outcomes(failure.value.gate) == {
        "serial by overlap": "holds",
        "overlap": "regressed",
        "serial": "regressed",
    }
    with pytest.raises(RegressionError) as failure:
        check(before, variants(0.95, seed=2), threshold="3%")
    (row,) = failure.value.gate.regressed
    assert row.name == "serial by overlap"
    assert row.slowdown == pytest.approx(0.95 / 0.9, abs=0.004)
    assert row.low < row.slowdown < row.high


def in_rounds(seed: int) -> VariantComparison:
    """A against A in 6 rounds of 4 pairs; each round moves each variant by itself."""
    random = np.random.default_rng(seed)
    rounds = np.repeat(np.arange(6), 4)
    a, b = (
        1000 * np.exp(random.normal(0, 0.009, 6)[rounds] + random.normal(0, 0.001, 24))
        for _ in "ab"
    )
    return comparison(a, b, info=H200, metric=TIME, columns={"round": rounds})


def test_rounds_count_once_in_every_row() -> None:
    gates = [
        judged(in_rounds(2 * seed), in_rounds(2 * seed + 1), threshold=0, absolute=True)
        for seed in range(40)
    ]
    for place in range(3):  # 2.5 % are expected, and as pairs 14 to 20 % were
        assert sum(gate.rows[place].outcome == "regressed" for gate in gates) <= 3
    assert {row.n for gate in gates for row in gate.rows} == {"24 and 24 pairs in 6 and 6 rounds"}
    mixed = judged(in_rounds(0), variants(1.0, metric=TIME), threshold=0)
    assert mixed.rows[1].n == "24 pairs in 6 rounds and 16 pairs"


def test_less_work_in_less_time_is_faster_whatever_the_rate() -> None:
    found = variants(0.6)
    fused = replace(found, pairs=found.pairs.assign(value_b=0.5 * found.pairs["value_b"]))
    assert fused.medians[1] < fused.medians[0]
    for gate in (check(fused), check(variants(1.0, seed=1), fused)):
        row = gate.rows[0]
        assert row.outcome == "faster"
        assert row.slowdown == pytest.approx(0.6, abs=0.01)
    assert check(fused).rows[0].after == "600 ns"


@pytest.mark.parametrize("metrics", [(TIME, RATE), (RATE, TIME)], ids=["rate now", "time now"])
def test_other_metrics_are_judged_by_time(metrics: tuple[Any, Any]) -> None:
    before, after = (
        variants(ratio, metric=metric) for ratio, metric in zip((0.9, 0.95), metrics, strict=True)
    )
    gate = judged(before, after)
    assert gate.rows == judged(before.by_time(), after.by_time()).rows
    assert outcomes(gate)["serial by overlap"] == "regressed"
    assert gate.title.endswith("against the baseline (time/us)")
    was, is_now = (metric.name for metric in metrics)
    assert gate.notes == (
        f"The metric was {was} in the baseline and is {is_now} now: both were judged by time.",
    )


def test_profiles_are_judged_by_their_totals() -> None:
    before = repeated(matmul=around(1000), gelu=around(100, seed=1))
    after = repeated(matmul=around(1000, seed=2), gelu=around(120, seed=3))
    gate = check(before, after)
    assert outcomes(gate) == {"total": "holds", "matmul": "not judged", "gelu": "not judged"}
    with pytest.raises(RegressionError) as failure:
        check(before, after, include="gel")
    assert outcomes(failure.value.gate) == {
        "total": "holds",
        "matmul": "not judged",
        "gelu": "regressed",
    }
    rate = check(before, repeated(matmul=around(900), gelu=around(100)), metric="gbyte/s")
    assert outcomes(rate)["total"] == "faster"


def test_the_profile_of_a_report_is_judged_if_there_is_one() -> None:
    before, after = repeated(k=around(1000)), repeated(k=around(1100))
    assert judged({"run1": before}, after).rows == judged(before, after).rows
    with pytest.raises(ProtonLabError, match="is a report that holds run1, run2; give one of its"):
        judged({"run1": before, "run2": before}, after)


def test_kernels_that_are_new_or_gone_count_in_the_total() -> None:
    before, after = repeated(k=around(1000)), repeated(k=around(1000), new=around(100))
    with pytest.raises(RegressionError) as failure:
        check(before, after)
    found = {"total": "regressed", "k": "not judged", "new": "new"}
    assert outcomes(failure.value.gate) == found


def test_kernel_that_is_to_be_judged_and_is_gone_is_named() -> None:
    before, after = repeated(k=around(1000), g=around(10_000)), repeated(g=around(10_000))
    gate = check(before, after, include="k")
    assert "passed: total is not slower" in gate.summary
    assert "  k: gone, 10.0 µs before, and nothing to judge" in repr(gate).splitlines()
    assert "| k | 10.0 µs | – | – | – (10 and 10 repeats) | gone |" in gate.to_markdown()
    assert 'tests="1"' in gate.to_junit()
    back = check(after, before, include="k", threshold="50%")
    assert "  k: new, 10.0 µs after, and nothing to judge it by" in repr(back).splitlines()


def test_notes_tell_of_versions_and_of_what_the_measurement_warned_of() -> None:
    newer = replace(H200, versions={"triton": "3.10.0"})
    gate = check(variants(1.0), variants(1.0, seed=1, info=newer, notes=("Clocks unknown.",)))
    assert gate.notes == ("triton was 3.9.0 in the baseline and is 3.10.0 now.", "Clocks unknown.")
    interpreted = ProfileInfo(backend="interpreter, CPU")
    (note,) = check(variants(1.0, info=interpreted)).notes
    assert "say nothing about a GPU" in note


SWEEP = epilogue_sweep()
SHORT = SWEEP.comparison(EpilogueCase("ours", tokens=4, k=256))
LONG = SWEEP.comparison(EpilogueCase("upstream", tokens=4, k=5760))


def test_a_note_says_that_a_comparison_is_of_other_work() -> None:
    gate = check(SHORT, LONG)
    ours = "matmul_mxfp4 [512x5760x256, experts=128, persistent, flattened, block_m=8]"
    upstream = (
        "_p_matmul_NNT_bf16xbf16xmxfp4_16x128x128x1 [E_128(M) = unknown, N = 5760, K = 5760] stg4"
    )
    expected = [
        f"overlap launches other kernels: {ours} in the baseline only, {upstream} now only.",
        "A call of overlap was 106 MB, 1.51 GFLOP in the baseline and is 2.14 GB, 34.0 GFLOP now, "
        "by launch metadata.",
    ]
    assert list(gate.notes[:2]) == expected
    assert gate.notes[3] == expected[1].replace("overlap", "serial")
    assert f"Note: {expected[1]}" in repr(gate).splitlines()
    assert f"- {expected[1]}" in gate.to_markdown().splitlines()
    (suite,) = ElementTree.fromstring(gate.to_junit())
    assert expected[0] in str(suite.findtext("system-out"))


def of_calls(*calls: dict[str, Any]) -> VariantComparison:
    """Both variants launch these kernels, of so many bytes, in one call each."""
    parts = [
        read_profile(document(*(kernel(name, 100.0, bytes=size) for name, size in call.items())))
        for call in calls
    ]
    profile = replace(merged(list(enumerate(parts))), info=H200)
    return variants(1.0, profiles=(profile, profile))


def test_no_note_where_the_work_is_the_same() -> None:
    assert not [note for note in check(SHORT, SHORT).notes if "other kernels" in note]
    assert not [note for note in check(SHORT, SHORT).notes if "A call of" in note]
    once, often = of_calls({"k": 3000.0}), of_calls(*[{"k": 3000.0}] * 3)
    drawn = of_calls({"k": 3000.0}, {"k": 3020.0})
    unknown = variants(1.0)
    for before, after in ((once, often), (often, once), (once, drawn), (once, unknown)):
        assert check(before, after).notes == ()


def test_note_names_what_differs_and_no_more() -> None:
    before = of_calls({"k": 3000.0, "gone": 1000.0})
    after = of_calls({"k": 4000.0} | {f"new{number}": 0.0 for number in range(5)})
    assert check(before, after).notes[0] == (
        "overlap launches other kernels: gone in the baseline only, new0, new1, new2 and 2 others "
        "now only."
    )
    assert len(check(before, after).notes) == 2
    assert check(before, of_calls({"k": 6000.0, "gone": 2000.0})).notes[0] == (
        "A call of overlap was 4.00 kB in the baseline and is 8.00 kB now, by launch metadata."
    )


@pytest.mark.parametrize("kind", ["comparison", "profile"])
def test_another_gpu_of_the_same_name_is_told_of(kind: str) -> None:
    def measured(*uuids: str) -> Profile | VariantComparison:
        clocks = tuple(ClockReading("", uuid, 1980) for uuid in uuids)
        profile = repeated(replace(H200, clocks=clocks), k=around(1000))
        return profile if kind == "profile" else variants(1.0, profiles=(profile, profile))

    one, other = "GPU-1bcada45-3b45", "GPU-ad75f679-4ce6"
    (note,) = check(measured(one), measured(other)).notes
    assert note.startswith(
        "The baseline was measured on another NVIDIA H200, GPU-1bcada45; this is GPU-ad75f679."
    )
    for same in ((one, one), (one, other)), ((one,), (one,)), ((), (one,)):
        assert check(measured(*same[0]), measured(*same[1])).notes == ()


def test_what_nothing_could_be_held_against_becomes_no_baseline() -> None:
    with pytest.raises(ProtonLabError, match=r"no interval follows from 1 pair; .* larger budget"):
        baseline_of(variants(1.0).first(1), "one.json")


@pytest.mark.parametrize(
    ("baseline", "candidate", "options", "message"),
    [
        (repeated(k=(1, 2)), None, {}, "a profile is held against another one: give a candidate"),
        (repeated(k=(1, 2)), variants(1.0), {}, "is a Profile and the candidate a VariantComp"),
        ([1], None, {}, "the baseline is of type list; give a profile that was repeated"),
        (variants(1.0).first(1), None, {}, "no interval follows from 1 pair of overlap"),
        (variants(1.0), variants(1.0).first(1), {}, "no interval follows from 16 and 1 pairs"),
        (variants(1.0), None, {"metric": "time/us"}, "metric is for profiles; a comparison"),
        (variants(1.0), None, {"absolute": True}, "absolute is for a comparison of variants held"),
        (repeated(k=(1, 2)), repeated(k=(1, 2)), {"absolute": True}, "absolute is for a compar"),
        (variants(1.0), None, {"include": "a", "metric": "b"}, "metric and include are for prof"),
        (
            variants(1.0),
            variants(1.0, protocol={"protocol": "burst"}),
            {},
            "has protocol of no name, the candidate burst",
        ),
        (
            variants(1.0),
            replace(variants(1.0), names=("a", "b")),
            {},
            "has variants overlap and serial, the candidate a and b; measure the candidate as",
        ),
        (
            variants(1.0),
            variants(1.0, info=ProfileInfo(gpu="NVIDIA H100")),
            {},
            "ran on NVIDIA H200, the candidate on NVIDIA H100; record a baseline",
        ),
        (repeated(k=(1,)), repeated(k=(1, 2)), {}, "the baseline was not repeated, so nothing"),
        (read_profile(document(kernel("k", 5))), repeated(k=(1, 2)), {}, "was not repeated"),
        (repeated(k=(1, 2)), repeated(k=(1, 2)), {"include": "x"}, "no kernel matches include=x"),
        (repeated(k=(1, 2)), repeated(k=(1, 2)), {"include": "("}, "include"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_an_error_not_a_pass(
    baseline: Any, candidate: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ProtonLabError, match=message) as failure:
        check(baseline, candidate, **options)
    assert not isinstance(failure.value, RegressionError)


@pytest.mark.parametrize("metric", ["count", "bytes", "n_tokens/s"])
def test_metric_that_says_nothing_of_speed_is_refused(metric: str) -> None:
    with pytest.raises(MetricError):
        check(repeated(k=(1, 2)), repeated(k=(1, 2)), metric=metric)


@pytest.mark.parametrize("threshold", ["3", "x", "-1%", "", -0.1, 3, float("nan"), True, None])
def test_threshold_that_could_be_misread_is_refused(threshold: Any) -> None:
    with pytest.raises(ProtonLabError, match=r"threshold=.*; write it as 3% or 0\.03"):
        check(variants(1.0), threshold=threshold)


def failed() -> Gate:
    odd = repeated(**{"a|b <i>`x`\x00": around(200), "k": around(100)})
    with pytest.raises(RegressionError) as failure:
        check(repeated(**{"a|b <i>`x`\x00": around(100), "k": around(100)}), odd, include="a")
    gate = failure.value.gate
    assert isinstance(gate, Gate)
    return gate


def test_markdown_is_one_table_whatever_the_names() -> None:
    lines = failed().to_markdown().splitlines()
    assert lines[2].startswith(r"**failed: 2 of 2 slower by more than 3 %, with 95 % confidence: ")
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + 3
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
    assert sum("**regressed**" in row for row in rows) == 2
    assert r"a\|b \<i\>\`x\`" in rows[3]


def test_junit_has_a_case_for_each_row_that_is_judged() -> None:
    (suite,) = ElementTree.fromstring(failed().to_junit())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert list(cases) == ["total", "a|b <i>`x`?"]
    failure = cases["total"].find("failure")
    assert failure is not None
    assert "total: regressed, +" in str(failure.get("message"))
    for name, case in cases.items():
        text = str(case.findtext("failure"))
        assert f": {name}: regressed, +" in text
        assert text.count("regressed") == 1
    (passed,) = ElementTree.fromstring(check(variants(1.0)).to_junit())
    assert (passed.get("tests"), passed.get("failures")) == ("1", "0")


def test_page_escapes_names() -> None:
    page = failed()._repr_html_()
    assert "<i>" not in page
    assert "&lt;i&gt;" in page
