"""The scripts and styles that travel with views."""

from __future__ import annotations

from importlib import resources


def asset(name: str) -> str:
    """Text of one of the files in ``static/``."""
    return (resources.files("protonlab.views") / "static" / name).read_text("utf-8")
