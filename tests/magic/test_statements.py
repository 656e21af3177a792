"""``%proton``, calls of the magic from code, and its help."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from IPython.core.error import UsageError

from protonlab.option_help import help_text

if TYPE_CHECKING:
    from conftest import Notebook


def test_line_form_is_shown_once_when_not_assigned(notebook: Notebook) -> None:
    ran = notebook.run("%proton view=table double()")
    assert ran.out.count("proton: 1 kernel kept (1 launch, 100 %)") == 1
    assert ran.result.result is None
    ran = notebook.run("for _ in range(2):\n    %proton double()\n1")
    assert ran.out.count("proton: 1 kernel kept (1 launch, 100 %)") == 2


def test_line_form_returns_its_profile_and_shows_nothing(notebook: Notebook) -> None:
    ran = notebook.run("p = %proton include=_p_.* both()")
    assert ran.out == ""
    assert notebook["p"] is notebook["_proton"]
    assert notebook["p"].info.launches == {"_p_double": (1, 1), "clear": (1, 0)}


def test_line_form_assigns_and_sees_local_variables(notebook: Notebook) -> None:
    notebook.run("%proton view=none a = double()")
    assert notebook["a"] == 7
    notebook.run(
        "def f(times):\n    p = %proton [double() for _ in range(times)]\n    return p\np = f(3)"
    )
    assert notebook.launches("p") == {"p_double": 3}


def test_line_form_takes_its_line_raw(notebook: Notebook) -> None:
    notebook.run("p = %proton include=_p_\\w{1,9}$|{x} text = '{x} $x'")
    assert notebook["p"].info.include == "_p_\\w{1,9}$|{x}"
    assert notebook["text"] == "{x} $x"


@pytest.mark.parametrize("options", ["", "repeat=2 "])
def test_line_form_that_raises(notebook: Notebook, options: str) -> None:
    ran = notebook.run(f"double()\np = %proton {options}[double(), 1 / 0]")
    assert isinstance(ran.result.error_in_exec, ZeroDivisionError)
    assert ran.out.count("ZeroDivisionError: division by zero") == 1
    frames = re.findall(r"^(?:Cell|File) .*$", ran.out, re.MULTILINE)
    assert (frames[0], frames[-1]) == ("Cell In[1], line 2", "Cell In[1], line 1")
    assert not any("protonlab" in frame for frame in frames)
    assert "proton: 1 kernel kept (1 launch, 100 %)" in ran.out


@pytest.mark.parametrize(
    "line", ["%proton", "%proton view=none", "%proton view=pie f()", "%proton vew=none f()"]
)
def test_wrong_line_form(notebook: Notebook, line: str) -> None:
    ran = notebook.run(f"{line}\nran = True")
    assert isinstance(ran.result.error_in_exec, UsageError)
    assert "ran" not in notebook
    if "vew" in line:
        assert "vew is not an option of %%proton. Did you mean view?" in ran.err


def test_assignment_to_what_is_nearly_an_option_is_a_statement(notebook: Notebook) -> None:
    ran = notebook.run("%proton view=none vew=double()")
    assert ran.result.success
    assert notebook["vew"] == 7


def test_magic_called_from_code(notebook: Notebook) -> None:
    source = "get_ipython().run_cell_magic('proton', 'run1 include={x}|_p_.*', 'a = 1\\ndouble()')"
    ran = notebook.run(source)
    assert ran.result.result == 7
    assert ran.out.count("run1: 1 kernel kept") == 1
    assert (notebook["a"], notebook["run1"].info.include) == (1, "{x}|_p_.*")


def test_magic_called_from_code_that_raises(notebook: Notebook) -> None:
    ran = notebook.run("get_ipython().run_cell_magic('proton', 'run1', 'double()\\n1 / 0')")
    assert isinstance(ran.result.error_in_exec, ZeroDivisionError)
    assert ran.out.count("ZeroDivisionError: division by zero") == 1
    assert "----> 2 1 / 0" in ran.out
    assert "run1: 1 kernel kept" in ran.out


@pytest.mark.parametrize(
    "source",
    [
        "%proton --help",
        "%proton -h",
        "%%proton --help",
        "%%proton --help\n",
        "%%proton a -h\nran = 1",
    ],
)
def test_help(notebook: Notebook, source: str) -> None:
    ran = notebook.run(source)
    assert ran.result.success
    assert ran.out == help_text() + "\n"
    assert "ran" not in notebook


def test_question_mark_shows_the_same_help(notebook: Notebook) -> None:
    out = notebook.run("%%proton?").out
    assert help_text() in out.replace("\x1b[0m", "")


def test_a_statement_that_cannot_be_compiled_is_a_usage_error(notebook: Notebook) -> None:
    ran = notebook.run("%proton view=none await double()")
    assert isinstance(ran.result.error_in_exec, UsageError)
    assert "UsageError: %proton cannot run 'await double()': 'await' outside function" in ran.err
    assert "write %%proton over a cell" in ran.err
