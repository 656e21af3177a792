"""No test of this room leaves a Proton session, a hook or a file behind."""

from __future__ import annotations

from nothing_left import nothing_left

__all__ = ["nothing_left"]  # for all tests here
