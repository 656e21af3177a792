"""The kernels that a launch hook has seen: decided on once, found by the function's handle."""

from __future__ import annotations

from typing import Any

from protonlab.capture import _proton
from protonlab.capture._launch_record import HookRecord, Kernel, Notes
from protonlab.capture._metric_reader import need_a_look
from protonlab.model.filters import KernelFilter

proton = _proton.require()


class Kernels:
    """The kernels of one hook.

    Attributes
    ----------
    filter
        Which of them the hook keeps.
    loaded
        Handle of a function -> its kernel.
    """

    def __init__(self) -> None:
        self.filter = KernelFilter()
        self.loaded: dict[Any, Kernel] = {}
        self._named: dict[str, Kernel] = {}  # by compiled name
        self._compiled_names: dict[str, str] = {}  # name of a frame -> compiled name

    def decide(self, chosen: KernelFilter) -> None:
        """Replace the filter, for kernels that were seen, too."""
        self.filter = chosen
        for name, kernel in list(self._named.items()):
            kernel.keep = chosen.matches(name)

    def renew(self) -> None:
        """Take a closer look at the next launch metadata of each."""
        for kernel in list(self._named.values()):
            kernel.read = need_a_look

    def named(self, name: str) -> Kernel:
        """Find a kernel by its compiled name."""
        if name not in self._named:
            kernel = Kernel(name, self.filter.matches(name), proton.metadata_state(name))
            self._named.setdefault(name, kernel)
        return self._named[name]

    def load(self, function: Any, name: str) -> Kernel:
        """Remember the compiled name behind a handle."""
        kernel = self.loaded[function] = self.named(name)
        return kernel

    def shown_name(self, name: Any, kernel: Kernel) -> str:
        """Take the name that launch metadata gives a kernel's frame, if it is one."""
        if type(name) is not str or not name:
            return kernel.name
        self._compiled_names.setdefault(name, kernel.name)
        return name

    def record(self, notes: Notes) -> HookRecord:
        """Say what was seen so far."""
        kernels = self._named.items()
        return HookRecord(
            {name: (kernel.seen, kernel.kept) for name, kernel in kernels},
            dict(self._compiled_names),
            {name: frozenset(kernel.keys) for name, kernel in kernels},
            tuple(notes.messages),
        )
