"""A Gate: what became slower than a threshold allows, judged by intervals."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Literal

from protonlab.experiment._gate_summaries import junit, markdown

Outcome = Literal["regressed", "not ruled out", "holds", "faster", "not judged", "new", "gone"]


@dataclass(frozen=True)
class Judged:
    """One thing that a gate looks at.

    Parameters
    ----------
    name
        A variant, a kernel, or ``"total"``.
    before, after
        Its value in the baseline and in the candidate, for a reader.
    slowdown, low, high
        How many times as long it takes now, with the bounds of the 95 % interval; for a rate, how
        many times less it does.
    n
        What the interval rests on, in words.
    outcome
        ``"regressed"``: the interval lies wholly beyond the threshold. ``"not ruled out"``: the
        threshold lies in it. ``"holds"``: all of it lies below. ``"faster"``: all of it below 1.
        ``"not judged"``: shown only. ``"new"`` and ``"gone"``: launched on one side only, so that
        there is no ratio, and part of the total.
    """

    name: str
    before: str
    after: str
    slowdown: float
    low: float
    high: float
    n: str
    outcome: Outcome

    @property
    def is_judged(self) -> bool:
        """Whether the gate's answer depends on it."""
        return self.outcome not in ("not judged", "new", "gone")

    @property
    def change(self) -> str:
        """By how much it is slower (+) or faster (-)."""
        return "–" if math.isnan(self.slowdown) else f"{_percent(self.slowdown)} %"

    @property
    def interval(self) -> str:
        """The interval of the change."""
        if math.isnan(self.low):
            return "–"
        return f"{_percent(self.low)} to {_percent(self.high)} %"

    @property
    def sentence(self) -> str:
        """One line on it."""
        if self.outcome == "new":
            return f"{self.name}: new, {self.after} after, and nothing to judge it by"
        if self.outcome == "gone":
            return f"{self.name}: gone, {self.before} before, and nothing to judge"
        return (
            f"{self.name}: {self.outcome}, {self.change} time (95 % interval {self.interval}, "
            f"{self.n}), {self.before} before, {self.after} after"
        )


@dataclass(frozen=True)
class Gate:
    """What `check` found.

    Parameters
    ----------
    title
        What was held against what.
    threshold
        Slowdown that is allowed: 0.03 for 3 %.
    rows
        What was judged, and what is shown beside.
    notes
        What a reader should know of the measurements.
    outputs
        Why the gate fails by what the variants return, in words; empty where it does not.
    """

    title: str
    threshold: float
    rows: tuple[Judged, ...]
    notes: tuple[str, ...] = ()
    outputs: str = ""

    @property
    def regressed(self) -> tuple[Judged, ...]:
        """What is slower than the threshold allows, surely."""
        return tuple(row for row in self.rows if row.outcome == "regressed")

    @property
    def passed(self) -> bool:
        """Whether nothing regressed, and no output is wrong that was not."""
        return not self.regressed and not self.outputs

    @property
    def summary(self) -> str:
        """One line: passed or failed, and why."""
        allowed = f"{100 * self.threshold:g} %"
        judged = [row for row in self.rows if row.is_judged]
        failures = [self.outputs] if self.outputs else []
        if self.regressed:
            names = ", ".join(row.name for row in self.regressed)
            failures.append(
                f"{len(self.regressed)} of {len(judged)} slower by more than {allowed}, "
                f"with 95 % confidence: {names}"
            )
        if failures:
            return f"failed: {'; and '.join(failures)}"
        if not judged:
            return "recorded, and nothing was judged"
        open_ = [row.name for row in judged if row.outcome == "not ruled out"]
        if open_:
            return (
                f"passed, but a slowdown beyond {allowed} is not ruled out: {', '.join(open_)}; "
                "measuring longer narrows the interval"
            )
        none = judged[0].name if len(judged) == 1 else f"none of {len(judged)}"
        is_slower = "is not slower" if len(judged) == 1 else "is slower"
        return f"passed: {none} {is_slower} by more than {allowed}"

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"{self.title}: {self.summary}",
                *(f"  {row.sentence}" for row in self.rows),
                *(f"Note: {note}" for note in self.notes),
            ]
        )

    def _repr_html_(self) -> str:
        return "".join(f"<div>{html.escape(line)}</div>" for line in repr(self).splitlines())

    def to_markdown(self) -> str:
        """Write a heading, a table and notes, as for a CI system's summary page."""
        return markdown(self)

    def to_junit(self) -> str:
        """Write a JUnit XML document with a test case for each row that is judged."""
        return junit(self)


def outcome_of(low: float, high: float, threshold: float) -> Outcome:
    """Judge an interval of a slowdown."""
    if low > 1 + threshold:
        return "regressed"
    if high > 1 + threshold:
        return "not ruled out"
    return "faster" if high < 1 else "holds"


def _percent(slowdown: float) -> str:
    """Write a slowdown as a signed change: ``+2.7`` of 1.027."""
    return f"{100 * (slowdown - 1):+,.1f}"
