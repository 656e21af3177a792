"""No test of this room leaves a Proton session, a hook or a file behind, nor judges a busy CPU."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from nothing_left import nothing_left

from protonlab.capture import device
from protonlab.experiment._paired_run import PairedRun

__all__ = ["nothing_left"]  # for all tests here


@pytest.fixture(scope="session", autouse=True)
def _budgets_of_processor_time() -> Iterator[None]:
    """Without a GPU: a budget of a busy machine's seconds would end before there are any pairs."""
    with pytest.MonkeyPatch.context() as patched:
        if device() == "cpu":
            patched.setitem(PairedRun.__init__.__kwdefaults__, "clock", time.process_time)
        yield
