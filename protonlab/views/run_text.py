"""The tree of a run as text for a terminal: the ranks' trees in one, with what stands out."""

from __future__ import annotations

from protonlab.errors import ProtonLabError
from protonlab.model import Run
from protonlab.views.rank_table import spread_columns
from protonlab.views.rank_words import where_of
from protonlab.views.text_tree import NAME_STYLES, Order, TextTree, deeper, names_of, walk

# Median, spread and the highest rank, then what else `spread_columns` writes.
_IMPORTANCE = (0, 3, 5, 2, 1, 4, 6)
# Spread from which on a cell stands out.
_STYLES = ((0.5, "bold red"), (0.1, "yellow"), (0.01, ""), (0.0, "dim"))


def run_tree(
    run: Run, *, metric: str = "time", depth: int | None = None, order: Order = "recorded"
) -> TextTree:
    """Write the tree of a run, every frame with its inclusive metric over the ranks.

    Parameters
    ----------
    run
        The run.
    metric
        Name in the metric grammar.
    depth
        Deepest frames to show; the root has 0.
    order
        ``"recorded"``, or ``"widest"``: siblings with the greatest median first.

    Raises
    ------
    MetricError
        If the metric is unknown in this run.
    ProtonLabError
        If no rank left a profile, or there is no such order.
    """
    if order not in ("recorded", "widest"):
        raise ProtonLabError(f"order={order!r}; use 'recorded' or 'widest'")
    frames = run.by_rank(metric, by="frame")
    rows, guides, hidden = walk(frames, frames["median"] if order == "widest" else None, depth)
    shown = frames.loc[rows]
    columns = spread_columns(run, metric, shown)
    tones = tuple(
        next((style for least, style in _STYLES if spread >= least), "")
        for spread in shown["spread"].fillna(0.0)
    )
    plain = ("",) * len(rows)
    return TextTree(
        title=" · ".join(filter(None, (run.name, metric, where_of(run)))),
        columns=tuple(columns),
        styles=tuple(tones if column.header.startswith("spread") else plain for column in columns),
        names=names_of(shown),
        name_styles=tuple(NAME_STYLES.get(str(kind), "") for kind in shown["kind"]),
        guides=guides,
        notes=(*deeper(hidden, depth), *run.notes),
        importance=_IMPORTANCE[: len(columns)],
    )
