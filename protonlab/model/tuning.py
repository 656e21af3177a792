"""What an autotuner tried: one row a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class TuningTrial:
    """One configuration that an autotuner benchmarked.

    Parameters
    ----------
    tuner
        ``"triton"`` (``triton.autotune``) or ``"inductor"`` (``torch.compile``).
    kernel
        Name of the kernel.
    config
        The configuration, as the tuner prints it.
    time_ms
        Time of a launch as the tuner measured it, its median where it took several; None when the
        configuration failed.
    chosen
        Whether the tuner took it.
    """

    tuner: str
    kernel: str
    config: str
    time_ms: float | None
    chosen: bool


def tuning_table(trials: Sequence[TuningTrial] | None) -> pd.DataFrame:
    """Trials as a table, one row each; its columns are the parts of a trial, NaN where it failed.

    ``attrs["known"]`` is False where the profile cannot tell what was tried.
    """
    table = pd.DataFrame(
        {
            name: pd.Series([getattr(trial, name) for trial in trials or ()], dtype=dtype)
            for name, dtype in _COLUMNS.items()
        }
    )
    table.attrs["known"] = trials is not None
    return table


_COLUMNS = {"tuner": object, "kernel": object, "config": object, "time_ms": float, "chosen": bool}
