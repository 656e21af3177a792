"""How a run shows itself in text: each sentence once."""

from __future__ import annotations

import pytest

from protonlab import recorded
from protonlab.display import run_views, show_run
from protonlab.views.rank_words import WAITING


def test_what_the_summary_of_a_run_says_does_not_stand_below_its_table_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = recorded.ddp_two_gpus()
    show_run(run)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ddp_two_gpus: 2 ranks, NVIDIA H200")
    assert any(line.startswith("ncclDevKernel") for line in lines)
    assert len(lines) == len(set(lines))
    assert all(lines.count(note) == 1 for note in run.notes)


def test_figures_of_a_run_leave_out_what_its_summary_says() -> None:
    run = recorded.ddp_two_gpus()
    summary, _, *views, kernels, _ = run_views(run, draws=True)
    assert str(summary).splitlines()[1:] == list(run.notes)
    texts = [note.text for view in views for note in view.layout.annotations if note.name]
    assert [text.split("<br>")[0] for text in texts] == [WAITING, "2 more kernels: top=20."]
    assert kernels.note == ""


def test_flame_alone_is_the_tree_of_the_ranks_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded.ddp_two_gpus()
    show_run(run, view=("flame",))
    out = capsys.readouterr().out
    assert "└─ train_step" in out
    assert "spread (%)" in out
    assert all(out.count(note) == 1 for note in run.notes)
