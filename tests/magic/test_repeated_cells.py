"""``%%proton repeat=20 warmup=3``: how often a cell runs, what it shows, and what is kept."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Notebook


def rounds(notebook: Notebook, source: str, options: str = "repeat=3 warmup=2") -> list[int]:
    """Run a cell that notes its rounds in ``seen``."""
    notebook.run("seen = []")
    notebook.run(f"%%proton run1 {options}\nseen.append(len(seen))\n{source}")
    seen: list[int] = notebook["seen"]
    return seen


def test_each_kernel_has_one_value_a_repeat(notebook: Notebook) -> None:
    assert rounds(notebook, "both()\nif len(seen) == 4:\n    double()") == [0, 1, 2, 3, 4]
    profile = notebook["run1"]
    assert notebook["_proton"] is profile
    assert notebook.launches() == {"p_double": 4, "clear": 3}
    assert (profile.info.repeats, profile.info.warmup) == (3, 2)
    counts = profile.distribution("count").set_index("name")
    assert counts["n"].to_dict() == {"p_double": 3, "clear": 3}
    assert counts.loc["p_double", ["min", "median", "max"]].tolist() == [1, 1, 2]
    assert profile.repeat(1).kernels.set_index("name")["count"].to_dict() == {
        "p_double": 2,
        "clear": 1,
    }
    assert sorted(profile.frames["kind"].astype(str)) == ["kernel", "kernel", "root"]


def test_value_is_shown_once_and_warmup_is_silent(notebook: Notebook) -> None:
    run = notebook.run("n = 0")
    run = notebook.run(
        "%%proton run1 repeat=2 warmup=3 view=none\nn += 1\nprint('round', n)\ndouble() + n"
    )
    assert run.result.success
    assert run.out.splitlines() == ["round 4", "round 5", f"Out[{run.result.execution_count}]: 12"]
    assert run.result.result == 12
    assert notebook["_"] == 12


def test_semicolon_hides_the_value(notebook: Notebook) -> None:
    run = notebook.run("%%proton repeat=2 view=none\ndouble();")
    assert run.out == ""
    assert notebook.launches() == {"p_double": 2}


def test_await_future_strings_and_magics_work_in_each_round(notebook: Notebook) -> None:
    source = '''
        from __future__ import annotations
        import asyncio, threading
        text = """a
          %%proton b"""
        before = threading.get_ident()
        await asyncio.sleep(0)
        double()
        %time double()
        threads.add((before, threading.get_ident()))
        '''
    notebook.run("threads = set()")
    run = notebook.run("%%proton run1 repeat=3 warmup=1 view=none" + textwrap.dedent(source))
    assert run.result.success
    assert len(notebook["threads"]) == 1
    assert notebook["text"] == "a\n  %%proton b"
    assert notebook.launches() == {"p_double": 6}
    assert run.out.count("Wall time") == 3


def test_cell_magic_below_runs_in_each_round(notebook: Notebook) -> None:
    run = notebook.run("%%proton run1 repeat=2 warmup=1 view=none\n%%time\ndouble()")
    assert run.out.count("Wall time") == 2
    assert notebook.launches() == {"p_double": 2}


@pytest.mark.parametrize(
    ("fails_in", "ran", "kept", "launches"),
    [(0, 1, 0, {}), (2, 3, 0, {"p_double": 1}), (3, 4, 1, {"p_double": 1})],
)
def test_first_exception_stops_and_is_shown_once(
    fails_in: int, ran: int, kept: int, launches: dict[str, int], notebook: Notebook
) -> None:
    source = f"double()\nif len(seen) == {fails_in + 1}:\n    1 / 0"
    notebook.run("seen = []")
    run = notebook.run(
        f"%%proton run1 repeat=3 warmup=2\nprint('x')\nseen.append(len(seen))\n{source}"
    )
    assert isinstance(run.result.error_in_exec, ZeroDivisionError)
    assert len(notebook["seen"]) == ran
    assert run.out.count("Traceback (most recent call last)") == 1
    assert "----> 6     1 / 0" in run.out
    assert "protonlab" not in run.out.replace("_protonlab", "")
    assert notebook.launches("run1") == launches
    assert notebook["run1"].info.repeats == kept
    assert ("the last repeat did not end; 1 launch of it left out" in run.out) == (kept > 0)


def test_interrupt_stops_all_rounds(notebook: Notebook) -> None:
    notebook.run("seen = []")
    run = notebook.run(
        "%%proton run1 repeat=9\nseen.append(1)\ndouble()\n"
        "if len(seen) == 2: raise KeyboardInterrupt"
    )
    assert isinstance(run.result.error_in_exec, KeyboardInterrupt)
    assert len(notebook["seen"]) == 2
    assert notebook.launches() == {"p_double": 1}


def test_a_cell_that_the_cell_runs_is_not_repeated_by_itself(notebook: Notebook) -> None:
    assert rounds(notebook, "get_ipython().run_cell('inner = len(seen)\\nseen.append(9)')") == (
        [0, 9, 2, 9, 4, 9, 6, 9, 8, 9]
    )


def test_summary_and_distribution_are_shown(notebook: Notebook) -> None:
    run = notebook.run("%%proton run1 repeat=4 warmup=1 view=table\ndouble()")
    assert "4 repeats after 1 warm-up: " in run.out
    assert "(mean of n = 4, 95 % interval " in run.out
    assert "time a repeat (" in run.out
    assert "median" in run.out


def test_statement(notebook: Notebook) -> None:
    notebook.run("seen = []\ndef f():\n    print('x')\n    seen.append(1)\n    return double()")
    run = notebook.run("p = %proton repeat=3 warmup=2 f()\np.repeats.number")
    assert run.result.result == 3
    assert run.out.count("x\n") == 3
    assert len(notebook["seen"]) == 5
    assert notebook.launches() == {"p_double": 3}


def test_statement_that_fails_in_warmup_raises_once(notebook: Notebook) -> None:
    run = notebook.run("%proton repeat=3 warmup=2 1 / 0")
    assert isinstance(run.result.error_in_exec, ZeroDivisionError)
    assert run.out.count("Traceback (most recent call last)") == 1


def test_call_from_code(notebook: Notebook) -> None:
    run = notebook.run("get_ipython().run_cell_magic('proton', 'r repeat=2 warmup=1', 'double()')")
    assert run.result.result == 7
    assert notebook.launches("r") == {"p_double": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("repeat=0", "repeat=0; use a whole number from 1 up, for example repeat=20"),
        ("mode=pcsampling data=trace", "have no place on a time axis; use data=tree"),
    ],
)
def test_option_that_is_refused_runs_nothing(
    options: str, message: str, notebook: Notebook
) -> None:
    run = notebook.run(f"%%proton {options}\nran = 1")
    assert not run.result.success
    assert "ran" not in notebook
    assert message in run.err + run.out


def test_unload_gives_the_shell_its_own_back(notebook: Notebook) -> None:
    notebook.shell.run_line_magic("unload_ext", "protonlab")
    assert notebook.shell.run_ast_nodes.__func__ is type(notebook.shell).run_ast_nodes
    notebook.shell.run_line_magic("load_ext", "protonlab")
