"""What every test may count on: the right Triton backend, and skips that say why."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
from pathlib import Path

import pytest


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
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # One process takes all browser tests. Were they not the first to begin, it would go on alone
    # when all others have nothing left to do.
    items.sort(key=lambda item: item.get_closest_marker("browser") is None)
    addresses = [item.nodeid for item in items if re.search(r"\bat 0x[0-9a-f]+", item.nodeid)]
    if addresses:  # each process would call the test something else, and none would run
        raise pytest.UsageError(f"give names (ids=...) to the parameters of {addresses[0]}")
    if config.pluginmanager.hasplugin("xdist"):
        # Tests of a file share its fixtures. Two browsers at a time would starve each other.
        for item in items:
            is_browser = item.get_closest_marker("browser") is not None
            group = "browser" if is_browser else item.nodeid.split("::")[0]
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def browser_path() -> str:
    """Path of the browser; only tests marked ``browser`` may ask for it."""
    path = find_browser()
    assert path is not None
    return path


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the source checkout."""
    return Path(__file__).parent.parent
