"""Widgets that replay a sweep which was made up, and a loop for them to run in."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from sweeps import synthetic_sweep

from protonlab import EpilogueWidget
from protonlab.epilogue import EpilogueCase

SWEEP = synthetic_sweep()
FOUR = EpilogueCase("ours", 4)


def widget(case: EpilogueCase = FOUR, **options: Any) -> EpilogueWidget:
    return EpilogueWidget(case, **{"sweep": SWEEP, "source": "replay", **options})


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 300))


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.01)
