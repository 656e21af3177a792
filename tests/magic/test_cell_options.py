"""The option line of a `%%proton` cell: what it changes, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from IPython.core.error import UsageError

if TYPE_CHECKING:
    from conftest import Notebook


def test_view_none_silences_the_profile_but_not_the_value(notebook: Notebook) -> None:
    assert notebook.run("%%proton view=none\ndouble()").out == "Out[1]: 7\n"
    assert notebook.run("%%proton view=none\ndouble();").out == ""
    assert notebook.launches() == {"p_double": 1}


def test_a_name_that_was_taken_by_something_else_is_said(notebook: Notebook) -> None:
    ran = notebook.run("%%proton x view=none\ndouble();")
    assert ran.out == "x was a Tensor, and is what this cell recorded now\n"
    assert notebook.launches("x") == {"p_double": 1}
    notebook.run("x = torch.ones(16, device=device())")
    notebook.run("%%proton x\nimport triton.profiler\ntriton.profiler.finalize()")
    assert notebook["x"] is not None  # nothing was recorded that could take its place
    for file in Path().glob("proton*"):
        file.unlink()
    assert notebook.run("%%proton run1 view=none\ndouble();").out == ""
    assert notebook.run("%%proton run1 view=none\ndouble();").out == ""


def test_options_reach_the_session(notebook: Notebook) -> None:
    notebook.run("%%proton run1 exclude=clear context=python record=n_tokens view=none\nboth()")
    info = notebook["run1"].info
    assert (info.include, info.exclude, info.context) == (None, "clear", "python")
    assert "bytes" not in notebook["run1"].frames


def test_record_keeps_what_it_names(notebook: Notebook) -> None:
    notebook.run("%%proton run1 record=bytes view=none\ndouble()")
    assert notebook["run1"].kernels["bytes"].tolist() == [128]


def test_hook_brings_its_own_filter(notebook: Notebook) -> None:
    notebook.run("mine = LaunchHook(include='clear')")
    notebook.run("%%proton run1 hook=mine view=none\nboth()")
    assert notebook["run1"].info.include == "clear"
    assert notebook["run1"].info.launches == {"_p_double": (1, 0), "clear": (1, 1)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hook=mine", "hook=mine: there is no variable mine; make one with "
         "mine = protonlab.LaunchHook(include=…)"),
        ("hook=x", "hook=x: x is a Tensor, not a protonlab.LaunchHook"),
        ("incude=a", "incude is not an option of %%proton. Did you mean include?"),
        ("include=a(", "include is not a regular expression: missing ), unterminated subpattern "
         "at position 1\n    a(\n     ^\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("above", ["", "%%time\n"])
def test_wrong_line_fails_the_cell_and_does_not_run_it(
    notebook: Notebook, line: str, message: str, above: str
) -> None:
    ran = notebook.run(f"{above}%%proton {line}\nran = True")
    assert isinstance(ran.result.error_in_exec, UsageError)
    assert ran.err.startswith(f"UsageError: {message}")
    assert "Traceback" not in ran.err + ran.out
    assert "ran" not in notebook
    assert "_proton" not in notebook


def test_the_line_is_taken_raw(notebook: Notebook) -> None:
    notebook.run("%%proton run1 include=_p_\\w{1,9}$x|{x}\\\\ exclude='a \"b'\ndouble();")
    assert notebook["run1"].info.include == "_p_\\w{1,9}$x|{x}\\\\"
    assert notebook["run1"].info.exclude == 'a "b'


def test_nothing_matched_lists_the_names_seen(notebook: Notebook) -> None:
    ran = notebook.run("%%proton include=double\nboth()")
    lines = ran.out.splitlines()
    assert lines[0].startswith("proton: no kernel kept, 2 kernels filtered (2 launches, 100 %)")
    assert lines[1] == (
        "No kernel passed include=double. Patterns are anchored at the start of the compiled name "
        "(re.match); begin with .* to match anywhere. Names seen: _p_double, clear"
    )


def test_metric_that_no_kernel_recorded_is_said_after_the_cell(notebook: Notebook) -> None:
    ran = notebook.run("%%proton run1 metrics=n_tokens/s\ndouble()")
    assert "'n_tokens/s' is not a metric of this profile." in ran.out
    assert "run1: 1 kernel kept" in ran.out


def test_metrics_choose_the_columns(notebook: Notebook) -> None:
    ran = notebook.run("%%proton metrics=bytes\ndouble();")
    assert "bytes" in ran.out
    assert "avg_time" not in ran.out
