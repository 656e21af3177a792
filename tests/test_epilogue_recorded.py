"""The recorded sweep of epilogue overlap: where it was measured, how, and what it says."""

from __future__ import annotations

import gzip
import json
import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from protonlab import EpilogueCase, EpilogueWidget, overlap_by_tokens, ptx_difference, recorded
from protonlab.model.compiled import FLATTENED, LOOPS, PTX, RESOURCES, SPECIALIZED
from protonlab.model.epilogue_sweep import EpilogueSweep

FILE = Path(recorded.__file__).parent / "epilogue_sweep_3.9.0.json.gz"
RESULTS = Path(__file__).parent / "benchmarks" / "results"
OTHERS = RESULTS / "epilogue_sweep_others_h200_triton_3.9.csv"
PUBLISHED = EpilogueCase("upstream")


@pytest.fixture(scope="module")
def sweep() -> EpilogueSweep:
    return recorded.epilogue_sweep()


def test_says_where_when_and_how(sweep: EpilogueSweep) -> None:
    assert FILE.stat().st_size < 400_000
    assert sweep.info.gpu == "NVIDIA H200"
    assert sweep.info.versions["triton"] == "3.9.0"
    assert {"torch", "driver"} <= {*sweep.info.versions}
    assert sweep.info.when.startswith("20")
    assert sweep.protocol["protocol"] == "sustained"
    assert sweep.copy_gbyte_s is not None
    assert 3_500 < sweep.copy_gbyte_s < 4_800


def test_each_case_was_measured_in_pairs_beside_clocks(sweep: EpilogueSweep) -> None:
    assert {case.kernel for case in sweep.cases} == {"ours", "upstream"}
    assert {case.tokens for case in sweep.cases if case.kernel == "ours"} == {
        2**power for power in range(10)
    }
    for case, comparison in sweep.comparisons.items():
        assert comparison.outputs_equal, case
        assert comparison.protocol["timer"].startswith("Proton"), case
        pairs = comparison.pairs
        assert len(pairs) >= 12, case
        assert set(pairs["order"]) == {"AB", "BA"}
        for clock in ("sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c"):
            assert (pairs[clock] > 0).all(), case


def test_sign_of_the_published_effect_on_upstreams_kernel(sweep: EpilogueSweep) -> None:
    """2650 GB/s flattened against 2800: overlap costs there."""
    assert sweep.comparison(PUBLISHED).ratio.low > 1


def test_holds_what_the_notebook_says_of_it(sweep: EpilogueSweep) -> None:
    table = sweep.to_dataframe().set_index(["kernel", "k", "tokens"]).sort_index()
    faster = 1 / table["ratio_high"] - 1  # by how much overlap is faster at least; below zero: not
    slower = table["ratio_low"] - 1
    assert (faster.loc["ours", 256] > 0.1).all()
    assert (slower.loc["upstream", 5760] > 0).all()
    assert (table["ratio"].loc["ours", 5760] - 1).abs().max() < 0.06
    upstream = faster.loc["upstream", 256]
    assert (upstream[upstream.index <= 16] > 0.1).all()
    assert slower.loc["upstream", 256][32] > 0
    (crossing,) = sweep.crossings("upstream", 256)
    assert 16 < crossing < 32


