"""The machine that a measurement runs on, as its numbers remember it."""

from __future__ import annotations

from collections.abc import Mapping

from protonlab.capture._surroundings import gpu_name, versions
from protonlab.capture.clocks import driver_version


def versions_here() -> Mapping[str, str]:
    """Versions of what decides how fast a kernel is, NVIDIA's driver among them."""
    driver = driver_version()
    return dict(versions()) | ({"driver": driver} if driver else {})


def machine_here() -> Mapping[str, str]:
    """Name the current GPU beside them: numbers of one machine may stand beside each other."""
    return {"gpu": gpu_name(), **versions_here()}
