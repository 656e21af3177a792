"""What a reader should know before believing a comparison."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from protonlab.model.changes import CANNOT_TELL, CONFIDENCE, WITHIN_PERCENT
from protonlab.model.filtered_kernels import filtered_alone
from protonlab.model.metrics import Metric
from protonlab.model.profile import Profile
from protonlab.model.sentences import printable, some
from protonlab.model.units import counted

_MOST_NAMES = 3


def notes_on(
    before: Profile, after: Profile, metric: Metric, kernels: pd.DataFrame
) -> Iterator[str]:
    """Say what makes two profiles hard to compare, one sentence each.

    Parameters
    ----------
    before, after, metric
        The profiles, and what was compared.
    kernels
        Their kernels, as `Comparison.kernels` holds them.
    """
    gpus = before.info.gpu, after.info.gpu
    devices = _hardware(before), _hardware(after)
    if all(devices) and (devices[0] != devices[1] or (all(gpus) and gpus[0] != gpus[1])):
        yield (
            f"Warning: before ran on {before.where}, after on {after.where}; the differences "
            "are also those of the devices."
        )
    for package in sorted({*before.info.versions} & {*after.info.versions}):
        old, new = before.info.versions[package], after.info.versions[package]
        if old != new:
            yield f"{package} was {old} before and {new} after."
    contexts = before.info.context, after.info.context
    if all(contexts) and contexts[0] != contexts[1]:
        yield (
            f"before was recorded with context={contexts[0]}, after with context={contexts[1]}: "
            "their trees have other frames; the table of kernels compares all the same."
        )
    yield from _on_filters(before, after)
    yield from _on_kernels(metric, kernels)
    yield from _on_repeats(before, after, kernels)


def _on_filters(before: Profile, after: Profile) -> Iterator[str]:
    sides = (("before", before, after), ("after", after, before))
    for word, profile, other in sides:
        names = filtered_alone([profile], [other])
        if names:
            yield (
                f"The filters differ, and {word} alone rejected "
                f"{some([*map(printable, names)], _MOST_NAMES)}: compared by compiled name, and "
                f"what launch metadata says of it is missing {word}."
            )


def _hardware(profile: Profile) -> set[tuple[object, ...]]:
    return {
        (each.device_type, each.arch, each.num_sms, each.clock_rate_khz, each.bus_width)
        for each in profile.devices
    }


def _on_kernels(metric: Metric, kernels: pd.DataFrame) -> Iterator[str]:
    empty = [
        side
        for side, column in (("before", "added"), ("after", "removed"))
        if (kernels["change"] == column).all()
    ]
    if kernels.empty:
        yield "No kernel was launched in either profile."
        return
    if len(empty) == 1:
        yield f"No kernel was launched {empty[0]}: all of the other profile is the difference."
        return
    both = kernels[~kernels["change"].isin(["added", "removed"])]
    if both.empty:
        yield (
            "The profiles have no kernel in common: all that ran before is gone, and all that ran "
            "after is new."
        )
        return
    renames = int(kernels["renamed_from"].notna().sum())
    if renames:
        one = renames == 1
        yield (
            f"{counted(renames, 'kernel')} {'was' if one else 'were'} aligned with another name, "
            "by the comparison's rule; renamed_from says which."
        )
    uneven = int((both["count_before"] != both["count_after"]).sum())
    if uneven and metric.additive:
        yield (
            f"Of {counted(len(both), 'kernel')} on both sides, {uneven} "
            f"{'was' if uneven == 1 else 'were'} launched another number of times; "
            "metric='avg_time/us' compares a launch with a launch."
        )


def _on_repeats(before: Profile, after: Profile, kernels: pd.DataFrame) -> Iterator[str]:
    numbers = [profile.repeats.number if profile.repeats else 0 for profile in (before, after)]
    if numbers[0] != numbers[1] and max(numbers) > 1:
        ran = [f"{number} times" if number else "once, not repeated" for number in numbers]
        yield (f"before ran {ran[0]}, after {ran[1]}: values are those of one repeat, on average.")
    ratios = int(kernels["change"].isin(["changed", "unchanged", CANNOT_TELL]).sum())
    if not ratios:
        return
    if "low" not in kernels:
        yield (
            f"Not repeated on both sides, so what differs by up to {WITHIN_PERCENT} % counts as "
            "unchanged, and a greater difference may still be noise; record with repeat=20 to tell."
        )
    elif ratios >= 1 / (1 - CONFIDENCE):
        yield (
            f"A {100 * CONFIDENCE:g} % interval is wrong one time in "
            f"{round(1 / (1 - CONFIDENCE))}: of {ratios} kernels about "
            f"{round(ratios * (1 - CONFIDENCE))} would seem changed even if none was."
        )
