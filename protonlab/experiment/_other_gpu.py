"""Whether two measurements are of one GPU: two of one name differ."""

from __future__ import annotations

from collections.abc import Iterator

from protonlab.model import Profile, VariantComparison


def other_gpu(
    before: Profile | VariantComparison, after: Profile | VariantComparison
) -> Iterator[str]:
    """Say so where the two were measured on two GPUs of one name."""
    ours, theirs = _uuids(after), _uuids(before)
    if ours and theirs and not ours & theirs:
        known, now = (min(each)[:12] for each in (theirs, ours))
        yield (
            f"The baseline was measured on another {before.info.gpu or 'GPU'}, {known}; this is "
            f"{now}. Two of them can be several percent apart in speed, and some tenths of a "
            "percent in the ratio of variants."
        )


def _uuids(side: Profile | VariantComparison) -> set[str]:
    """GPUs beside whose clocks it was measured."""
    profiles = (side.profiles or ()) if isinstance(side, VariantComparison) else (side,)
    return {reading.uuid for each in profiles for reading in each.info.clocks}
