"""No test of a rank leaves a Proton session, a hook or a watch behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run outside of a job, and check that Proton and torch are as before."""
    from torch.optim import optimizer as optimizers
    from triton._C.libproton import proton as libproton
    from triton.profiler.flags import flags
    from triton.profiler.hooks.hook import HookManager

    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    yield
    assert not any(HookManager.session_hooks.values())
    assert flags.profiling_on is False
    assert not optimizers._global_optimizer_post_hooks
    assert vars(sys.modules["triton.profiler.scope"])["libproton"] is libproton
