"""What a widget shows: state that the page shares, and how choices, words and chart agree."""

from __future__ import annotations

import dataclasses
import json
import uuid
from typing import Any

import anywidget
import traitlets

from protonlab import recorded
from protonlab.epilogue import reference_lines
from protonlab.errors import ProtonLabError
from protonlab.model import VariantComparison
from protonlab.model.compiled import CompiledComparison
from protonlab.model.epilogue_sweep import LEGAL, EpilogueCase, EpilogueSweep
from protonlab.views import PairsFigure, compiled_table, pairs
from protonlab.views._pairs import doubts
from protonlab.widget._replay import Replay
from protonlab.widget._source import Moment, Source
from protonlab.widget._words import headline, sentence

SOURCES = ("gpu", "replay", "interpreter")
FIELDS = tuple(field.name for field in dataclasses.fields(EpilogueCase))


class Panel(anywidget.AnyWidget):
    """Controls, words and chart, shared with the page.

    Parameters
    ----------
    case
        What the controls ask for at first.
    overlap
        Which setting is shown first.
    source
        One of `SOURCES`.
    sweep
        What to replay; None for the recorded one.
    budget_s
        Seconds to measure a case.
    """

    mount = traitlets.Unicode().tag(sync=True)
    overlap = traitlets.Bool(True).tag(sync=True)
    running = traitlets.Bool(False).tag(sync=True)
    source = traitlets.Unicode("replay").tag(sync=True)
    kernel = traitlets.Unicode("ours").tag(sync=True)
    tokens = traitlets.Int().tag(sync=True)
    experts = traitlets.Int().tag(sync=True)
    n = traitlets.Int().tag(sync=True)
    k = traitlets.Int().tag(sync=True)
    choices = traitlets.Dict().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)
    chart = traitlets.Dict().tag(sync=True)
    table = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        case: EpilogueCase,
        *,
        overlap: bool,
        source: str,
        sweep: EpilogueSweep | None,
        budget_s: float,
    ) -> None:
        self.comparison: VariantComparison | None = None
        self.compiled: CompiledComparison | None = None
        self._sweep, self._budget_s = sweep, budget_s
        self._settled = case
        self._sources: dict[str, Source] = {}
        self._is_settling = False
        self._copy: float | None = None
        self._drawn: dict[str, Any] = {}  # source and case of the chart
        self._status = self._problem = self._kept = self._notice = ""
        super().__init__(
            mount=uuid.uuid4().hex, overlap=overlap, source=source, **dataclasses.asdict(case)
        )
        self.observe(self._on_choice, ["source", *FIELDS])
        self._settle()

    @property
    def case(self) -> EpilogueCase:
        """What the controls ask for.

        Raises
        ------
        ProtonLabError
            If a number is not legal.
        """
        return EpilogueCase(**{name: getattr(self, name) for name in FIELDS})

    @property
    def label(self) -> str:
        """Where the numbers come from."""
        source = self._sources.get(self.source)
        return source.label if source is not None else self.source

    def source_now(self) -> Source | None:
        """Return the chosen source, made when it is first needed; None for the interpreter.

        Raises
        ------
        ProtonLabError
            If there is none of that name, or nothing to replay.
        """
        if self.source not in SOURCES:
            legal = ", ".join(map(repr, SOURCES))
            raise ProtonLabError(f"source={self.source!r}; give one of {legal}")
        if self.source == "interpreter":
            return None
        if self.source not in self._sources:
            self._sources[self.source] = self._made()
        return self._sources[self.source]

    def _made(self) -> Source:
        if self.source == "replay":
            return Replay(self._sweep or recorded.epilogue_sweep())
        from protonlab.widget._live import Live  # torch and Triton, which a replay does without

        return Live(self._budget_s)

    def release(self) -> None:
        """Give the GPU's memory back; what needs it makes it anew."""
        for source in self._sources.values():
            source.release()

    def drawn(self, *notes: str) -> PairsFigure:
        """Draw what is known by now.

        Raises
        ------
        ProtonLabError
            If nothing was measured yet.
        """
        if self.comparison is None:
            raise ProtonLabError(
                "nothing was measured yet: set running = True and wait, or take source='replay'"
            )
        lines = reference_lines(self._settled, self._copy)
        return pairs(self.comparison, lines=lines, title=str(self._settled), notes=notes)

    def show(self, moment: Moment) -> None:
        """Show what a source knows at a moment, to the page all at once."""
        with self.hold_sync():
            self._take(moment)
            self.say(f"{moment.message[0].upper()}{moment.message[1:]}.")

    def _take(self, moment: Moment) -> None:
        if moment.copy_gbyte_s is not None:
            self._copy = moment.copy_gbyte_s
        if moment.compiled is not None and moment.compiled is not self.compiled:
            self.compiled = moment.compiled
            self.table = compiled_table(moment.compiled).html()
        if moment.comparison is not None:
            self.comparison = moment.comparison
            self._drawn = {"source": self.source, **dataclasses.asdict(self._settled)}
            figure = self.drawn().without_notes(doubts(moment.comparison))  # words tell them
            self.chart = dict(json.loads(figure.to_json(validate=False)))

    def say(self, status: str) -> None:
        """Show a status, and everything else that is in words."""
        self._status = status
        words: dict[str, Any] = {"status": status, "problem": self._problem}
        # What this answers to, so that the page can tell that it waits for an answer.
        words["of"] = {name: getattr(self, name) for name in ("running", "source", *FIELDS)}
        words |= {"drawn": self._drawn} if self._drawn else {}
        words |= {"kept": self._kept} if self._kept else {}
        words |= {"notice": self._notice} if self._notice else {}
        found, sides = self.comparison, (True, False)
        if found:
            words |= {
                "label": self.label,
                "headlines": [headline(found, overlap=side) for side in sides],
                "sentences": [sentence(found, overlap=side) for side in sides],
                "verdict": found.verdict,
                "warnings": list(found.warnings),
                "outputs": found.outputs,
                "protocol": found.protocol.get("in_words", ""),
            }
        if self.compiled is not None:
            words |= {"compiled": self.compiled.summary, "ptx": bool(self.compiled.a.ptx)}
        self.words = words

    def fail(self, problem: str) -> None:
        """Show what went wrong, and stop."""
        self._problem = problem
        self.running = False
        self.say("")

    def forget_problem(self) -> None:
        """Take back what was shown of an earlier failure."""
        self._problem = ""

    def _on_choice(self, change: Any) -> None:
        if self._is_settling:
            return
        with self.hold_sync():  # the page sees what comes out of it
            if change["name"] == "source":
                self._clear()
            self._settle(is_new_source=change["name"] == "source")

    def _clear(self) -> None:
        self.comparison = self.compiled = None
        self._drawn = {}
        self.chart, self.table, self._kept = {}, "", ""

    def _asked(self, *, is_new_source: bool) -> tuple[EpilogueCase, str]:
        """Return what the controls ask for, and a sentence where that is not taken.

        Another source has other controls, which may lack the one to correct a number with.
        """
        try:
            return self.case, ""
        except ProtonLabError as error:
            if not is_new_source:
                raise
            return self._settled, f"Not taken over: {error}."

    def _settle(self, *, is_new_source: bool = False) -> None:
        """Take what the controls ask for to what can be shown, and show what is known of it."""
        self._notice = ""
        try:
            source = self.source_now()
            case, why = self._asked(is_new_source=is_new_source)
            if source is not None:
                case, other = source.settled(case)
                why = " ".join(filter(None, (why, other)))
        except ProtonLabError as error:
            self._clear()  # of another case than the one that is asked for
            self.fail(str(error))
            return
        self._is_settling = True
        try:
            for name, value in dataclasses.asdict(case).items():
                setattr(self, name, value)
        finally:
            self._is_settling = False
        self.forget_problem()
        self._settled, self._notice = case, why
        choices: dict[str, Any] = {}
        if source is not None:  # the interpreter always computes the same
            for name, (low, high, step) in LEGAL.items():
                choices[name] = {"min": low, "max": high, "step": step}
            choices |= {name: list(values) for name, values in source.choices(case).items()}
        self.choices = choices
        if self.running:
            self.say(self._status)
            return  # the run sees it, and begins anew
        moment = Moment("press Start to compute") if source is None else source.at_once(case)
        self._clear()
        self.show(moment)
