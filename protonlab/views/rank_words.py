"""Words that all figures of a run share: ranks, their GPUs, and what is known of them."""

from __future__ import annotations

import numpy as np

from protonlab.model import Run
from protonlab.model.collectives import is_collective
from protonlab.model.frames import BoolArray
from protonlab.model.sentences import cleaned
from protonlab.model.units import counted
from protonlab.views.names import shortened

_MOST_NOTES = 5
_LONGEST_HOST = 40


def rank_name(run: Run, rank: int) -> str:
    """Name a rank, with its host and GPU where the manifest says them."""
    manifest = run.manifests.get(rank)
    about = [manifest.host, manifest.gpu_name] if manifest else []
    where = ", ".join(shortened(each, _LONGEST_HOST) for each in about if each)
    return f"rank {rank} ({where})" if where else f"rank {rank}"


def where_of(run: Run) -> str:
    """Say on what how many ranks ran, for titles."""
    number = counted(len(run.profiles) or len(run.traces), "rank")
    if run.missing:
        number = f"{len(run.ranks)} of {counted(run.world_size, 'rank')}"
    infos = [part.info for part in run.profiles.values()]
    infos += [trace.info for trace in run.traces.values()]
    gpus = dict.fromkeys(info.gpu for info in infos if info.gpu)
    if not gpus:  # files that Proton wrote itself do not name their GPU
        gpus = dict.fromkeys(info.backend for info in infos if info.backend)
    return f"{number}, {next(iter(gpus))}" if len(gpus) == 1 else number


def run_notes(run: Run) -> list[str]:
    """Take the run's own notes, a few of them."""
    more = len(run.notes) - _MOST_NOTES
    rest = [f"{counted(more, 'more note')}: see run.notes."] if more > 0 else []
    return [*map(cleaned, run.notes[:_MOST_NOTES]), *rest]


def collective_names(run: Run) -> BoolArray:
    """Whether each of the run's names (categories of its ``frames``) is a collective kernel."""
    names = run.frames["name"].cat.categories
    return np.fromiter((is_collective(str(name)) for name in names), np.bool_, len(names))


# Below what shows the time of collectives.
WAITING = "Time in collectives is mostly waiting: the rank with least of it is waited for."
