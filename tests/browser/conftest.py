"""One Chromium and one JupyterLab for all browser tests, gone when the last of them has ended.

Playwright keeps an event loop running in this thread as long as its browser lives, and tests of
other folders start loops of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

HERE = Path(__file__).parent
# So that tests say `from rig import Tab` and `from small_profiles import hand`.
sys.path[:0] = [str(HERE), str(HERE.parent / "views")]

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from rig import Lab, Tab


@pytest.fixture(scope="package")
def browser(browser_path: str) -> Iterator[Browser]:
    import rig  # here, because playwright is missing where browser tests are skipped
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, rig.chromium(playwright, browser_path) as started:
        yield started


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A fresh page, wide enough for a notebook beside JupyterLab's file browser."""
    import rig

    context = browser.new_context(
        viewport={"width": 1200, "height": 1100},
        reduced_motion="reduce",  # a page that glides on moves what is about to be clicked
    )
    yield rig.Tab(context.new_page())
    context.close()


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Lab]:
    import rig

    with rig.jupyterlab(tmp_path_factory.mktemp("lab")) as started:
        yield started
