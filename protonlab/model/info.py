"""How a profile came to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from protonlab.model.clocks import ClockReading
from protonlab.model.tuning import TuningTrial


@dataclass(frozen=True)
class ProfileInfo:
    """How a profile came to be; empty fields are not known (a file that Proton wrote itself).

    Parameters
    ----------
    name
        Name of the session.
    backend
        Proton's backend (``"cupti"``), or ``"interpreter, CPU"``.
    context
        ``"shadow"`` or ``"python"``.
    mode
        Mode of the backend with its knobs, as Proton writes it; empty for none.
    versions
        Package -> version.
    gpu
        Name of the GPU.
    when
        Start of the session, ISO 8601 with time zone.
    include, exclude
        The launch hook's filter.
    launches
        Compiled kernel name -> (launches seen by the hook, launches kept).
    cells
        File name -> number of the notebook cell compiled under it, for ``context="python"``.
    clocks
        Readings of the GPUs that ran kernels: at the start, at the end, and in between.
    repeats, warmup
        How often the code ran recorded, and unrecorded before; 0 where it was not repeated.
    tuning
        What autotuners tried; None where that is not known, as in a file that Proton wrote itself.
    notes
        Sentences that a reader of the numbers should know.
    """

    name: str = ""
    backend: str = ""
    context: str = ""
    mode: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    gpu: str = ""
    when: str = ""
    include: str | None = None
    exclude: str | None = None
    launches: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    cells: Mapping[str, int] = field(default_factory=dict)
    clocks: tuple[ClockReading, ...] = ()
    repeats: int = 0
    warmup: int = 0
    tuning: tuple[TuningTrial, ...] | None = None
    notes: tuple[str, ...] = ()
