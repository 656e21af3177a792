"""Two runs compared: each kernel and frame before and after, with intervals across the ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model.changes import change_columns
from protonlab.model.collectives import collective_rows, is_collective
from protonlab.model.comparability import notes_on
from protonlab.model.comparison import Comparison, compare
from protonlab.model.filtered_kernels import by_compiled_name, filtered_alone
from protonlab.model.frames import BoolArray, FloatArray, IntArray
from protonlab.model.metrics import Metric
from protonlab.model.outliers import OUTLYING, robust_z
from protonlab.model.rank_tables import MOST_CELLS, kernel_values
from protonlab.model.sentences import on_ranks, printable, some
from protonlab.model.units import counted, plain

# A rank stands out from a ratio 10 % beyond the others' on, and farther where they differ, too.
_APART = np.log(1.1)
_SHARE = 0.01  # of all that a rank took, from which on a kernel's change is worth a sentence
_MOST_RANKS = 3
_FEW = 4


@dataclass(frozen=True, eq=False, repr=False)
class RunComparison(Comparison):
    """Two runs compared by one metric; `Run.compare` makes one.

    A `Comparison` of what a rank recorded on average, so that every view of one shows it. Its
    ratios have intervals across the ranks: in ``frames`` and ``kernels``, ``low`` and ``high`` are
    the bounds of ``ratio``, and ``verdict`` says what they mean.

    Parameters
    ----------
    ranks
        Ranks that were compared, before and after.
    paired
        Whether both runs have the same ranks, of which each is compared with itself: what a rank's
        GPU has always been slower by falls out. Otherwise the means of the ranks are compared.
    """

    ranks: tuple[tuple[int, ...], tuple[int, ...]]
    paired: bool

    @property
    def summary(self) -> str:
        """One line: means of the ranks, their difference with its interval, what changed."""
        numbers = tuple(map(len, self.ranks))
        which = counted(numbers[0], "rank")
        if numbers[0] != numbers[1]:
            which = f"{numbers[0]} and {counted(numbers[1], 'rank')}"
        return f"mean of {which}: {super().summary}"


def compare_runs(before: Any, after: Any, metric: str) -> RunComparison:
    """Compare two `Run`s; `Run.compare` says how."""
    given = (before, after)
    sides, per_step = _per_step(_sides(before, after))
    sides = _one_name(*sides)
    before, after = sides
    means = [side.tree.profile(side.name, _first(side), (), mean=True) for side in sides]
    whole = compare(means[0], means[1], metric=metric)
    ranks = (before.tree.ranks, after.tree.ranks)
    paired = ranks[0] == ranks[1] and len(ranks[0]) > 1
    wanted = (before.metric(metric), after.metric(metric))
    samples = _of_kernels(whole, sides, wanted)
    kernels = _judged(whole.kernels, wanted[0], samples, paired=paired)
    frames = whole.frames
    cells = (len(mean.frames) * len(own) for mean, own in zip(means, ranks, strict=True))
    if max(cells) <= MOST_CELLS:
        frames = _judged(frames, wanted[0], _of_frames(whole, sides, wanted), paired=paired)
    notes = (
        *per_step,
        *_absent(given, ranks),
        *(_apart(whole, samples, ranks[0]) if paired else ()),
        *_notes(sides, ranks),
        *notes_on(means[0], means[1], whole.metric, kernels),
    )
    own = {field.name: getattr(whole, field.name) for field in fields(Comparison)}
    own |= {"frames": frames, "kernels": kernels, "notes": notes}
    return RunComparison(**own, ranks=ranks, paired=paired)


def _sides(before: Any, after: Any) -> tuple[Any, Any]:
    """Leave out ranks that one of two runs of one size lacks, where two or more are left."""
    common = [rank for rank in before.profiles if rank in after.profiles]
    uneven = {*before.profiles} != {*after.profiles}
    if not uneven or before.world_size != after.world_size or len(common) < 2:
        return before, after
    one, other = (
        replace(side, profiles={rank: side.profiles[rank] for rank in common})
        for side in (before, after)
    )
    return one, other


def _per_step(sides: tuple[Any, Any]) -> tuple[tuple[Any, Any], tuple[str, ...]]:
    """Put a step's mean in place of the sums where ranks recorded different numbers of steps."""
    profiles = [profile for side in sides for profile in side.profiles.values()]
    numbers = {profile.repeats.number if profile.repeats else 0 for profile in profiles}
    if len(numbers) < 2 or not all(numbers):
        return sides, ()
    one, other = (
        replace(
            side,
            profiles={
                rank: replace(profile, frames=profile.repeats.mean(profile.frames, profile.columns))
                for rank, profile in side.profiles.items()
            },
        )
        for side in sides
    )
    steps = f"{min(numbers)} to {max(numbers)} steps"
    return (one, other), (f"Ranks recorded {steps}: values are those of one step, on average.",)


def _one_name(before: Any, after: Any) -> tuple[Any, Any]:
    """Give a kernel that only one run's filter rejected its compiled name in both."""
    one, other = ([*side.profiles.values()] for side in (before, after))
    gated = filtered_alone(one, other) + filtered_alone(other, one)
    if not gated:
        return before, after
    before, after = (
        replace(
            side,
            profiles={rank: by_compiled_name(each, gated) for rank, each in side.profiles.items()},
        )
        for side in (before, after)
    )
    return before, after


def _first(run: Any) -> Any:
    if not run.profiles:
        raise ProtonLabError(f"run {run.name!r} has no profile of a rank to compare")
    return next(iter(run.profiles.values()))


