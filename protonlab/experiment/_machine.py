"""The machine that a measurement runs on, as its numbers remember it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from protonlab.capture._surroundings import gpu_name, versions
from protonlab.capture.clocks import driver_version
from protonlab.model import ProfileInfo


def machine_here() -> Mapping[str, str]:
    """Name the GPU, and versions of what decides how fast a kernel is, the driver among them."""
    driver = driver_version()
    return {"gpu": gpu_name(), **versions()} | ({"driver": driver} if driver else {})


def info_here(name: str, known: ProfileInfo) -> ProfileInfo:
    """Describe a measurement that begins now.

    Parameters
    ----------
    name
        What is measured.
    known
        Of a profile recorded here; an empty one where there is none.
    """
    machine = dict(machine_here())
    gpu = machine.pop("gpu")
    return ProfileInfo(
        name=name,
        backend=known.backend,
        context=known.context,
        versions=machine,
        gpu=known.gpu or gpu,
        when=datetime.now().astimezone().isoformat(timespec="seconds"),
    )