def agreement(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Cases that both have, and whether their intervals overlap, and estimates have one sign."""
    both = one.merge(other, on=["kernel", "tokens", "experts", "n", "k"])
    both["agree"] = (both["ratio_low_x"] <= both["ratio_high_y"]) & (
        both["ratio_low_y"] <= both["ratio_high_x"]
    )
    both["apart"] = np.log(both["ratio_x"] / both["ratio_y"]).abs()
    both["one_sign"] = (both["ratio_x"] > 1) == (both["ratio_y"] > 1)
    return both


def test_runs_on_other_gpus_agree_as_the_page_says(sweep: EpilogueSweep) -> None:
    others = pd.read_csv(OTHERS)
    runs = {gpu: run for (gpu, _), run in others.groupby(["gpu", "when"]) if len(run) == 34}
    assert len(runs) == 2
    found = []
    for one, other in combinations([sweep.to_dataframe(), *runs.values()], 2):
        both = agreement(one, other)
        assert len(both) == 34
        assert both["one_sign"].all()
        long, short = (both[both["k"] == k] for k in (5760, 256))
        assert long["agree"].all()
        assert both["apart"].max() < 0.009
        assert 0.002 < short["apart"].median() < 0.0035
        found.append(int(short["agree"].sum()))
    assert sorted(found) == [11, 11, 14]


def test_an_h200_was_as_much_slower_as_the_page_says(sweep: EpilogueSweep) -> None:
    others = pd.read_csv(OTHERS)
    other = others[others["gpu"].eq("GPU-1bcada45") & others["k"].eq(5760)]
    both = agreement(sweep.to_dataframe(), other)
    faster = both["gbyte_s_overlap_x"] / both["gbyte_s_overlap_y"] - 1
    assert len(faster) == 17
    assert 0.045 < faster.mean() < 0.055
    assert 0.095 < faster.max() < 0.105


def test_runs_on_one_gpu_agree_within_the_intervals() -> None:
    others = pd.read_csv(OTHERS)
    again = others[others["when"] == others["when"].max()]
    (gpu,) = again["gpu"].unique()
    before = others[(others["gpu"] == gpu) & (others["when"] < others["when"].max())]
    both = agreement(before, again)
    assert set(both["k"]) == {256}
    assert len(both) == 10
    assert both["agree"].all()


def test_other_runs_gave_the_same_within_the_intervals(sweep: EpilogueSweep) -> None:
    rows = json.loads((RESULTS / "compare_variants_h200_triton_3.9.json").read_text())["rows"]
    for row in rows:
        case = EpilogueCase(row["kernel"], row["tokens"], k=row["k"])
        times = [run["ratio_of_times"] for run in row["runs"]]
        ratio = sweep.comparison(case).ratio  # of GB/s
        assert len(times) == 2
        assert all(1 / time["high"] <= ratio.high for time in times), case
        assert all(1 / time["low"] >= ratio.low for time in times), case
    assert {(row["kernel"], row["k"]) for row in rows} == {
        ("ours", 256),
        ("ours", 5760),
        ("upstream", 5760),
    }


def test_comparisons_on_two_gpus_agree_within_the_intervals() -> None:
    found = []
    for name in ("compare_variants", "compare_variants_second"):
        rows = json.loads((RESULTS / f"{name}_h200_triton_3.9.json").read_text())["rows"]
        found.append({(row["kernel"], row["k"], row["tokens"]): row["runs"] for row in rows})
    first, second = found
    assert first.keys() == second.keys()
    assert len(first) == 6
    for case, runs in first.items():
        for one, other in product(runs, second[case]):
            a, b = one["ratio_of_times"], other["ratio_of_times"]
            assert max(a["low"], b["low"]) <= min(a["high"], b["high"]), case


def test_each_verdict_says_which_is_faster(sweep: EpilogueSweep) -> None:
    for case, comparison in sweep.comparisons.items():
        for pairs in (8, 20, len(comparison)):
            verdict = comparison.first(pairs).verdict
            assert " faster, 95 %" in verdict or verdict.startswith("cannot tell"), case


def test_each_case_holds_for_several_places_in_memory(sweep: EpilogueSweep) -> None:
    for case, comparison in sweep.comparisons.items():
        assert comparison.protocol["made_anew"] == ["variants", "graphs"], case
        assert comparison.rounds is not None, case
        assert comparison.rounds >= 5, case
        first, other = comparison.protocol["graph_calls"]
        assert first == other, case


def test_holds_no_path_of_the_machine_that_recorded_it() -> None:
    text = gzip.decompress(FILE.read_bytes()).decode()
    assert not re.search(r"/(tmp|home|root|usr|opt|work|mnt)/", text)


def test_only_upstreams_switch_moves_warp_specialization(sweep: EpilogueSweep) -> None:
    for kernel, moved in (("ours", 0), ("upstream", 1)):
        compiled = sweep.compiled_of(EpilogueCase(kernel))
        assert compiled is not None
        assert compiled.a.fact(LOOPS, FLATTENED) == 1
        assert compiled.b.fact(LOOPS, FLATTENED) == 0
        assert compiled.a.fact(LOOPS, SPECIALIZED) == moved
        assert compiled.b.fact(LOOPS, SPECIALIZED) == 0
        assert compiled.a.fact(PTX, "wgmma") > 0
        assert compiled.a.fact(RESOURCES, "registers a thread") > 32
        assert ("also moves warp specialisation" in compiled.notes[0]) is bool(moved)


def test_ptx_of_one_size_of_each_is_kept(sweep: EpilogueSweep) -> None:
    kept = [compared for compared in sweep.compiled.values() if compared.a.ptx]
    assert {compared.a.target for compared in kept} == {"cuda:90"}
    assert len(kept) >= 2
    assert str(ptx_difference(kept[0])).startswith("- overlap")


def test_widget_and_figure_show_it(sweep: EpilogueSweep) -> None:
    panel = EpilogueWidget(source="replay")
    assert panel.case == EpilogueCase()
    assert panel.words["verdict"] == sweep.comparison(EpilogueCase()).verdict
    assert "recorded on NVIDIA H200" in panel.words["label"]
    assert "NVIDIA H200" in overlap_by_tokens(sweep, kernel="upstream").layout.title.text
    panel.tokens = 16
    kept = panel.keep()
    assert len(kept) == 4  # the comparison, both profiles, what the switch changed
    panel.close()
