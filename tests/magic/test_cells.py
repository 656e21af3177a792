"""``%%proton`` cells in a real IPython shell."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import nullcontext as nothing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from protonlab.model import Profile

if TYPE_CHECKING:
    from conftest import Notebook


def test_last_expression_shows_and_the_profile_after_it(notebook: Notebook) -> None:
    ran = notebook.run("%%proton run1 include=_p_.*\nboth()\ndouble()")
    assert ran.result.result == 7
    assert ran.out.index(": 7\n") < ran.out.index("run1: 1 kernel kept (2 launches, ")
    assert re.search(r", 1 kernel filtered \(1 launch, .* %\) of .*s( GPU time)? · \w+", ran.out)
    assert notebook["run1"] is notebook["_proton"]
    assert isinstance(notebook["run1"], Profile)
    assert notebook["run1"].info.name == "run1"
    assert notebook.launches("run1") == {"p_double": 2, "clear": 1}


def test_without_name_only_proton_is_set(notebook: Notebook) -> None:
    notebook.run("double();")  # Triton's interpreter leaves names of its own beside the kernel
    before = set(notebook.shell.user_ns)
    notebook.run("%%proton\ndouble();", store_history=False)
    assert set(notebook.shell.user_ns) - before == {"_proton"}
    assert notebook["_proton"].info.name == "proton"


def test_semicolon_silences_the_value_but_not_the_profile(notebook: Notebook) -> None:
    ran = notebook.run("%%proton\ndouble();")
    assert "7" not in ran.out.split("proton: 1 kernel kept")[0]
    assert ran.shown


def test_line_numbers_of_tracebacks_are_those_of_the_cell(notebook: Notebook) -> None:
    ran = notebook.run("%%proton run1\ndouble()\n\n1 / 0\n")
    assert isinstance(ran.result.error_in_exec, ZeroDivisionError)
    assert ran.out.count("ZeroDivisionError: division by zero") == 1
    assert "----> 4 1 / 0" in ran.out
    assert "line 4" in ran.out.split("----> 4")[0]
    assert "protonlab" not in ran.out.split("run1: ")[0]  # no frame of ours
    assert "run1: 1 kernel kept (1 launch, 100 %)" in ran.out
    assert ran.out.index("division by zero") < ran.out.index("run1: ")
    assert notebook.launches("run1") == {"p_double": 1}


def test_kernel_that_fails_shows_no_line_of_ours(notebook: Notebook) -> None:
    ran = notebook.run("%%proton run1\ndouble()\n_p_double[(1,)](7, 16, BLOCK=16)")
    assert ran.result.error_in_exec is not None
    assert "----> 3 _p_double[(1,)](7, 16, BLOCK=16)" in ran.out
    assert "protonlab" not in ran.out.split("run1: ")[0]
    assert notebook.launches("run1") == {"p_double": 1}


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit", "RuntimeError"])
def test_cell_that_ends_by_an_exception(notebook: Notebook, error: str) -> None:
    with pytest.warns(UserWarning, match="To exit") if error == "SystemExit" else nothing():
        ran = notebook.run(f"%%proton run1\ndouble()\nraise {error}")
    assert type(ran.result.error_in_exec).__name__ == error
    assert "run1: 1 kernel kept (1 launch, 100 %)" in ran.out
    assert notebook.launches("run1") == {"p_double": 1}


def test_syntax_error(notebook: Notebook) -> None:
    ran = notebook.run("%%proton run1\ndouble()\n1 +\n")
    assert isinstance(ran.result.error_before_exec, SyntaxError)
    assert ran.result.error_before_exec.lineno == 3
    assert ran.out.count("SyntaxError") == 1
    assert "run1: no kernel was launched" in ran.out
    assert notebook.launches("run1") == {}


def test_future_import_may_follow_the_line(notebook: Notebook) -> None:
    ran = notebook.run("%%proton view=none\nfrom __future__ import annotations\ndef f(a: B): ...\n")
    assert ran.result.success
    assert notebook["f"].__annotations__ == {"a": "B"}


def test_strings_are_left_alone(notebook: Notebook) -> None:
    text = "a\n  %%proton b\n%%proton c\n\n\td {x} $x \\ e"
    notebook.run(f"%%proton view=none\ntext = r'''{text}'''\n")
    assert notebook["text"] == text


def test_magic_lines_in_the_body(notebook: Notebook) -> None:
    ran = notebook.run("%%proton view=none\n%time a = double()\na")
    assert "Wall time" in ran.out
    assert ran.result.result == 7
    assert notebook.launches() == {"p_double": 1}


@pytest.mark.parametrize(
    "top", ["%%proton run1 view=none\n\n%%time\n", "%%time\n%%proton run1 view=none\n"]
)
def test_cell_magic_and_ours_in_either_order(notebook: Notebook, top: str) -> None:
    ran = notebook.run(f"{top}double()\n")
    assert "Wall time" in ran.out
    assert ran.result.result == 7
    assert notebook.launches("run1") == {"p_double": 1}


def test_capture_on_top_keeps_the_profile_out_of_the_page(notebook: Notebook) -> None:
    ran = notebook.run("%%capture kept\n%%proton run1\ndouble()")
    assert ran.out == ""
    assert "run1: 1 kernel kept" in "".join(
        [notebook["kept"].stdout, *(o.data["text/plain"] for o in notebook["kept"].outputs)]
    )
    assert notebook.launches("run1") == {"p_double": 1}


def test_await_at_top_level_stays_on_the_thread(notebook: Notebook) -> None:
    ran = notebook.run(
        "%%proton run1 view=none\nimport asyncio, threading\nbefore = threading.get_ident()\n"
        "await asyncio.sleep(0)\ndouble()\nthreading.get_ident() == before"
    )
    assert ran.result.result is True
    assert notebook.launches("run1") == {"p_double": 1}


def test_cell_may_define_a_kernel(notebook: Notebook) -> None:
    ran = notebook.run(
        "%%proton run1 view=none\n@triton.jit\ndef fresh(x, BLOCK: tl.constexpr):\n"
        "    at = tl.arange(0, BLOCK)\n    tl.store(x + at, tl.load(x + at) + 1)\n"
        "fresh[(1,)](x, BLOCK=16)"
    )
    assert ran.result.success
    assert notebook.launches("run1") == {"fresh": 1}


def test_leading_blank_lines_and_prompts(notebook: Notebook) -> None:
    notebook.run("\n\n   %%proton run1 view=none\n   double();")
    notebook.run(">>> %%proton run2 view=none\n>>> double();")
    assert notebook.launches("run1") == notebook.launches("run2") == {"p_double": 1}


def test_proton_that_cannot_start_says_why(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.run("%%proton run1 view=none\ndouble();")
    monkeypatch.setenv("TRITON_PROTON_DISABLE", "1")
    ran = notebook.run("%%proton run1\ndouble()")
    assert ran.result.result == 7
    assert ran.out.startswith("Out[2]: 7\nsession 'run1' has no profile: ")
    assert "TRITON_PROTON_DISABLE" in ran.out
    assert ran.out.count("\n") == 2
    assert notebook["run1"] is notebook["_proton"] is None  # not the profile of an older cell


@pytest.mark.parametrize("store_history", [True, False])
def test_stored_and_unstored_cells_are_profiled(notebook: Notebook, store_history: bool) -> None:
    notebook.run("%%proton run1 view=none\ndouble();", store_history=store_history)
    assert notebook.launches("run1") == {"p_double": 1}


def test_silent_cell_runs_unprofiled(notebook: Notebook) -> None:
    ran = notebook.run("%%proton run1\na = double()", silent=True)
    assert (ran.result.success, ran.out, notebook["a"]) == (True, "", 7)
    assert "run1" not in notebook


def test_notebook_under_run_is_silent_too(notebook: Notebook) -> None:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None}
    cell["source"] = ["%%proton run1\n", "a = double()\n"]
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path("book.ipynb").write_text(json.dumps(book))
    ran = notebook.run("%run -i book.ipynb")
    assert (ran.result.success, ran.out, notebook["a"]) == (True, "", 7)


def test_nested_cells_have_a_profile_each(notebook: Notebook) -> None:
    notebook.run(
        "%%proton outer view=none\nboth()\n"
        "get_ipython().run_cell('%%proton inner view=none\\ndouble();')\ndouble();"
    )
    assert notebook.launches("inner") == {"p_double": 1}
    assert notebook.launches("outer") == {"p_double": 3, "clear": 1}


def test_run_cell_async_outside_of_a_cell_is_closed_by_the_next_one(notebook: Notebook) -> None:
    source = "%%proton run1\nawait asyncio.sleep(0)\ndouble();"
    notebook.run("import asyncio")
    shell = notebook.shell
    asyncio.run(shell.run_cell_async(source, transformed_cell=shell.transform_cell(source)))
    ran = notebook.run("1")  # IPython fires no event at the end of a bare run_cell_async
    assert "run1: 1 kernel kept" in ran.out
    assert notebook.launches("run1") == {"p_double": 1}


def test_cell_cancelled_before_it_began(notebook: Notebook) -> None:
    # Kernels then report no result at all.
    events = notebook.shell.events
    events.trigger("pre_run_cell", SimpleNamespace(raw_cell="%%proton run1 view=none\n1"))
    assert not notebook.nothing_is_open
    events.trigger("post_run_cell", None)
    assert notebook.nothing_is_open
    assert notebook.launches("run1") == {}


def test_terminal_waits_for_an_empty_line(notebook: Notebook) -> None:
    complete = notebook.shell.input_transformer_manager.check_complete
    assert complete("%%proton run1\n")[0] == "incomplete"
    assert complete("%%proton run1\ndouble()\n")[0] == "incomplete"
    assert complete("%%proton run1\ndouble()\n\n")[0] == "complete"


def test_transforming_starts_nothing_and_twice_is_once(notebook: Notebook) -> None:
    shell = notebook.shell
    once = shell.transform_cell("%%proton run1\ndouble()\n")
    assert once == "# %%proton run1\ndouble()\n"
    assert shell.transform_cell(once) == once
    assert notebook.nothing_is_open


def test_showing_a_value_is_not_recorded(notebook: Notebook) -> None:
    notebook.run(
        "class Shown:\n"
        "    def __repr__(self):\n"
        "        double()\n"
        "        return 'seven'\n"
        "shown = Shown()"
    )
    ran = notebook.run("%%proton run1 view=none\nboth()\nshown")
    assert "seven" in ran.out
    assert notebook.launches("run1") == {"p_double": 1, "clear": 1}
    again = notebook.run("%%proton run1 view=none\nshown\nboth()\n1 / 0")
    assert "ZeroDivisionError" in again.out
    assert notebook.launches("run1") == {"p_double": 1, "clear": 1}


def test_a_value_after_finalize_shows_and_one_sentence_says_why(notebook: Notebook) -> None:
    ran = notebook.run("%%proton run1\nimport triton.profiler\ntriton.profiler.finalize()\n7")
    assert ran.result.success
    assert ": 7\n" in ran.out
    assert "finalized while it was being recorded" in ran.out
    for file in Path().glob("proton*"):
        file.unlink()


def test_interrupt_while_the_profile_is_read_leaves_no_older_one(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(parts: Any, source: Any) -> None:
        raise KeyboardInterrupt

    notebook.run("%%proton run1 view=none\ndouble()")
    monkeypatch.setattr("protonlab.capture._reading.result_of", interrupted)
    notebook.run("%%proton run1\ndouble()")
    assert notebook["run1"] is None
    assert notebook["_proton"] is None