def _judged(
    table: pd.DataFrame, metric: Metric, samples: tuple[FloatArray, FloatArray], *, paired: bool
) -> pd.DataFrame:
    """Put intervals across the ranks beside a comparison's values; samples: (ranks, rows)."""
    before, after = (table[side].to_numpy(np.float64) for side in ("before", "after"))
    change = table["change"]
    present = ((change != "added").to_numpy(), (change != "removed").to_numpy())
    columns = change_columns(metric, before, after, present, samples, of="rank", paired=paired)
    judged = table.assign(
        **{name: pd.Series(values, index=table.index) for name, values in columns.items()}
    )
    places = [*table.columns]
    place = places.index("ratio") + 1
    return judged[[*places[:place], "low", "high", "verdict", *places[place:]]]


def _of_kernels(
    whole: Comparison, sides: tuple[Any, Any], metrics: tuple[Metric, Metric]
) -> tuple[FloatArray, FloatArray]:
    """Values of the kernels on each rank before and after, shape (ranks, kernels) each."""
    new = whole.kernels["name"].to_numpy(object)
    old = np.where(whole.kernels["renamed_from"].isna(), new, whole.kernels["renamed_from"])
    found = []
    for side, metric, names in zip(sides, metrics, (old, new), strict=True):
        values = kernel_values(side.tree.source, side.profiles, metric)
        categories = side.frames["name"].cat.categories
        place = pd.Index(categories.astype(object)).get_indexer(pd.Index(names, dtype=object))
        found.append(_picked(values.matrix, place))
    return found[0], found[1]


def _of_frames(
    whole: Comparison, sides: tuple[Any, Any], metrics: tuple[Metric, Metric]
) -> tuple[FloatArray, FloatArray]:
    """Inclusive values of the frames on each rank, shape (ranks, frames) each."""
    found = []
    for side, metric, name in zip(sides, metrics, ("before_frame", "after_frame"), strict=True):
        shown = np.flatnonzero(~side.tree.overhead)
        rows = whole.frames[name].to_numpy(np.int64)
        found.append(_picked(side.tree.values(metric).matrix[shown], rows))
    return found[0], found[1]


def _picked(matrix: FloatArray, rows: npt.NDArray[np.integer[Any]] | IntArray) -> FloatArray:
    padded = np.concatenate([matrix, np.full((1, matrix.shape[1]), np.nan)])
    picked: FloatArray = padded[rows].T
    return picked


def _absent(given: tuple[Any, Any], compared: tuple[tuple[int, ...], ...]) -> Iterator[str]:
    """Say which ranks left no profile, and which left one in one run alone and were left out."""
    words = ("before", "after")
    alone = [{*side.profiles} - {*ranks} for side, ranks in zip(given, compared, strict=True)]
    for side, other, word in zip(given, reversed(alone), words, strict=True):
        gone = {*range(side.world_size)} - {*side.profiles} - other
        if gone and side.manifests:
            who = on_ranks(sorted(gone)).capitalize()
            yield f"{who} of {side.world_size} left no profile in the run {word}."
    for ranks, word in zip(alone, words, strict=True):
        if ranks:
            who = on_ranks(sorted(ranks))
            yield f"Not compared: {who}, of which only the run {word} has a profile."


def _apart(
    whole: Comparison, samples: tuple[FloatArray, FloatArray], ranks: tuple[int, ...]
) -> Iterator[str]:
    """Name the ranks on which a kernel changed far more than on the others; of the first such."""
    metric = whole.metric
    least = _SHARE * np.nansum(samples[0], axis=1) if metric.additive else np.zeros(len(ranks))
    names = whole.kernels[["name", "label"]].to_numpy(object)
    for (name, label), before, after in zip(names, samples[0].T, samples[1].T, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = after / before
            logs = np.log(ratio)
        known = np.isfinite(logs)
        far = _far(np.where(known, logs, np.nan))
        near = ratio[known & ~far]
        if is_collective(name) or not (far & (np.abs(after - before) > least)).any():
            continue
        each = [
            f"{on_ranks([ranks[at]])} ({metric.format(before[at])} to {metric.format(after[at])}, "
            f"ratio {plain(ratio[at])})"
            for at in np.flatnonzero(far)
        ]
        yield (
            f"{printable(str(label))} changed far more on {some(each, _MOST_RANKS)} "
            f"than on the others (ratio {plain(near.min())} to {plain(near.max())})."
        )
        return


def _far(logs: FloatArray) -> BoolArray:
    """Which ranks' ratios, as logarithms, lie far from the others'; shape (ranks,)."""
    known = np.flatnonzero(~np.isnan(logs))
    far = np.zeros(len(logs), dtype=np.bool_)
    if len(known) > _FEW:
        floor = _APART / (1.4826 * OUTLYING)
        return np.abs(robust_z(logs, floor=floor)) > OUTLYING
    if len(known) > 2:  # too few for a deviation that one of them does not move
        last = known[np.argmax(np.abs(logs[known] - np.median(logs[known])))]
        others = logs[known[known != last]]
        far[last] = np.abs(logs[last] - others).min() > max(_APART, 3 * np.ptp(others))
    return far


def _notes(sides: tuple[Any, Any], ranks: tuple[tuple[int, ...], ...]) -> Iterator[str]:
    if ranks[0] != ranks[1]:
        yield (
            f"The runs have other ranks ({on_ranks(ranks[0])} before, {on_ranks(ranks[1])} after), "
            "so means of ranks are compared, not each rank with itself."
        )
    if any(collective_rows(side.frames["name"]).any() for side in sides):
        yield (
            "Time in collectives is mostly waiting for the last rank, so it says little of how "
            "fast they are; stragglers() of either run says who comes last."
        )
    if min(map(len, ranks)) < 2:
        yield "With one rank on a side there is no interval across ranks."
