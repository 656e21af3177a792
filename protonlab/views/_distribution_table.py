"""How each kernel's metric varies over the repeats, as a table."""

from __future__ import annotations

import numpy as np

from protonlab.model import Profile
from protonlab.model.units import counted
from protonlab.views.columns import Column, cells_of, scale_of
from protonlab.views.hover import caption
from protonlab.views.kernel_table import KernelTable
from protonlab.views.names import cleaned, shortened
from protonlab.views.selection import select
from protonlab.views.sources import keeps_sources

_LONGEST_LABEL, _LONGEST_NAME = 120, 400
_COLUMNS = {
    "min": "min",
    "q05": "5 %",
    "median": "median",
    "q95": "95 %",
    "max": "max",
    "estimate": "mean",
    "low": "low",
    "high": "high",
}


@keeps_sources
def distribution_table(profile: Profile, metric: str = "time", *, top: int = 200) -> KernelTable:
    """Make a table of what the repeats of each kernel took, slowest kernel first.

    Parameters
    ----------
    profile
        A profile with repeats.
    metric
        Name in the metric grammar.
    top
        Most kernels to list.

    Raises
    ------
    ProtonLabError
        If nothing was repeated or the metric is unknown.
    """
    wanted = profile.metric(metric)
    found = profile.distribution(metric).loc[select(profile).kernels.index]
    listed = found.head(top)
    values = listed[list(_COLUMNS)].to_numpy(dtype=np.float64)
    scale, header = scale_of(wanted, values)
    unit = header.removeprefix(wanted.name.rpartition("/")[0] or wanted.name).strip()
    labels = [shortened(cleaned(str(label)), _LONGEST_LABEL) for label in listed["label"]]
    number = profile.repeats.number if profile.repeats else 0
    notes = ["low and high: 95 % interval of the mean (Student's t); n: repeats in which it ran."]
    if len(found) > top:
        notes.append(f"{counted(len(found) - top, 'more kernel')}: top={top}.")
    return KernelTable(
        title=" ".join(filter(None, (caption(wanted), "a repeat", unit)))
        + f", over {counted(number, 'repeat')}",
        columns=(
            Column("kernel", tuple(labels), is_text=True),
            Column("n", tuple(map(str, listed["n"]))),
            *(
                Column(title, cells_of(wanted, values[:, column], scale))
                for column, title in enumerate(_COLUMNS.values())
            ),
        ),
        names=tuple(shortened(cleaned(str(name)), _LONGEST_NAME) for name in listed["name"]),
        note=" ".join(notes),
    )
