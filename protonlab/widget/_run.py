"""A run of a widget: it goes on until it is done, stopped, or asked for something else."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from protonlab.epilogue import interpreted_check
from protonlab.errors import ProtonLabError
from protonlab.widget._interrupts import interrupts
from protonlab.widget._source import BEAT_S
from protonlab.widget._turn import turn


class Run:
    """Drives a panel from the kernel's event loop; at most one task, however often one clicks.

    Parameters
    ----------
    panel
        The widget. Its ``running`` says whether to go on, its controls what to run.
    """

    def __init__(self, panel: Any) -> None:
        self._panel = panel
        self._task: asyncio.Task[None] | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether a person wants it to run."""
        return bool(self._panel.running)

    @property
    def is_going_on(self) -> bool:
        """Whether a task is still there, also one that is about to stop."""
        return self._task is not None

    def start(self) -> None:
        """Begin, if nothing goes on already.

        Raises
        ------
        ProtonLabError
            If there is no event loop, as in a script.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise ProtonLabError(
                "the widget runs within a notebook's kernel; in a script use compare_variants or "
                "sweep_epilogue"
            ) from None
        if self._task is None:
            interrupts().stop(self._interrupted)
            self._task = loop.create_task(self._drive())

    def stop(self, reason: str) -> None:
        """Stop for a reason that is shown."""
        self._panel.running = False
        self._panel.say(reason)

    def release(self) -> None:
        """Give back what the panel's sources hold of the GPU's memory."""
        self._panel.release()

    async def stopped(self) -> None:
        """Wait until nothing of the run is left on the GPU.

        An interrupt of the cell that waits stops the run, too.
        """
        try:
            while self._task is not None:
                await asyncio.wait({self._task})
        except asyncio.CancelledError:
            self.stop("Interrupted.")
            raise

    def _interrupted(self) -> None:
        if self.is_going_on:
            self.stop("Interrupted.")

    async def _drive(self) -> None:
        panel = self._panel
        try:
            interrupts().watch()  # the first step behind the cell that began it
            while panel.running:
                panel.forget_problem()
                if panel.source == "interpreter":
                    if await self._check():
                        break
                    continue
                if panel.source == "gpu":
                    await turn().take(self)
                    if not panel.running:
                        break
                if await self._once():
                    break
        except KeyboardInterrupt:
            panel.say("Interrupted.")
        except ProtonLabError as error:
            panel.fail(str(error))
        except Exception as error:  # the kernel's log, where it would go, nobody sees
            panel.fail(f"{type(error).__name__}: {error}")
        finally:
            interrupts().forget(self._interrupted)
            self._task = None
            panel.running = False

    async def _once(self) -> bool:
        """Run the source for what the controls ask for; whether it came to its end."""
        panel = self._panel
        asked = (panel.source, panel.case)
        source = panel.source_now()
        panel.comparison = None
        async with aclosing(source.run(asked[1])) as moments:
            async for moment in moments:
                interrupts().watch()
                if not panel.running or (panel.source, panel.case) != asked:
                    return False
                panel.show(moment)
        return True

    async def _check(self) -> bool:
        """Compute on the interpreter, unless a person stops it; whether it came to its end."""
        panel = self._panel
        panel.say("Computing on Triton's interpreter …")
        work = asyncio.ensure_future(interpreted_check())
        while not work.done():
            interrupts().watch()
            await asyncio.wait({work}, timeout=BEAT_S)
            if not panel.running or panel.source != "interpreter":
                work.cancel()
                await asyncio.wait({work})
                return False
        panel.say(work.result())
        return True
