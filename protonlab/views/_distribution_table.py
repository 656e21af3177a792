"""How each kernel's metric varies over the repeats, as a table."""

from __future__ import annotations

import numpy as np

from protonlab.model import Profile
from protonlab.model.units import counted
from protonlab.views.columns import (
    Column,
    cells_of,
    full_name,
    kernel_column,
    unit_of,
)
from protonlab.views.hover import caption
from protonlab.views.kernel_table import KernelTable
from protonlab.views.selection import more_than, select
from protonlab.views.sources import keeps_sources

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
    scale, unit = unit_of(wanted, values)
    number = profile.repeats.number if profile.repeats else 0
    notes = ["low and high: 95 % interval of the mean (Student's t); n: repeats in which it ran."]
    notes += more_than(top, len(found))
    return KernelTable(
        title=" ".join(filter(None, (caption(wanted), "a repeat", unit)))
        + f", over {counted(number, 'repeat')}",
        columns=(
            kernel_column(listed),
            Column("n", tuple(map(str, listed["n"]))),
            *(
                Column(title, cells_of(wanted, values[:, column], scale))
                for column, title in enumerate(_COLUMNS.values())
            ),
        ),
        names=tuple(map(full_name, listed["name"])),
        note=" ".join(notes),
    )
