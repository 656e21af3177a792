"""Whether two comparisons of the same variants are of the same work, by their profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from protonlab.model import Profile, VariantComparison
from protonlab.model.units import counted, format_quantity

# Calls may draw their work at random, such as a routing.
_SAME, _MOST_NAMES = 0.01, 3


def other_work(before: VariantComparison, after: VariantComparison) -> Iterator[str]:
    """Say where variants launch other kernels than in the baseline, or a call does more or less."""
    if before.profiles is None or after.profiles is None:
        return
    for name, old, new in zip(after.names, before.profiles, after.profiles, strict=True):
        was, is_now = (dict.fromkeys(map(str, side.kernels["label"])) for side in (old, new))
        only = [
            f"{_listed([each for each in ours if each not in theirs])} {when}"
            for ours, theirs, when in (
                (was, is_now, "in the baseline only"),
                (is_now, was, "now only"),
            )
            if not ours.keys() <= theirs.keys()
        ]
        if only:
            yield f"{name} launches other kernels: {', '.join(only)}."
        then, now = _of_a_call(old), _of_a_call(new)
        known = sorted(then.keys() & now.keys())
        if any(abs(now[each] - then[each]) > _SAME * then[each] for each in known):
            texts = [
                ", ".join(
                    format_quantity(side[each], "B" if each == "bytes" else "FLOP")
                    for each in known
                )
                for side in (then, now)
            ]
            yield (
                f"A call of {name} was {texts[0]} in the baseline and is {texts[1]} now, by launch "
                "metadata."
            )


def _of_a_call(profile: Profile) -> Mapping[str, float]:
    """Bytes and operations of one call, where kernels recorded them."""
    calls = profile.repeats.number if profile.repeats else 1
    return {
        column: float(profile.kernels[column].sum()) / calls
        for column in map(str, profile.kernels)
        if column == "bytes" or column.startswith("flops")
    }


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {counted(more, 'other')}" if more > 0 else "")
