"""``%%proton ranks=…``: real engines of ipyparallel under a real IPython shell."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.error import UsageError

from protonlab.model import Run

if TYPE_CHECKING:
    from conftest import Notebook

HOOKS = "from triton.profiler.hooks.hook import HookManager as H"


@pytest.fixture
def many(notebook: Notebook, engines: Any) -> Notebook:
    """A shell whose only client has two engines."""
    notebook.shell.user_ns["rc"] = engines
    return notebook


def on_engines(client: Any, expression: str) -> list[Any]:
    """Values of an expression on every engine."""
    client[:].execute(f"{HOOKS}\n_value = {expression}", block=True)
    return client[:].pull("_value", block=True)


def launches(run: Run) -> dict[int, dict[str, int]]:
    return {
        rank: dict(zip(profile.kernels["name"], map(int, profile.kernels["count"]), strict=True))
        for rank, profile in run.profiles.items()
    }


def test_the_cell_runs_on_every_engine_and_not_here(many: Notebook, engines: Any) -> None:
    before = on_engines(engines, "float(x.fill_(1)[0])")
    ran = many.run(
        "%%proton run1 ranks=all include=_p_.* record='bytes'\n"
        "import os\nprint('from', os.getpid())\ndouble()\nboth()\ndouble()"
    )
    assert ran.result.success, ran.out
    run1 = many["run1"]
    assert isinstance(run1, Run)
    assert many["_proton"] is run1
    assert launches(run1) == {rank: {"p_double": 3, "clear": 1} for rank in (0, 1)}
    assert float(many["x"][0]) == 1  # of this process
    assert on_engines(engines, "float(x[0])") == [0, 0] != before
    for rank, process in enumerate(on_engines(engines, "os.getpid()")):
        assert f"[stdout:{rank}] \nfrom {process}\n" in ran.out
        assert f"Out[{rank}:" in ran.out
        info = run1.profiles[rank].info
        assert (info.name, info.include) == ("run1", "_p_.*")
        assert info.launches == {"_p_double": (3, 3), "clear": (1, 0)}
        assert (run1.manifests[rank].state, run1.manifests[rank].include) == ("complete", "_p_.*")
    assert (run1.world_size, run1.missing, run1.warnings) == (2, (), ())
    assert "run1" in ran.out.split("Out[")[-1]  # the run, after the outputs
    assert on_engines(engines, "H.active_hooks + list(H.session_hooks.values())") == [[], []]


def test_what_is_fetched_is_what_the_engine_recorded(many: Notebook, engines: Any) -> None:
    many.run("%%proton run1 ranks=1 view=none repeat=3 warmup=1\nboth();")
    engines[[1]].execute("_frames = run1.frames.to_json()", block=True)
    engines[[1]].execute("_facts = run1.info, run1.columns, run1.repeats.number", block=True)
    (frames,), (facts,) = engines[[1]].pull("_frames"), engines[[1]].pull("_facts")
    fetched = many["run1"].profiles[1]
    assert list(many["run1"].profiles) == [1]
    assert fetched.frames.to_json() == frames
    assert (fetched.info, fetched.columns, fetched.repeats.number) == facts


def test_an_error_has_its_rank_and_fails_the_cell_once(many: Notebook, engines: Any) -> None:
    ran = many.run(
        "%%proton run1 ranks=all\ndouble()\nif get_ipython().kernel.engine_id == 1:\n    1 / 0"
    )
    assert type(ran.result.error_in_exec).__name__ == "AlreadyDisplayedError"
    shown = ran.out + ran.err
    assert shown.count("[1:execute]") == 1
    assert "[0:execute]" not in shown
    assert shown.count("division by zero") == 1
    assert ", line 4" in shown  # as in the cell with its option line
    assert "engine 1 failed, as shown above" in ran.out
    assert ran.out.index("run1") < ran.out.index("engine 1 failed")
    run1 = many["run1"]
    assert launches(run1) == {0: {"p_double": 1}, 1: {"p_double": 1}}
    assert [run1.manifests[rank].error for rank in (0, 1)] == [
        None,
        "ZeroDivisionError: division by zero",
    ]


def test_outputs_can_wait_for_the_end(many: Notebook, engines: Any) -> None:
    engines[:].activate()
    many.run("%pxconfig --no-stream")
    ran = many.run("%%proton run1 ranks=all view=none\nprint('here')\n1 / 0")
    assert type(ran.result.error_in_exec).__name__ == "CompositeError"
    assert ran.out.count("division by zero") == 2
    assert ran.out.index("[stdout:1] \nhere") < ran.out.index("[0:execute]")
    assert many["run1"].missing == ()


def test_an_option_that_an_engine_refuses_runs_nothing(many: Notebook, engines: Any) -> None:
    many.shell.user_ns["mine"] = "of no account: the variables of engines count"
    before = on_engines(engines, "float(x.fill_(1)[0])")
    ran = many.run("%%proton run1 ranks=all hook=mine\nx += 1")
    assert not ran.result.success
    assert (ran.out + ran.err).count("hook=mine: there is no variable mine") == 2
    assert on_engines(engines, "float(x[0])") == before
    assert many["run1"].ranks == ()
    assert many["run1"].missing == (0, 1)


def test_an_interrupt_reaches_the_engines(many: Notebook, engines: Any, tmp_path: Path) -> None:
    def interrupt() -> None:
        deadline = time.monotonic() + 120
        while len(list(tmp_path.glob("began-*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    ran = many.run(
        "%%proton run1 ranks=all\nimport os, pathlib, time\ndouble()\n"
        f"pathlib.Path({str(tmp_path)!r}, f'began-{{os.getpid()}}').touch()\n"
        "for _ in range(6000):\n    time.sleep(0.1)"
    )
    thread.join()
    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    assert "the engines were interrupted, too" in ran.out
    assert launches(many["run1"]) == {0: {"p_double": 1}, 1: {"p_double": 1}}
    assert many["run1"].manifests[0].error == "KeyboardInterrupt"
    assert on_engines(engines, "H.active_hooks + list(H.session_hooks.values())") == [[], []]
    assert many.run("%%proton run1 ranks=all\ndouble();").result.success


def test_a_statement_runs_on_engines_too(many: Notebook) -> None:
    ran = many.run("p = %proton ranks=0-1 include=clear both()")
    assert ran.result.success
    assert "2 ranks" not in ran.out  # assigned, not shown
    assert launches(many["p"]) == {rank: {"_p_double": 1, "clear": 1} for rank in (0, 1)}
    assert many["p"].profiles[0].info.include == "clear"


def test_the_run_is_shown_as_one_profile_would_be(many: Notebook) -> None:
    ran = many.run("%%proton run1 ranks=all\nboth();")
    assert "run1: 2 ranks, interpreter, CPU\n" in ran.out
    assert "Cannot tell who is waited for" not in ran.out  # nobody waits for anyone here
    assert re.search(r"^kernel +median \(\w+\) .* highest on$", ran.out, re.MULTILINE)
    assert re.search(r"^p_double .* rank [01]$", ran.out, re.MULTILINE)
    ran = many.run("%%proton run1 ranks=all metrics=count,bytes\nboth();")
    assert re.search(r"^p_double +2 +256\b", ran.out, re.MULTILINE)  # of both ranks
    ran = many.run("%%proton run1 ranks=all metrics=n_tokens\nboth();")
    assert ran.result.success
    assert "n_tokens" in ran.out
    assert re.search(r"^p_double .* rank [01]$", ran.out, re.MULTILINE)
    ran = many.run("%%proton run1 ranks=all view=none\nboth();")
    assert ran.out == ""


def test_other_numbers_of_torch_distributed_are_told(
    many: Notebook, engines: Any, tmp_path: Path
) -> None:
    engines[:].execute(
        "import torch.distributed as dist\n"
        f"dist.init_process_group('gloo', init_method='file://{tmp_path}/group', world_size=2,"
        " rank=1 - get_ipython().kernel.engine_id)",
        block=True,
    )
    try:
        ran = many.run("%%proton run1 ranks=all view=none\nx[0] = 1 + dist.get_rank()\n"
                       "dist.all_reduce(x)\nfloat(x[0])")  # fmt: skip
    finally:
        engines[:].execute("dist.destroy_process_group()", block=True)
    assert re.findall(r"Out\[\d:\d+\]: (.*)", ran.out) == ["3.0", "3.0"]
    assert many["run1"].warnings[0].startswith("engine 0 is rank 1 of torch.distributed")
    assert len(many["run1"].warnings) == 2


@pytest.mark.parametrize(
    ("line", "body", "message"),
    [
        ("ranks=0,7", "double()", "ranks=0,7: there is no engine 7; %px would use engines 0, 1"),
        ("ranks=all", "await f()", "ranks= cannot run a cell with await outside of a function"),
        ("ranks=none", "double()", "ranks=none; use all, or numbers and ranges"),
        ("ranks=all live=1", "double()", "live cannot stand beside ranks"),
    ],
    ids=["no such rank", "await", "no rank", "live"],
)
def test_what_cannot_run_says_so(many: Notebook, line: str, body: str, message: str) -> None:
    ran = many.run(f"%%proton run1 {line}\n{body}")
    assert isinstance(ran.result.error_in_exec, UsageError)
    assert message in ran.out + ran.err
    assert "run1" not in many


def test_engines_are_those_of_px_or_of_the_only_client(notebook: Notebook, engines: Any) -> None:
    ran = notebook.run("%%proton run1 ranks=all\ndouble();")
    assert "ranks=all: there are no ipyparallel engines; rc = ipyparallel.Cluster" in ran.err
    notebook.shell.user_ns["first"] = engines
    engines[[1]].activate()
    assert notebook.run("%%proton run1 ranks=all view=none\ndouble();").result.success
    assert list(notebook["run1"].profiles) == [1]
    ran = notebook.run("%%proton run1 ranks=0\ndouble();")
    assert "there is no engine 0; %px would use engine 1" in ran.err
    # A client of its own, whose view %px keeps when it is closed.
    other = engines.cluster.connect_client_sync()
    other.activate()
    other.close()
    assert notebook.run("%%proton run1 ranks=all view=none\ndouble();").result.success
    assert list(notebook["run1"].profiles) == [0, 1]
    another = notebook.shell.user_ns["another"] = engines.cluster.connect_client_sync()
    ran = notebook.run("%%proton run1 ranks=all\ndouble();")
    assert "ranks=all: another and first are clients of ipyparallel" in ran.err
    assert "another.activate() says that its engines are meant" in ran.err
    another.close()


def test_engines_need_the_same_protonlab(many: Notebook, engines: Any) -> None:
    hide = (
        "import sys\nkept = {name: sys.modules.pop(name) for name in list(sys.modules)"
        " if name.partition('.')[0] == 'protonlab'}\n"
        "class Hidden:\n    def find_spec(name, *_):\n        if name == 'protonlab':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}')\n"
        "sys.meta_path.insert(0, Hidden)"
    )
    other = (
        "import importlib.metadata as m\nversion = m.version\n"
        "m.version = lambda name: '0.0.1' if name == 'protonlab' else version(name)"
    )
    engines[[0]].execute(hide, block=True)
    engines[[1]].execute(other, block=True)
    try:
        ran = many.run("%%proton run1 ranks=all\nx += 1")
    finally:
        engines[[0]].execute("sys.meta_path.remove(Hidden)\nsys.modules.update(kept)", block=True)
        engines[[1]].execute("m.version = version", block=True)
    assert isinstance(ran.result.error_in_exec, UsageError)
    assert "engine 0: no protonlab is there; engine 1: protonlab 0.0.1 is installed" in ran.err
    assert "on every engine: install it where they run" in ran.err
    assert many.run("%%proton run1 ranks=all\ndouble();").result.success


def test_without_ipyparallel_the_error_says_how_to_get_it(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ipyparallel", None)
    ran = notebook.run("%%proton run1 ranks=all\ndouble();")
    assert "pip install 'protonlab[cluster]'" in ran.err


def test_an_engine_that_dies_is_named(many: Notebook) -> None:
    """Stands last: whichever test comes behind it needs new engines."""
    ran = many.run(
        "%%proton run1 ranks=all\nimport os\ndouble()\n"
        "if get_ipython().kernel.engine_id == 1:\n    os._exit(1)"
    )
    assert type(ran.result.error_in_exec).__name__ == "CompositeError"
    death = r"engine 1 \(process \d+ on .+\) died while the cell ran"
    assert len(re.findall(rf"EngineError: {death}\n", ran.out)) == 1
    run1 = many["run1"]
    assert launches(run1) == {0: {"p_double": 1}}
    assert run1.missing == (1,)
    assert re.fullmatch(rf"rank 1: {death}", "".join(run1.warnings))
    assert many.run("%%proton run1 ranks=all\ndouble();").result.success
    assert (many["run1"].ranks, many["run1"].missing) == ((0,), ())
