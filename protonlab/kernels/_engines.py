"""The engines of `matmul`, by name, from the slowest to the fastest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from protonlab.kernels import _gluon, _reference, _triton
from protonlab.kernels._legal import EngineName
from protonlab.kernels._options import MatmulOptions
from protonlab.kernels._problem import Problem


@dataclass(frozen=True)
class Engine:
    """What `matmul` asks of an engine.

    Parameters
    ----------
    unsupported
        Says why it cannot compute a problem with these options; None if it can.
    launch
        Computes the problem's y.
    """

    unsupported: Callable[[Problem, MatmulOptions], str | None]
    launch: Callable[[Problem, MatmulOptions], None]


ENGINES: dict[EngineName, Engine] = {
    "reference": Engine(lambda problem, options: None, _reference.launch),
    "triton": Engine(_triton.unsupported, _triton.launch),
    "gluon": Engine(_gluon.unsupported, _gluon.launch),
}
