"""Finding metadata functions that make the host wait for the GPU, and what that costs.

Reading a tensor's value on the host waits until the GPU has computed it, and breaks a graph
capture. While a detector is on, a torch dispatch mode looks at each operation of a metadata
function: one that takes a tensor on the GPU and leaves its result on the host has waited.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

# These leave their result on the GPU, but its shape comes from there.
_SHAPED_BY_VALUES = ("aten.nonzero", "aten.masked_select", "aten._unique", "aten.unique_")


@dataclass
class KernelSyncs:
    """What one kernel's metadata function did."""

    place: Callable[..., Any]
    launches: int = 0  # evaluations
    waiting: int = 0  # those that waited
    seconds: float = 0.0
    operations: dict[str, None] = field(default_factory=dict)  # in the order of their first use


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has types for a part
    """Notes the operations that wait, and how long they took."""

    def __init__(self, device: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.device = device
        self.operations: list[str] = []
        self.seconds = 0.0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        start = time.perf_counter()
        result = func(*args, **(kwargs or {}))
        seconds = time.perf_counter() - start
        inputs = list(_tensors((*args, *(kwargs or {}).values())))
        if any(each.device.type == self.device for each in inputs) and self._waits(func, result):
            self.operations.append(str(func))
            self.seconds += seconds
        return result

    def _waits(self, func: Any, result: Any) -> bool:
        name = str(func)
        if name.startswith("aten._local_scalar_dense") or name.startswith(_SHAPED_BY_VALUES):
            return True
        return self.device != "cpu" and any(
            each.device.type == "cpu" for each in _tensors((result,))
        )


class SyncDetector:
    """Watches metadata functions for one session, whichever hook evaluates them.

    Parameters
    ----------
    device
        Type of the device to watch.
    """

    def __init__(self, device: str = "cuda") -> None:
        self._device = device
        self._kernels: dict[str, KernelSyncs] = {}

    def watch(self, kernel: str, place: Callable[..., Any], evaluate: Callable[[], Any]) -> Any:
        """Evaluate the launch metadata of a kernel and return it."""
        found = self._kernels.setdefault(kernel, KernelSyncs(place))
        watch = _Watch(self._device)
        try:
            with watch:
                return evaluate()
        finally:
            found.launches += 1
            found.waiting += bool(watch.operations)
            found.seconds += watch.seconds
            found.operations.update(dict.fromkeys(watch.operations))

    def findings(self, kernels: Container[str]) -> Iterator[tuple[str, str, Callable[..., Any]]]:
        """Kernel, a sentence, and the metadata function, of each of these that waited."""
        for kernel, found in self._kernels.items():
            if not found.waiting or kernel not in kernels:
                continue
            cost = 1e6 * found.seconds / found.waiting
            yield (
                kernel,
                f"the launch metadata of {kernel} made the host wait for the GPU in "
                f"{found.waiting} of {found.launches} launches, {cost:.1f} µs each "
                f"({', '.join(found.operations)}); return the tensor itself, or exclude={kernel}",
                found.place,
            )


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)
