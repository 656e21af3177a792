"""The toggle: epilogue overlap on or off, measured while one watches."""

from __future__ import annotations

import contextlib
import html
import keyword
import sys
from importlib import resources
from typing import Any, Literal

from protonlab.epilogue import gpu_problem
from protonlab.errors import ProtonLabError
from protonlab.front_end import COLAB, VS_CODE, front_end
from protonlab.model import Profile
from protonlab.model.epilogue_sweep import EpilogueCase, EpilogueSweep
from protonlab.model.units import counted
from protonlab.views import PairsFigure, picture_of, ptx_difference
from protonlab.views.live import send_plotly
from protonlab.views.page import panel_source
from protonlab.views.sources import Sources
from protonlab.widget._panel import SOURCES, Panel
from protonlab.widget._run import Run
from protonlab.widget._words import headline

SourceName = Literal["auto", "gpu", "replay", "interpreter"]
_BUDGET_S = 20.0


def _asset(name: str) -> str:
    return (resources.files("protonlab.widget") / name).read_text("utf-8")


class EpilogueWidget(Panel):
    """Flip epilogue overlap of the Hopper matmul, and watch what it does to bandwidth.

    Both settings are measured in interleaved pairs, as `compare_variants` does; the toggle chooses
    which of them is in front. Without a Hopper GPU it replays what was recorded on an H200.

    Parameters
    ----------
    case
        Which matmul; by default the published shape, with our kernel.
    overlap
        Which setting to begin with.
    source
        ``"gpu"``, ``"replay"``, or ``"interpreter"``, which computes a small matmul for its
        correctness alone; ``"auto"`` takes the GPU where it is Hopper, else the replay.
    into
        The button that keeps results writes the variables ``into`` (the `VariantComparison`),
        ``into_overlap`` and ``into_serial`` (the Profiles), and ``into_compiled``.
    sweep
        What to replay, instead of `protonlab.recorded.epilogue_sweep`.

    Attributes
    ----------
    overlap, running, source, kernel, tokens, experts, n, k
        What the controls show; setting them does what a person would.
    comparison, compiled
        What is known by now; None before.

    Raises
    ------
    ProtonLabError
        If an argument is not legal. What goes wrong later is shown in the widget.

    Examples
    --------
    >>> protonlab.EpilogueWidget()  # doctest: +SKIP
    """

    _esm = panel_source(_asset("controls.js") + _asset("epilogue.js"))
    _css = _asset("epilogue.css")

    def __init__(
        self,
        case: EpilogueCase | None = None,
        *,
        overlap: bool = True,
        source: SourceName = "auto",
        into: str = "epilogue",
        sweep: EpilogueSweep | None = None,
    ) -> None:
        if not isinstance(overlap, bool):
            raise ProtonLabError(
                f"overlap={overlap!r}; give True or False: the setting that is in front"
            )
        if source not in ("auto", *SOURCES):
            legal = ", ".join(map(repr, ("auto", *SOURCES)))
            raise ProtonLabError(f"source={source!r}; give one of {legal}")
        for name, value, kind in (("case", case, EpilogueCase), ("sweep", sweep, EpilogueSweep)):
            if value is not None and not isinstance(value, kind):
                raise ProtonLabError(
                    f"{name} is of type {type(value).__name__}; give an {kind.__name__}, or leave "
                    "it out"
                )
        if not isinstance(into, str) or not into.isidentifier() or keyword.iskeyword(into):
            raise ProtonLabError(f"into={into!r} is no name of a variable; give one, as 'epilogue'")
        self._into, self._run = into, Run(self)
        why = gpu_problem() if source == "auto" else None
        super().__init__(
            case or EpilogueCase(),
            overlap=overlap,
            source=("replay" if why else "gpu") if source == "auto" else source,
            sweep=sweep,
            budget_s=_BUDGET_S,
        )
        self.observe(self._on_running, "running")
        self.on_msg(self._on_message)
        if why and not self._problem:
            self.say(f"{why[0].upper()}{why[1:]}, so this is a replay.")

    @property
    def profiles(self) -> tuple[Profile, Profile] | None:
        """A profile of overlap on and one of off; None where they are not known."""
        return None if self.comparison is None else self.comparison.profiles

    def figure(self) -> PairsFigure:
        """Draw what is known by now as a figure that needs no kernel: the widget's static twin.

        Raises
        ------
        ProtonLabError
            If nothing was measured yet.
        """
        verdict = f"{self.comparison.verdict}." if self.comparison is not None else ""
        return self.drawn(verdict, f"{self.label[0].upper()}{self.label[1:]}.")

    def keep(self) -> dict[str, Any]:
        """Write the results into variables of the notebook, and return them by name.

        Raises
        ------
        ProtonLabError
            If nothing was measured yet.
        """
        if self.comparison is None:
            raise ProtonLabError("nothing to keep: nothing was measured yet")
        overlap, serial = self.profiles or (None, None)
        found: dict[str, Any] = {"": self.comparison, "_overlap": overlap, "_serial": serial}
        found |= {"_compiled": self.compiled}
        kept = {f"{self._into}{name}": value for name, value in found.items() if value is not None}
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if shell is not None:
            shell.push(kept)
        pairs = counted(len(self.comparison), "pair")
        self._kept = f"Kept in {', '.join(kept)}: {pairs}."  # stays while a run says other things
        self.say(self._status)
        return kept

    def close(self) -> None:
        """Stop, give the GPU's memory back, and take the widget away."""
        sources = getattr(self, "_sources", {})  # missing where an argument was refused
        self.running = False
        for source in sources.values():
            source.close()
        sources.clear()
        super().close()

    async def stopped(self) -> None:
        """Wait until nothing of a run is left on the GPU; an interrupt meanwhile stops the run."""
        await self._run.stopped()

    def _on_running(self, change: Any) -> None:
        if not change["new"]:
            self.say("Stopped." if self._run.is_going_on else self._status)
            return
        try:
            self._run.start()
        except ProtonLabError as error:
            self.fail(str(error))
        else:
            self.say("Starting.")

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        try:
            if message["kind"] == "plotly.js":
                send_plotly(self)
            elif message["kind"] == "keep":
                self.keep()
            elif message["kind"] == "close":
                self.close()
            elif message["kind"] == "ptx" and self.compiled is not None:
                self.send({"kind": "ptx", "html": ptx_difference(self.compiled).html()})
        except ProtonLabError as error:
            self.fail(str(error))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Give JupyterLab and Notebook our own place, whose picture stays; others a widget view."""
        here = front_end()
        static = self._static()
        if here.is_live:
            place = f'<div class="protonlab-epilogue" data-mount="{self.mount}">{static}</div>'
            carried = Sources.among((self.comparison,)).bundle()
            return {"text/html": place, "text/plain": repr(self), **carried}
        if here not in (VS_CODE, COLAB):
            if self.comparison is None:
                return {"text/html": static, "text/plain": repr(self)}
            return self.figure()._repr_mimebundle_() | {"text/plain": repr(self)}
        plain = {"text/html": static, "text/plain": repr(self)}
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return plain | dict(data or {}), metadata

    def _static(self) -> str:
        """Draw the picture that stays when the kernel is gone."""
        if self.comparison is None:
            return f"<p>{html.escape(self._problem or self._status)}</p>"
        text = html.escape(f"{headline(self.comparison, overlap=self.overlap)}.")
        return f"<p><strong>{text}</strong></p>{picture_of(self.figure())}"

    def __repr__(self) -> str:
        with contextlib.suppress(ProtonLabError):
            known = self.comparison.verdict if self.comparison else "nothing measured yet"
            return f"<EpilogueWidget: {self.case}: {known}>"
        return "<EpilogueWidget>"
