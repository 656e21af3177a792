"""The gate itself: raises when something became slower than is allowed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, TypeAlias

from protonlab.errors import ProtonLabError, RegressionError
from protonlab.experiment._gate import Gate
from protonlab.experiment._judging import (
    INTERPRETER,
    judge_comparisons,
    judge_pair,
    judge_profiles,
    recorded,
)
from protonlab.experiment._other_gpu import other_gpu
from protonlab.experiment._same_work import other_work
from protonlab.formats import load
from protonlab.model import Profile, VariantComparison
from protonlab.model.thresholds import threshold_of

Measured: TypeAlias = "Profile | VariantComparison | str | os.PathLike[str]"
DEFAULT_THRESHOLD = 0.03
_MEANT = "Where outputs are meant to differ: outputs='any', or in a shell --any-outputs."


def check(
    baseline: Measured,
    candidate: Measured | None = None,
    *,
    threshold: float | str = DEFAULT_THRESHOLD,
    metric: str | None = None,
    include: str | None = None,
    absolute: bool = False,
    outputs: Literal["equal", "any"] = "equal",
) -> Gate:
    """Fail when something became slower than a threshold allows, beyond what noise explains.

    It fails when the 95 % interval of the slowdown lies wholly beyond the threshold; a slowdown
    that is only possible passes, and the gate says so. It also fails when the outputs of two
    variants differ: a wrong result that is fast is no gain.

    Parameters
    ----------
    baseline
        A `VariantComparison`, a `Profile` that was repeated, or the path of a saved one.
    candidate
        The same measured anew. Without one, `baseline` is a comparison that holds both sides: its
        second variant is held against its first. Two comparisons are held against each other by
        the second variant's value relative to the first one's, in which the machine's state falls
        out. Two profiles are held against each other by their totals.
    threshold
        Slowdown that is allowed: ``"3%"`` or 0.03.
    metric
        For profiles: a time or a rate; by default ``"time/us"``.
    include
        For profiles: also judge the kernels whose name matches from its start.
    absolute
        For two comparisons: also judge each variant by itself; both have to be measured on a GPU
        in the same state then.
    outputs
        For comparisons: ``"equal"`` fails where outputs differ, unless they did in the baseline,
        too; ``"any"`` only notes it, for variants that are meant to differ, such as by random
        numbers. Variants that return nothing to compare never fail by it.

    Returns
    -------
    Gate
        With Markdown and JUnit summaries.

    Raises
    ------
    RegressionError
        If something regressed, or outputs differ; an AssertionError, too. Its ``gate`` is what was
        found.
    ProtonLabError
        If the two are not comparable, were measured on different GPUs, or give no interval.

    Examples
    --------
    >>> protonlab.check("baseline.hatchet", run1, threshold="3%")  # doctest: +SKIP
    >>> protonlab.check(compare_variants({"old": f, "new": g}))  # doctest: +SKIP
    """
    gate = judged(
        baseline,
        candidate,
        threshold=threshold,
        metric=metric,
        include=include,
        absolute=absolute,
        outputs=outputs,
    )
    raise_if_regressed(gate)
    return gate


def raise_if_regressed(gate: Gate) -> None:
    """Raise the RegressionError of a gate that did not pass."""
    __tracebackhide__ = True  # a test fails at its own line
    if not gate.passed:
        error = RegressionError(str(gate))
        error.gate = gate
        raise error


def judged(
    baseline: Measured,
    candidate: Measured | None,
    *,
    threshold: float | str = DEFAULT_THRESHOLD,
    metric: str | None = None,
    include: str | None = None,
    absolute: bool = False,
    outputs: Literal["equal", "any"] = "equal",
) -> Gate:
    """Do what `check` does, and give the gate back whatever it found."""
    allowed = threshold_of(threshold)
    check_outputs(outputs)
    before = read_measured(baseline, "baseline")
    after = None if candidate is None else read_measured(candidate, "candidate")
    check_options(before, after, metric=metric, include=include, absolute=absolute, outputs=outputs)
    if after is None:
        assert isinstance(before, VariantComparison)
        title = f"{before.names[1]} against {before.names[0]} ({before.metric.name})"
        wrong = "" if outputs == "any" else _wrong(before)
        row = judge_pair(before, allowed)
        return Gate(title, allowed, (row,), (*_way_out(wrong), *_notes(before)), wrong)
    if type(before) is not type(after):
        raise ProtonLabError(
            f"the baseline is a {type(before).__name__} and the candidate a "
            f"{type(after).__name__}; record the candidate as the baseline was recorded"
        )
    _check_place(before, after)
    wrong = ""
    if isinstance(before, VariantComparison) and isinstance(after, VariantComparison):
        rows = tuple(judge_comparisons(before, after, allowed, absolute=absolute))
        names = [side.metric.name for side in (before, after)]
        name = names[0] if names[0] == names[1] else "time/us"
        title = f"{' and '.join(after.names)} against the baseline ({name})"
        notes = tuple(other_work(before, after))
        if outputs != "any" and before.outputs_equal is not False:
            wrong = _wrong(after, before)
        if names[0] != names[1]:
            metrics = f"The metric was {names[0]} in the baseline and is {names[1]} now"
            notes = (f"{metrics}: both were judged by time.", *notes)
    else:
        assert isinstance(before, Profile)
        assert isinstance(after, Profile)
        name = metric or "time/us"
        rows = tuple(judge_profiles(before, after, allowed, metric=name, include=include))
        title = f"{after.info.name or 'candidate'} against the baseline ({name})"
        notes = ()
    notes = (*_way_out(wrong), *notes, *_notes(before, after))
    return Gate(title, allowed, rows, notes, wrong)


def baseline_of(
    found: VariantComparison, name: str, *, outputs: Literal["equal", "any"] = "equal"
) -> Gate:
    """Say what a new baseline of this name holds, as a gate that judges no speed yet."""
    wrong = "" if outputs == "any" else _wrong(found)
    names = " and ".join(found.names)
    title = f"{names} {'not ' if wrong else ''}recorded as {name} ({found.metric.name})"
    notes = (*_way_out(wrong), *_notes(found))
    return Gate(title, DEFAULT_THRESHOLD, tuple(recorded(found)), notes, wrong)


def check_options(
    before: Profile | VariantComparison,
    after: Profile | VariantComparison | None,
    *,
    metric: str | None,
    include: str | None,
    absolute: bool,
    outputs: str,
) -> None:
    """Refuse options that are not for what they are given with.

    Raises
    ------
    ProtonLabError
        If one is for the other kind, or a candidate is missing.
    """
    for_profiles = {"metric": metric, "include": include}
    given = [name for name, value in for_profiles.items() if value is not None]
    if isinstance(before, VariantComparison) and given:
        raise ProtonLabError(
            f"{' and '.join(given)} {'is' if len(given) == 1 else 'are'} for profiles; a "
            "comparison of variants holds one metric"
        )
    if outputs == "any" and isinstance(before, Profile):
        raise ProtonLabError("any outputs is for comparisons of variants: a profile has none")
    if absolute and not (after is not None and isinstance(before, VariantComparison)):
        raise ProtonLabError("absolute is for a comparison of variants held against a baseline's")
    if after is None and not isinstance(before, VariantComparison):
        raise ProtonLabError(
            "a profile is held against another one: give a candidate, recorded in the same way"
        )


def check_outputs(outputs: object) -> None:
    """Refuse what is neither ``"equal"`` nor ``"any"``.

    Raises
    ------
    ProtonLabError
        If it is not legal.
    """
    if outputs not in ("equal", "any"):
        raise ProtonLabError(
            f"outputs={outputs!r}; use 'equal', or 'any' where outputs are meant to differ"
        )


def _wrong(found: VariantComparison, before: VariantComparison | None = None) -> str:
    """Say that outputs differ which did not before; empty where they are equal or not known."""
    if found.outputs_equal is not False:
        return ""
    names = " and ".join(found.names)
    if before is None:
        return f"the outputs of {names} differ"
    known = "were equal" if before.outputs_equal else "were not compared"
    return f"the outputs of {names} differ now, and {known} in the baseline"


def _way_out(wrong: str) -> tuple[str, ...]:
    return (_MEANT,) if wrong else ()


def read_measured(given: Measured, side: str) -> Profile | VariantComparison:
    """Load what `check` judges, where it is a path.

    Raises
    ------
    ProtonLabError
        If it is neither a profile nor a comparison of variants.
    """
    found = load(given) if isinstance(given, (str, os.PathLike)) else given
    if isinstance(found, Mapping):
        if len(found) != 1:
            held = ", ".join(map(str, found)) or "no profile"
            raise ProtonLabError(
                f"the {side} is a report that holds {held}; give one of its profiles, from "
                "protonlab.load, or written by protonlab convert REPORT FILE --name NAME"
            )
        found = next(iter(found.values()))
    if not isinstance(found, (Profile, VariantComparison)):
        raise ProtonLabError(
            f"the {side} is of type {type(found).__name__}; give a profile that was repeated "
            "(%%proton repeat=20), or what compare_variants returns, or the file of one"
        )
    return found


def _check_place(before: Profile | VariantComparison, after: Profile | VariantComparison) -> None:
    places = [each.info.gpu or each.info.backend for each in (before, after)]
    if all(places) and places[0] != places[1]:
        raise ProtonLabError(
            f"the baseline ran on {places[0]}, the candidate on {places[1]}; record a baseline on "
            "the GPU that the candidate runs on"
        )


def _notes(*sides: Profile | VariantComparison) -> tuple[str, ...]:
    notes: list[str] = []
    if any(side.info.backend.startswith("interpreter") for side in sides):
        notes.append(INTERPRETER)
    if len(sides) == 2:
        notes += other_gpu(*sides)
        versions = [side.info.versions for side in sides]
        notes += [
            f"{name} was {versions[0][name]} in the baseline and is {versions[1][name]} now."
            for name in versions[1]
            if name in versions[0] and versions[0][name] != versions[1][name]
        ]
    for side, label in zip(sides, ("baseline: ", "") if len(sides) == 2 else ("",), strict=True):
        own = side.warnings if isinstance(side, VariantComparison) else side.info.notes
        notes += [f"{label}{note}" for note in own]
    return tuple(notes)
