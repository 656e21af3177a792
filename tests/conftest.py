"""What every test may count on: the right Triton backend, and skips that say why."""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import functools
import json
import os
import re
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@dataclass(frozen=True)
class Executed:
    """A notebook after its run: where it is stored, what went wrong, what time its kernel took."""

    path: Path
    notebook: Any
    problem: str | None
    processor_s: float


def processor_s_of_children() -> float:
    """Processor time of all processes that this one and its own have started and seen end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def count_gpus() -> int:
    """GPUs that the NVIDIA driver offers, asked of the driver itself: torch takes seconds."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


GPUS = count_gpus()
if not GPUS:
    # Triton reads this once, while it is imported, so it is set before any test module is.
    os.environ["TRITON_INTERPRET"] = "1"
# What of an example may take long is for no clock to say: the machine may be busy.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
# A shell lets what it runs in the background ignore interrupts, which processes hand on. Some tests
# send one to themselves, or to what they have started.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def find_browser() -> str | None:
    """Chromium or Chrome, under the names that distributions give it."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not GPUS:
        pytest.skip("needs an NVIDIA GPU; the driver offers none")
    if item.get_closest_marker("browser") and find_browser() is None:
        reason = "needs a browser: apt install chromium fonts-dejavu-core"
        # CI installs one, so there its absence means that nobody looked at the pages.
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # One process takes all browser tests. Were they not the first to begin, it would go on alone
    # when all others have nothing left to do.
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)
    addresses = [item.nodeid for item in items if re.search(r"\bat 0x[0-9a-f]+", item.nodeid)]
    if addresses:  # each process would call the test something else, and none would run
        raise pytest.UsageError(f"give names (ids=...) to the parameters of {addresses[0]}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep tests of a file in one process, and all of the browser's in one, too.

    They share fixtures, and two browsers at a time would starve each other. (xdist's own way,
    ``--dist loadgroup``, does nothing under pytest 9.2, whose items have another kind of name.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "browser" if nodeid.startswith("tests/browser/") else nodeid.split("::")[0]

    return ByFile(config, log)


@pytest.fixture(scope="session")
def browser_path() -> str:
    """Path of the browser; only tests marked ``browser`` may ask for it."""
    path = find_browser()
    assert path is not None
    return path


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Executed]:
    """Run a notebook where it lies, once for all tests, in whichever process they are."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def run(path: Path) -> Executed:
        import nbformat

        from protonlab.report import read_notebook, run_notebook

        stored, told = shared / f"executed-{path.name}", shared / f"executed-{path.stem}.json"
        with (shared / f"executed-{path.stem}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not told.exists():
                notebook = read_notebook(path)
                start = processor_s_of_children()
                problem = run_notebook(notebook, folder=path.parent)
                nbformat.write(notebook, stored)
                told.write_text(json.dumps([problem, processor_s_of_children() - start]))
        return Executed(stored, read_notebook(stored), *json.loads(told.read_text()))

    return functools.cache(run)


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the source checkout."""
    return Path(__file__).parent.parent


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A real IPython shell, which is gone when the test ends."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    main, hook = sys.modules["__main__"], sys.excepthook
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    opened = InteractiveShell.instance(config=config)
    yield opened
    # What a shell does when Python ends collects garbage: 53 shells would take 20 s over it.
    atexit.unregister(opened.atexit_operations)
    InteractiveShell.clear_instance()
    sys.modules["__main__"], sys.excepthook = main, hook


@pytest.fixture(autouse=True)
def _no_shell_stays() -> Iterator[None]:
    """Outputs have one more line in a terminal's shell: other tests of the process would see it."""
    yield
    ipython = sys.modules.get("IPython")
    assert ipython is None or ipython.get_ipython() is None
