"""What the gallery's notebooks say in prose is what their cells show and their data holds."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gallery_notebooks import PLOTLY, code_cells, gallery, prose_of

from protonlab import compare, recorded

Run = Callable[[Path], Any]


def test_first_profile_shows_what_it_promises(executed: Run) -> None:
    notebook = executed(gallery("01")).notebook
    magic = next(cell for cell in notebook.cells if cell.source.startswith("%%proton run1"))
    kinds = ["figure" if PLOTLY in o.data else "other" for o in magic.outputs if "data" in o]
    assert kinds.count("figure") == 2  # flame and bars
    shown = "\n".join(
        output.data["text/plain"]
        for cell in code_cells(notebook)
        for output in cell.outputs
        if "data" in output
    )
    for wanted in ("_matmul [M=", "time/us", "gbyte/s", "tflop16/s", "n_tokens/s", "NVIDIA H200"):
        assert wanted in shown
    # The prose labels the recorded data with everything that its numbers depend on.
    prose = prose_of(notebook)
    label = r"NVIDIA H200 on 2026-11-29, with Triton 3\.9\.0, torch 2\.11\.0 and driver 580\.159"
    assert re.search(label, prose)


def test_launch_hook_shows_why_excluding_saves_a_graph(executed: Run) -> None:
    notebook = executed(gallery("02")).notebook
    cells = {
        cell.source.split(maxsplit=2)[1]: cell for cell in notebook.cells if "%%" in cell.source
    }
    magic = cells["graphed"]
    texts = [
        output.get("text") or output.data["text/plain"]
        for cell in code_cells(notebook)
        for output in cell.outputs
    ]
    assert magic.outputs[0].text == "calls of attention_metadata: 0\n"
    assert cells["everything"].outputs[0].text == "calls of attention_metadata: 10\n"
    assert "calls of attention_metadata: 1\n" in cells["careless"].outputs[-1].text
    assert any("1 kernel filtered (10 launches" in text for text in texts)
    assert "{'add_kernel': (2, 1), 'attention_kernel': (2, 1)}" in texts
    assert any("FlameFigure: graph_exclude · time 1.29 ms · NVIDIA H200" in text for text in texts)
    prose = prose_of(notebook)
    label = r"NVIDIA H200 on 2026-11-29, with Triton 3\.9\.0, torch 2\.11\.0 and driver 580\.159"
    assert re.search(label, prose)


def test_slow_to_why_says_what_the_recorded_profiles_say(executed: Run) -> None:
    notebook = executed(gallery("04")).notebook
    prose = prose_of(notebook)
    label = r"NVIDIA H200 on 2026-11-29, with Triton 3\.9\.0, torch 2\.11\.0 and driver 580\.159"
    assert re.search(label, prose)
    train, trace = recorded.gpt_train(), recorded.gpt_trace()
    total = int(train.inclusive["time_ns"].iloc[0])

    def share(pattern: str) -> float:
        kernels = train.kernels
        named = kernels["name"].str.contains(pattern) | kernels["label"].str.contains(pattern)
        return 100 * float(kernels.loc[named, "time_ns"].sum()) / total

    matmuls, attention, optimizer = map(share, ("nvjet", "cudnn", "multi_tensor_apply"))
    loss = share("(?i:softmax)|nll_loss|unrolled_elementwise|bfloat16_copy")
    assert f"A step takes {total / 4e6:.1f} ms of GPU time" in prose
    assert f"are {matmuls:.0f} % of the time, attention {attention:.0f} %. More than half" in prose
    assert 100 - matmuls - attention > 50
    assert f"{loss:.1f} % for the loss alone: more than all of attention" in prose
    assert loss > attention
    assert round(loss / share("nvjet_sm90_tst_192x192")) == 4  # the matmul of the logits
    assert f"{optimizer:.0f} % of the step" in prose
    steps = trace.events[trace.events["name"] == "step"]["duration_ns"] / 1e6
    assert "takes {:.0f} ms. The other two take {:.1f} and {:.1f} ms".format(*steps) in prose
    assert f"of which the GPU works {trace.kernels['time_ns'].sum() / 3e6:.1f} ms" in prose

    kernels = compare(recorded.gpt_eager(), recorded.gpt_compiled()).kernels.set_index("label")
    new = kernels[kernels["change"] == "added"]
    tuned = new[new["count_after"] > 200]
    assert len(tuned) == 4
    fill = tuned.iloc[0]
    assert fill.name == "vectorized_elementwise_kernel<FillFunctor<int>>"
    assert f"launched {fill['count_after']:,.0f} times" in prose
    whole = kernels["after"].sum()
    assert f"Tuning took {tuned['after'].sum() / 1e6:.0f} of the {whole / 1e6:.0f} ms" in prose
    # What is left of the three: one launch for each of four layers and three steps.
    own = 12 * (tuned["after"] / tuned["count_after"]).iloc[1:].sum()
    compiled = (whole - tuned["after"].sum() + own) / 3e6
    eager = kernels["before"].sum() / 2e6
    assert f"a compiled step takes {compiled:.2f} ms of GPU time against {eager:.2f} ms" in prose
    assert f"made the kernels {100 * (1 - compiled / eager):.0f} % faster" in prose
    launches = (kernels["count_after"].sum() - tuned["count_after"].sum() + 3 * 12) / 3
    eager_launches = kernels["count_before"].sum() / 2
    assert f"with {launches:.0f} launches against {eager_launches:.0f}" in prose

    per_launch = compare(recorded.gpt_eager(), recorded.gpt_compiled(), metric="avg_time/us")
    matmuls = per_launch.kernels[per_launch.kernels["label"].str.contains("nvjet")]
    assert (matmuls["ratio"] - 1).abs().max() < 0.021  # "give or take 2 %"; none is new or gone

    figures = [o.data for cell in code_cells(notebook) for o in cell.outputs if PLOTLY in o.data]
    assert len(figures) == 6
    assert any("matched 12.7 % of time" in figure["text/plain"] for figure in figures)


def test_metrics_in_pandas_says_what_the_recorded_profiles_say(executed: Run) -> None:
    notebook = executed(gallery("03")).notebook
    prose = prose_of(notebook)
    label = r"NVIDIA H200 on 2026-11-29, with Triton 3\.9\.0, torch 2\.11\.0 and driver 580\.159"
    assert re.search(label, prose)
    sweep, train = recorded.moe_sweep(), recorded.gpt_train()
    kernels = sweep.to_dataframe(["avg_time/us", "gbyte/s", "util"], by="kernel")
    tokens = kernels["name"].str.extract(r"\(M\) = (\d+)")[0].astype(int)
    up = kernels.assign(tokens=tokens)[kernels["name"].str.contains("swiglu")].set_index("tokens")
    assert len(up) == 4
    ratio = up["avg_time/us"][4] / up["avg_time/us"][1]
    assert f"a launch of the larger matmul takes {ratio:.1f} times as long" in prose
    assert up["util"].drop(64).between(0.4, 0.6).all()
    assert "at 64 arithmetic is the bound, and the bandwidth falls to 1 TB/s" in prose
    assert (up["util_bound"][64], round(up["gbyte/s"][64] / 1000)) == ("flops", 1)
    scopes = train.frames[train.frames["label"].astype(str).str.fullmatch(r"layer_\d+")]
    assert scopes["label"].nunique() == 8
    assert "If one of the eight were slower" in prose
    (pivot,) = [cell for cell in notebook.cells if "kernels.pivot(" in cell.source]
    assert f"{up['avg_time/us'][4]:.2f}" in pivot.outputs[0].data["text/plain"]
    assert "scale [32 x 256]" in code_cells(notebook)[-1].outputs[0].data["text/plain"]


def test_report_notebook_shares_reads_back_and_gates(executed: Run) -> None:
    notebook = executed(gallery("06")).notebook
    cells = code_cells(notebook)
    assert cells[0].metadata.tags == ["parameters"]
    shown = ["".join(str(output.get("text") or output.get("data", {}).get("text/plain"))
             for output in cell.outputs) for cell in cells]  # fmt: skip
    assert re.fullmatch(r"'sweep\.html: \d\.\d MB'", shown[3])
    assert "_matmul_NNT_bf16xbf16xmxfp4_64x128x128x1" in shown[4]
    assert "failed: 1 of 1 slower by more than 10 %" in shown[5]
    command = re.search(r"protonlab report (\S+) --execute -p rows=4096", prose_of(notebook))
    assert command is not None
    assert command[1] == gallery("06").name


def test_many_ranks_says_what_the_recorded_run_says(executed: Run) -> None:
    notebook = executed(gallery("07")).notebook
    prose = prose_of(notebook)
    label = r"NVIDIA H200s.* on 2026-11-30, with Triton 3\.9\.0, torch 2\.11\.0 and driver 580\.159"
    assert re.search(label, prose)
    run = recorded.ddp_two_gpus()
    ranks = run.by_rank("time/ms")
    first, second = ranks.iloc[0], ranks.iloc[1]
    assert first["label"].startswith("nvjet")
    assert f"rank 1 spends {first[1]:.0f} ms where rank 0 spends {first[0]:.0f} ms" in prose
    assert second["label"].startswith("ncclDevKernel_AllReduce")
    assert f"{second[0]:.0f} ms on rank 0, {second[1]:.0f} ms on rank 1" in prose
    assert (ranks["spread"].iloc[2:] < 0.11).all()  # "about a tenth at most"
    found = run.stragglers()
    assert (found.known, found.ranks, found.n) == (True, (1,), 11)
    assert found.table["last"].to_dict() == {0: 0, 1: 88}
    assert "in data" in " ".join(found.notes)
    begun = found.waits[found.waits["step"] == 0]
    assert begun[1].sum() > 0 == begun[0].sum()  # in that step it was rank 1 that waited


def test_many_ranks_profiles_engines_and_finds_the_night(executed: Run) -> None:
    cells = code_cells(executed(gallery("07")).notebook)
    (together,) = [cell for cell in cells if cell.source.startswith("%%proton together ranks=all")]
    shown = "\n".join(
        output.get("text") or output.data["text/plain"] for output in together.outputs
    )
    for rank in (0, 1):
        assert f"Out[{rank}:" in shown
    assert "together: 2 ranks" in shown
    assert re.search(r"^softmax .* rank [01]$", shown, re.MULTILINE)
    history, slower = (cell.outputs[0].data["text/plain"] for cell in cells[-2:])
    nights = re.findall(r"night ([1-8]) +([\d.]+) .* (True|False) ", history)
    assert [night for night, *_ in nights] == [*"12345678"]
    before, after = ([float(value) for _, value, _ in part] for part in (nights[:5], nights[5:]))
    assert statistics.median(after) > statistics.median(before)  # ten passes in place of one
    # Beside other work times scatter, and an archive calls no scatter a change.
    if all(max(part) < 1.5 * min(part) for part in (before, after)):
        assert [night for night, _, changed in nights if changed == "True"][-1:] == ["6"]
        assert re.search(r"softmax +night 6 ", slower)
