"""The errors that protonlab raises on purpose: one family, so one ``except`` catches them all."""

from typing import Any


class ProtonLabError(Exception):
    """Base of every error that protonlab raises on purpose.

    A message holds the bad value, the legal ones and the next step.
    """


class CaptureError(ProtonLabError):
    """Proton could not record: no GPU, no permission, CUPTI taken, profiling switched off."""


class ProfileFormatError(ProtonLabError):
    """A file is no readable profile; the message names file, place and expectation."""


class MetricError(ProtonLabError):
    """A metric name that the grammar or this profile does not know."""


class MissingDependencyError(ProtonLabError, ImportError):
    """An optional package, or Triton itself, is absent or too old."""


class RegressionError(ProtonLabError, AssertionError):
    """Something became slower than `protonlab.check` was told to allow, or returns what differs.

    Attributes
    ----------
    gate
        What was judged.
    """

    gate: Any = None


class KernelInputError(ProtonLabError, ValueError):
    """A kernel cannot take this input: wrong shape, type, device, stride or values."""
