"""The flame graph: the tree as boxes, as wide as what they cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protonlab.errors import MetricError, ProtonLabError
from protonlab.model import Metric, Profile, Run
from protonlab.model.comparison import Comparison
from protonlab.model.frames import MetricColumn
from protonlab.views.callers import CallersTree
from protonlab.views.compared_tree import ComparedTree
from protonlab.views.flame_figure import FlameFigure, Look, drawn, empty
from protonlab.views.flame_options import FlameOptions
from protonlab.views.fold import fold
from protonlab.views.hover import caption
from protonlab.views.layout import title_of
from protonlab.views.rank_words import WAITING, collective_names, run_notes, where_of
from protonlab.views.ranks_tree import RunTree
from protonlab.views.search import Found, find
from protonlab.views.sources import keeps_sources
from protonlab.views.tree import ProfileTree, Tree

_COLORS: dict[type, str] = {ComparedTree: "difference", RunTree: "spread"}
_WIDTHS = "Each frame is as wide as the larger of its two values."


@keeps_sources
def flame(
    subject: Profile | Comparison | Run,
    *,
    metric: str | None = None,
    color: str | None = None,
    inverted: bool = False,
    search: str | None = None,
    options: FlameOptions | None = None,
) -> FlameFigure:
    """Draw a tree: each box as wide as its inclusive metric, on the box of what called it.

    In a notebook and in an exported page a click zooms, and a click on the box below, a double
    click or Escape goes back; the field above searches.

    Parameters
    ----------
    subject
        A profile, a comparison of two, or a run: the trees of its ranks in one, each frame as wide
        as its mean over the ranks. A frame of a comparison is as wide as the larger of its
        two values, so what became faster keeps the room that it took.
    metric
        A metric that may be summed, such as ``"time"`` (the default), ``"count"`` or ``"bytes"``.
        A comparison brings its own.
    color
        ``"kind"``: scopes, kernels and what the filter made of them; ``"library"``: Triton,
        cuBLAS, cuDNN, ATen, NCCL, by kernel names; ``"difference"``, of a comparison;
        ``"spread"``, of a run: how far its ranks are apart, by their median; or any metric, such as
        ``"gbyte/s"`` or ``"util"``, in six even steps. By default the spread of a run, the
        difference of a comparison, else the kind.
    inverted
        Turn the tree over: kernels first, on each of them its callers, merged, with the time
        that the kernel took for them.
    search
        A regular expression for names, found anywhere in them, without regard to case. Frames
        without it stand back, and the title says what share the others take.
    options
        Root on top (an icicle) or at the bottom (a flame), the order of siblings, whether overhead
        is drawn, and how many boxes, by default at most 1,500.

    Raises
    ------
    MetricError
        If `metric` is unknown or may not be summed, or `color` is no metric.
    ProtonLabError
        If the subject is something else, or an argument does not suit it.

    Examples
    --------
    >>> protonlab.flame(profile, metric="bytes", color="gbyte/s")  # doctest: +SKIP
    >>> protonlab.flame(profile, inverted=True, search="matmul")  # doctest: +SKIP
    >>> left_heavy = protonlab.FlameOptions(root="bottom", order="widest")
    >>> protonlab.flame(profile, options=left_heavy)  # doctest: +SKIP
    >>> protonlab.flame(protonlab.compare(before, after))  # doctest: +SKIP
    >>> protonlab.flame(protonlab.load_run("runs/tonight"))  # doctest: +SKIP
    """
    given = FlameOptions() if options is None else options
    if not isinstance(given, FlameOptions):
        raise ProtonLabError(f"options={given!r}; give protonlab.FlameOptions(order='widest')")
    tree = _tree(subject, metric, overhead=given.overhead, inverted=inverted)
    title, notes = _words(subject, tree, overhead=given.overhead, inverted=inverted)
    why = _why_empty(tree)
    if why:
        return empty(title, why)
    found = None if search is None else find(tree, search)
    if inverted and isinstance(tree, ProfileTree):
        tree = CallersTree.of(tree)
    look = Look(
        title_of(*title, _said(found, tree)),
        color or _COLORS.get(type(tree), "kind"),
        given.root,
        given.order == "widest" or inverted,
        given.max_boxes,
        found,
        notes,
    )
    boxes = fold(
        tree.parent,
        tree.depth,
        tree.value,
        tree.shown,
        limit=look.limit,
        widest_first=look.widest_first,
    )
    return drawn(tree, boxes, look)


def _tree(
    subject: Profile | Comparison | Run, metric: str | None, *, overhead: bool, inverted: bool
) -> Tree:
    if isinstance(subject, Run):
        if inverted or overhead:
            raise ProtonLabError(
                "inverted and overhead are for a profile; draw the ranks added up: "
                "flame(run.merged(), inverted=True)"
            )
        wanted = subject.metric("time" if metric is None else metric)
        _check_sums(subject.columns, wanted)
        return RunTree.of(subject, wanted)
    if isinstance(subject, Comparison):
        if metric not in (None, subject.metric.name):
            raise ProtonLabError(
                f"metric={metric!r}: this comparison is by {subject.metric.name!r}; "
                f"flame(compare(before, after, metric={metric!r}))"
            )
        if inverted or overhead:
            raise ProtonLabError(
                "inverted and overhead are for a profile; draw the two sides of the comparison: "
                "flame(comparison.before, inverted=True)"
            )
        _check_sums(subject.before.columns, subject.metric)
        return ComparedTree.of(subject)
    if not isinstance(subject, Profile):
        hint = "; timeline() draws a trace" if type(subject).__name__ == "Trace" else ""
        raise ProtonLabError(
            f"a flame graph needs a Profile or a Comparison, not a {type(subject).__name__}{hint}"
        )
    wanted = subject.metric("time" if metric is None else metric)
    _check_sums(subject.columns, wanted)
    return ProfileTree.of(subject, wanted, overhead=overhead)


def _check_sums(columns: Sequence[MetricColumn], metric: Metric) -> None:
    if not metric.additive:
        able = ", ".join(column.stem for column in columns if column.additive)
        raise MetricError(
            f"a flame graph needs a metric that may be summed over frames, and {metric.name!r} may "
            f"not; use one of: {able or 'none was recorded'}. bars() takes any metric, and so does "
            "color=."
        )


def _words(
    subject: Profile | Comparison | Run, tree: Tree, *, overhead: bool, inverted: bool
) -> tuple[list[str], tuple[str, ...]]:
    """Parts of the title, and sentences below the boxes."""
    if isinstance(subject, Comparison):
        names = [side.info.name for side in (subject.before, subject.after)]
        name = " → ".join(names) if all(names) else ""
        notes = (f"{subject.summary}.", _WIDTHS, subject.rule, *subject.notes)
        return [name, caption(subject.metric), subject.after.where], notes
    if isinstance(subject, Run):
        mean = tree.metric.format(float(tree.value[0]))
        waits = (WAITING,) if collective_names(subject).any() and tree.metric.unit == "s" else ()
        what = f"{caption(tree.metric)} {mean}, mean of the ranks"
        return [subject.name, what, where_of(subject)], (*waits, *run_notes(subject))
    total = tree.metric.format(float(tree.value[0])) if len(tree.value) else ""
    what = f"{caption(tree.metric)} {total}".strip()
    how = "kernels to callers" if inverted else ""
    extra = "with profiling and tuning" if overhead else ""
    return [subject.info.name, what, how, extra, subject.where], ()


def _said(found: Found | None, tree: Tree) -> str:
    return "" if found is None else found.said(caption(tree.metric))


def _why_empty(tree: Tree) -> str:
    """Say why there is nothing to draw; empty when there is."""
    shown = tree.value[tree.shown]
    if not (tree.frames["kind"] == "kernel").any():
        return "No kernel was recorded."
    if np.isnan(shown).all():
        return f"No frame recorded {caption(tree.metric)}."
    if (shown < 0).any():
        return f"{caption(tree.metric)} is negative somewhere, and no box can be: see bars()."
    if not tree.value[0] > 0:
        return f"{caption(tree.metric)} is zero everywhere."
    return ""
