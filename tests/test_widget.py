"""The widget of epilogue overlap, without a browser: choices, words, pictures, bad arguments."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from sweeps import synthetic_comparison
from widgets import FOUR, SWEEP, widget

from protonlab import EpilogueWidget, recorded
from protonlab.epilogue import EpilogueCase, has_upstream
from protonlab.errors import ProtonLabError
from protonlab.widget._words import headline, sentence


def test_replay_opens_with_all_that_was_recorded() -> None:
    panel = widget()
    assert panel.comparison is not None
    assert panel.comparison.values[0].tolist() == SWEEP.comparison(FOUR).values[0].tolist()
    assert panel.words["verdict"] == SWEEP.comparison(FOUR).verdict
    assert panel.words["label"] == (
        "replay of what was recorded on a synthetic GPU, triton 0.0, 2000-01-01"
    )
    assert panel.choices == {
        "kernel": ["ours", "upstream"],
        "tokens": [1, 4, 16, 64],
        "experts": [128],
        "n": [5760],
        "k": [256, 5760],
    }
    assert "FLATTEN_LOOPS" in panel.table
    assert panel.chart["layout"]["title"]["text"].startswith("<b>our kernel, 128 experts")
    assert "verdict" not in panel.words["problem"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_hopper_gpu_it_says_what_it_needs_and_replays() -> None:
    panel = widget(source="auto")
    assert panel.source == "replay"
    assert panel.words["status"].startswith("Measuring epilogue overlap needs an NVIDIA Hopper GPU")
    assert panel.words["status"].endswith("so this is a replay.")


def test_toggle_chooses_the_side_that_is_told() -> None:
    panel = widget(overlap=False)
    on, off = panel.words["headlines"]
    assert on.startswith("Overlap on: 3,1")
    assert off.startswith("Overlap off: 3,2")
    longer, less = panel.words["sentences"]
    assert "With overlap on, a call takes 2." in longer
    assert "% longer" in longer
    assert "With overlap off, a call takes 2." in less
    assert "% less" in less
    assert panel._static().startswith("<p><strong>Overlap off: 3,2")


@pytest.mark.parametrize(
    ("field", "value", "taken"), [("tokens", 3, 4), ("tokens", 500, 64), ("k", 1024, 256)]
)
def test_replay_takes_the_nearest_that_was_recorded(field: str, value: int, taken: int) -> None:
    panel = widget()
    setattr(panel, field, value)
    assert getattr(panel, field) == taken
    assert panel.comparison is not None
    assert panel.words["verdict"] == SWEEP.comparison(panel.case).verdict
    assert f"{value}" in panel.words["notice"]
    assert panel.words["notice"].endswith("Shown is the nearest.")
    panel.kernel = "upstream"
    assert "notice" not in panel.words  # what is asked for now was recorded


@pytest.mark.skipif(has_upstream(), reason="upstream's kernels are installed")
def test_gpu_measures_ours_where_upstreams_kernel_is_not_installed() -> None:
    panel = widget(EpilogueCase("upstream", 16, k=256))
    panel.source = "gpu"
    assert panel.case == EpilogueCase("ours", 16, k=256)
    assert panel.choices["kernel"] == ["ours"]
    said = "Upstream's kernel needs triton_kernels, which is missing here: ours is chosen."
    assert panel.words["notice"] == said
    panel.source = "replay"
    assert panel.case == EpilogueCase("ours", 16, k=256)
    assert "notice" not in panel.words
    assert EpilogueWidget(EpilogueCase("upstream"), source="gpu").kernel == "ours"


@pytest.mark.parametrize("source", ["gpu", "replay", "interpreter"])
@pytest.mark.parametrize(
    ("field", "value"), [("tokens", 3), ("experts", 7), ("n", 512), ("k", 32768)]
)
def test_whatever_one_source_has_another_one_shows_what_it_offers(
    field: str, value: int, source: str
) -> None:
    panel = widget(source="gpu")
    setattr(panel, field, value)
    assert getattr(panel, field) == value
    assert "notice" not in panel.words
    panel.source = source
    for name, offered in panel.choices.items():
        if source == "replay":
            assert getattr(panel, name) in offered
    assert panel.words["problem"] == ""
    panel.source = "gpu"
    assert panel.choices["experts"] == {"min": 1, "max": 1024, "step": 1}
    assert panel.words["problem"] == ""


@pytest.mark.parametrize(("field", "value"), [("k", 100), ("tokens", 0), ("kernel", "theirs")])
def test_what_is_not_legal_does_not_follow_to_another_source(field: str, value: Any) -> None:
    panel = widget(source="gpu")
    panel.n = 512
    setattr(panel, field, value)
    assert panel.words["problem"].startswith(f"{field}={value!r}; give")
    panel.source = "replay"
    assert panel.case == FOUR
    assert panel.words["problem"] == ""
    assert panel.words["notice"].startswith(f"Not taken over: {field}={value!r}; give")
    assert panel.words["notice"].endswith("Shown is the nearest.")
    panel.source = "gpu"
    assert (panel.case, panel.words["problem"]) == (FOUR, "")


def test_replay_offers_what_was_recorded_of_this_kernel_and_shape() -> None:
    few = EpilogueCase("upstream", 4), EpilogueCase("upstream", 16, k=256)
    recorded = {
        case: found
        for case, found in SWEEP.comparisons.items()
        if case.kernel == "ours" or case in few
    }
    panel = EpilogueWidget(
        EpilogueCase("ours", 64), source="replay", sweep=replace(SWEEP, comparisons=recorded)
    )
    assert panel.choices["tokens"] == [1, 4, 16, 64]
    panel.kernel = "upstream"
    assert (panel.tokens, panel.choices["tokens"], panel.choices["k"]) == (4, [4], [256, 5760])
    assert panel.words["notice"] == (
        "Not recorded: upstream's kernel, 128 experts, 64 tokens each, 5760 x 5760. "
        "Shown is the nearest."
    )
    panel.k = 256
    assert (panel.tokens, panel.choices["tokens"]) == (16, [16])
    panel.close()


def test_choices_change_chart_table_and_verdict() -> None:
    panel = widget()
    before = panel.words["verdict"], panel.chart, panel.table
    panel.kernel, panel.k = "upstream", 256
    after = panel.words["verdict"], panel.chart, panel.table
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert "also moves warp specialisation" in panel.table


def test_what_is_not_known_of_a_case_is_not_shown_of_another() -> None:
    sweep = replace(SWEEP, compiled={FOUR: SWEEP.compiled[FOUR]})
    panel = EpilogueWidget(FOUR, source="replay", sweep=sweep)
    assert "FLATTEN_LOOPS" in panel.table
    panel.tokens = 16
    assert panel.table == ""
    assert panel.compiled is None
    panel.close()


def test_interpreter_offers_no_choice_that_it_would_not_follow() -> None:
    panel = widget()
    panel.source = "interpreter"  # always computes the same small matmul
    assert panel.choices == {}
    answered_to = {"source": "interpreter", "running": False, **dataclasses.asdict(FOUR)}
    assert panel.words == {"status": "Press Start to compute.", "problem": "", "of": answered_to}
    assert (panel.chart, panel.table) == ({}, "")
    panel.source = "replay"
    assert panel.case == FOUR
    assert panel.words["label"].startswith("replay of what was recorded on")


def test_what_cannot_be_is_shown_and_taken_back() -> None:
    panel = widget()
    panel.tokens = -1
    assert panel.words["problem"] == "tokens=-1; give a number from 1 to 8192"
    assert "tokens=-1" not in repr(panel)
    assert panel.chart == {}  # numbers of another case would stand beside it
    assert "headlines" not in panel.words
    panel.tokens = 4
    assert panel.words["problem"] == ""
    panel.source = "oracle"
    assert "source='oracle'; give one of 'gpu', 'replay', 'interpreter'" in panel.words["problem"]


def test_keeps_results_in_variables(shell: InteractiveShell) -> None:
    panel = widget(into="mine")
    kept = panel.keep()
    assert set(kept) == {"mine", "mine_compiled"}  # a made-up comparison has no profiles
    assert shell.user_ns["mine"] is panel.comparison
    assert shell.user_ns["mine_compiled"] is panel.compiled
    assert panel.words["kept"] == "Kept in mine, mine_compiled: 24 pairs."
    panel.tokens = 16
    assert "kept" not in panel.words  # it is not what is shown now


def test_figure_is_the_static_twin() -> None:
    figure = widget().figure()
    assert "serial is 2.5 % faster" in repr(figure)
    texts = [note.text for note in figure.layout.annotations]
    assert any("Replay of what was recorded on a synthetic GPU" in text for text in texts)
    assert any(text.startswith("↑ copy, measured: 4,250 GB/s") for text in texts)
    assert any("published, other conditions, flattened: 2,650 GB/s" in text for text in texts)
    assert "published" not in widget(EpilogueCase("ours", 16)).figure().to_json()


def test_sentence_and_verdict_round_alike() -> None:
    panel = widget(EpilogueCase(), sweep=recorded.epilogue_sweep())
    (bounds,) = re.findall(r"95 % interval ([\d.]+ to [\d.]+)", panel.words["verdict"])
    assert f"(95 % interval {bounds} %, " in panel.words["sentences"][0]


def test_figure_warns_as_the_panel_does_whose_chart_does_not_twice() -> None:
    panel = widget(EpilogueCase(), sweep=recorded.epilogue_sweep())
    warnings = panel.words["warnings"]
    assert len(warnings) == 3  # the clock moved, a power cap, one clock for both
    drawn = _notes(panel.figure().layout.annotations)
    assert all(f"Warning: {each}" in drawn for each in warnings)
    assert "Warning" not in panel._static().split("<svg")[0]
    assert "power cap" in panel._static()
    assert "Warning" not in _notes(panel.chart["layout"]["annotations"])


def _notes(annotations: Any) -> str:
    return " ".join(each["text"].replace("<br>", " ") for each in annotations)


def test_outside_of_a_notebook_it_is_a_picture() -> None:
    bundle = widget()._repr_mimebundle_()
    assert "application/vnd.plotly.v1+json" in bundle  # what an exported page draws
    assert "<svg" in bundle["text/html"]
    assert "<script" not in bundle["text/html"]
    assert bundle["text/plain"].startswith("<EpilogueWidget: our kernel, 128 experts, 4 tokens")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"source": "oracle"}, "source='oracle'; give one of 'auto', 'gpu', 'replay'"),
        ({"into": "no name"}, "into='no name' is no name of a variable"),
        ({"into": 3}, "into=3 is no name of a variable"),
        ({"into": "class"}, "into='class' is no name of a variable"),
        ({"overlap": "x"}, "overlap='x'; give True or False"),
        ({"overlap": None}, "overlap=None; give True or False"),
        ({"case": ("ours", 4)}, "case is of type tuple; give an EpilogueCase, or leave it out"),
        ({"sweep": "sweep.json.gz"}, "sweep is of type str; give an EpilogueSweep, or leave it"),
    ],
)
def test_arguments_that_are_not_legal(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ProtonLabError, match=says):
        EpilogueWidget(**wrong)


def test_closing_twice_is_harmless() -> None:
    panel = widget()
    panel.close()
    panel.close()
    assert panel.comm is None


def test_words_of_a_clear_case_an_unclear_one_and_none() -> None:
    clear = synthetic_comparison(1000.0, 1250.0, spread=0.0)
    assert headline(clear, overlap=True) == "Overlap on: 1,000 GB/s (off: 1,250 GB/s)"
    assert sentence(clear, overlap=True) == (
        "With overlap on, a call takes 25.0 % longer (95 % interval 25.0 to 25.0 %, 24 pairs)."
    )
    assert sentence(clear, overlap=False).startswith("With overlap off, a call takes 20.0 % less")
    unclear = synthetic_comparison(1000.0, 1000.0)
    said, ratio = "Cannot tell the settings apart: with overlap {}, a call takes {}", unclear.ratio
    between = "between {:.2g} % less and {:.2g} % more time (24 pairs)."
    on = between.format(100 * (1 - ratio.low), 100 * (ratio.high - 1))
    off = between.format(100 * (1 - 1 / ratio.high), 100 * (1 / ratio.low - 1))
    assert sentence(unclear, overlap=True) == said.format("on", on)
    assert sentence(unclear, overlap=False) == said.format("off", off)
    assert sentence(clear.first(0), overlap=True) == "Nothing measured yet."
    assert headline(clear.first(0), overlap=False) == "Overlap off"
    assert sentence(clear.first(1), overlap=True).startswith("Cannot tell yet")
