"""The gallery: each notebook is stored clean, keeps its promise short, and runs."""

from __future__ import annotations

import functools
import re
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest

from protonlab import compare, recorded
from protonlab.report import read_notebook, run_notebook

GALLERY = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
PLOTLY = "application/vnd.plotly.v1+json"


@pytest.fixture(params=GALLERY, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    return read_notebook(request.param)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_gallery_is_numbered_from_one() -> None:
    numbers = [path.name.partition("_")[0] for path in GALLERY]
    assert all(re.fullmatch(r"0[1-9]", number) for number in numbers)
    assert len({*numbers}) == len(numbers)
    assert GALLERY[0].name == "01_first_profile.ipynb"


def test_stored_without_outputs(notebook: Any) -> None:
    for cell in code_cells(notebook):
        assert cell.outputs == []
        assert cell.execution_count is None


def test_stored_as_nbformat_writes_it() -> None:
    for path in GALLERY:
        assert path.read_text() == nbformat.writes(read_notebook(path)) + "\n"


def test_opens_with_one_sentence_of_promise(notebook: Any) -> None:
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    heading, promise = first.source.split("\n\n")
    assert re.fullmatch(r"# .+", heading)
    assert re.fullmatch(r"[^.!?]+\.", promise)


def test_has_at_most_ten_code_cells(notebook: Any) -> None:
    assert len(code_cells(notebook)) <= 10


def test_code_is_explained(notebook: Any) -> None:
    assert sum(cell.cell_type == "markdown" for cell in notebook.cells) >= 3


@functools.cache
def executed(path: Path) -> tuple[Any, str | None, float]:
    """The notebook after a run, what went wrong, and the seconds it took."""
    notebook = read_notebook(path)
    start = time.monotonic()
    problem = run_notebook(notebook, folder=path.parent)
    return notebook, problem, time.monotonic() - start


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_runs_in_under_a_minute(path: Path) -> None:
    _, problem, seconds = executed(path)
    assert problem is None
    assert seconds < 60


def test_first_profile_shows_what_it_promises() -> None:
    notebook, _, _ = executed(GALLERY[0])
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
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    label = r"NVIDIA H200 on 2026-11-29, with Triton 3\.9\.0, torch 2\.11\.0 and driver 580\.159"
    assert re.search(label, prose)


def test_launch_hook_shows_why_excluding_saves_a_graph() -> None:
    notebook, _, _ = executed(GALLERY[1])
    (magic,) = [cell for cell in notebook.cells if cell.source.startswith("%%proton graphed")]
    texts = [
        output.get("text") or output.data["text/plain"]
        for cell in code_cells(notebook)
        for output in cell.outputs
    ]
    assert magic.outputs[0].text == "attention_metadata was called 0 times\n"
    assert any("1 kernel filtered (10 launches" in text for text in texts)
    assert "{'add_kernel': (2, 1), 'attention_kernel': (2, 1)}" in texts
    assert any("FlameFigure: graph_exclude · time 1.29 ms · NVIDIA H200" in text for text in texts)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    label = r"NVIDIA H200 on 2026-11-29, with Triton 3\.9\.0, torch 2\.11\.0 and driver 580\.159"
    assert re.search(label, prose)


def test_slow_to_why_says_what_the_recorded_profiles_say() -> None:
    (path,) = [path for path in GALLERY if path.name == "04_flame_and_bars.ipynb"]
    notebook, _, _ = executed(path)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
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
