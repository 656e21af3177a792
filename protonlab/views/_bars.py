"""The top kernels of a profile as horizontal bars."""

from __future__ import annotations

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.model import Metric, Profile
from protonlab.model.frames import FloatArray
from protonlab.model.units import counted
from protonlab.views import theme
from protonlab.views.boxes import box_traces, needs_legend
from protonlab.views.figure import ProfileFigure
from protonlab.views.hover import caption, hover_text, metric_lines, share
from protonlab.views.layout import empty_layout, layout_of, title_of
from protonlab.views.names import cleaned, escaped, told_apart
from protonlab.views.selection import select

_LONGEST_LABEL = 44
_VALUE_ROOM = 90  # pixels right of the longest bar, for its value


class BarsFigure(ProfileFigure):
    """Kernels as bars, sorted, as a plotly figure."""


def bars(
    profile: Profile, *, metric: str = "time", top: int = 20, everything: bool = False
) -> BarsFigure:
    """Draw the kernels with the highest values of a metric, each summed over the tree.

    Parameters
    ----------
    profile
        The profile.
    metric
        Any metric of the grammar: ``"time"``, ``"gbyte/s"``, ``"avg_time/us"``, ``"n_tokens/s"``.
    top
        Most kernels to draw.
    everything
        Also kernels outside of the filter that the profile was recorded with. Without them a line
        says how many there are.

    Raises
    ------
    MetricError
        If `metric` is unknown here.

    Examples
    --------
    >>> protonlab.bars(profile, metric="gbyte/s", top=10)  # doctest: +SKIP
    """
    if top < 1:
        raise ProtonLabError(f"top={top}; give at least 1")
    wanted = profile.metric(metric)
    title = title_of(profile.info.name, f"kernels by {caption(wanted)}", profile.where)
    selection = select(profile, everything=everything)
    values = profile.to_dataframe([metric], by="kernel")[metric]
    kernels = selection.kernels
    values = values.loc[kernels.index].dropna().sort_values(ascending=False, kind="stable")
    known = kernels.loc[values.index]
    if not len(known):
        why = (
            f"No kernel recorded {caption(wanted)}." if len(kernels) else "No kernel was recorded."
        )
        return BarsFigure(layout=empty_layout("bars", title, why))
    notes = list(selection.notes)
    if len(known) < len(kernels):
        notes.append(f"{counted(len(kernels) - len(known), 'kernel')} without {caption(wanted)}.")
    if len(known) > top:
        notes.append(f"{counted(len(known) - top, 'more kernel')}: top={top}.")
    drawn = values.head(top).to_numpy()
    return _figure(profile, wanted, known.head(top), drawn, title, notes)


def _figure(
    profile: Profile,
    metric: Metric,
    kernels: pd.DataFrame,
    values: FloatArray,
    title: str,
    notes: list[str],
) -> BarsFigure:
    labels = told_apart([cleaned(str(label)) for label in kernels["label"]], _LONGEST_LABEL)
    texts = [metric.format(value) for value in values]
    table = pd.DataFrame(
        {
            "role": [theme.role_of_kernel(hook) for hook in kernels["hook"]],
            "start": 0.0,
            "width": values,
            "row": range(len(kernels)),
            "label": labels,
            "aside": texts,
            "text": [escaped(text) for text in texts],
            "hover": _hover(profile, metric, kernels, texts),
            "edge": 0,
        }
    )
    low, high = table["width"].min(), table["width"].max()
    layout = layout_of("bars", title, len(table), legend=needs_legend(table), notes=notes) | {
        "bargap": 0.2,
        "xaxis": {
            "visible": False,
            "range": [min(0.0, low), max(0.0, high) or 1.0],
            "fixedrange": True,
        },
        "yaxis": {
            "range": [len(table) - 0.5, -0.5],
            "tickvals": table["row"].tolist(),
            "ticktext": [escaped(label) for label in labels],
            "ticks": "",
            "ticklabelstandoff": 6,
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
    }
    layout["margin"]["r"] = _VALUE_ROOM
    figure = BarsFigure(data=box_traces(table), layout=layout)
    figure.update_traces(
        textposition="outside",
        outsidetextfont={"size": theme.FONT_SIZE, "color": theme.TEXT.light},
        cliponaxis=False,
    )
    return figure


def _hover(profile: Profile, metric: Metric, kernels: pd.DataFrame, values: list[str]) -> list[str]:
    numbers = metric_lines(profile, kernels)
    whole = float(profile.kernels["time_ns"].sum()) if "time_ns" in kernels else float("nan")
    texts = []
    for row, lines, value in zip(kernels.to_dict("records"), numbers, values, strict=True):
        part = f"{share(row['time_ns'], whole)} of kernel time" if "time_ns" in kernels else ""
        where = "" if row["devices"] == 1 else f"on {row['devices']} devices"
        hook = "" if pd.isna(row["hook"]) else theme.HOOK_WORDS[row["hook"]]
        shown = f"{escaped(metric.name)}: <b>{escaped(value)}</b>"
        own = "" if metric.form in ("value", "ratio") else shown
        texts.append(hover_text(row["label"], row["name"], own, lines, part, where, hook))
    return texts
