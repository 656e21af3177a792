"""The words of ``proton.start`` that a session passes on, checked together before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from protonlab.capture._platform import interpreting
from protonlab.capture.modes import MODES, Mode
from protonlab.capture.options import option
from protonlab.errors import ProtonLabError

if TYPE_CHECKING:
    from typing import Unpack


class ProtonWords(TypedDict, total=False):
    """Keywords of `Session` in Proton's words; each is optional.

    Attributes
    ----------
    context
        What kernels are filed under: ``"shadow"``, the scopes they were launched in, or
        ``"python"``, the Python call stack.
    data
        ``"tree"`` leaves a `Profile`; ``"trace"`` a `Trace`, every launch on a time axis.
    backend
        ``"cupti"``, ``"roctracer"``, ``"rocprofiler"`` or ``"instrumentation"``; None takes the
        one that fits the GPU.
    mode
        ``"pcsampling"``, ``"periodic_flushing"``, or for instrumentation ``"default"`` or
        ``"mma"``, with knobs behind colons (``"pcsampling:interval=1000"``); None for none.
    """

    context: Literal["shadow", "python"]
    data: Literal["tree", "trace"]
    backend: Literal["cupti", "roctracer", "rocprofiler", "instrumentation"] | None
    mode: Any


@dataclass(frozen=True)
class CheckedWords:
    """Proton's words, each legal, and legal together."""

    context: str = "shadow"
    data: str = "tree"
    backend: str | None = None
    mode: Mode | None = None

    @classmethod
    def of(cls, **words: Unpack[ProtonWords]) -> CheckedWords:
        """Check the words against the option table, and against each other.

        Raises
        ------
        ProtonLabError
            If a word is not legal, or is known not to work beside another or in this process.
        """
        unknown = words.keys() - ProtonWords.__annotations__.keys()
        if unknown:
            raise ProtonLabError(
                f"{min(unknown)} is no word of a session; it has name, include, exclude, record, "
                f"hook, sync, {', '.join(ProtonWords.__annotations__)}"
            )
        checked: dict[str, Any] = {
            name: option(name).check(words.get(name)) for name in ProtonWords.__annotations__
        }
        result = cls(**checked)
        for reason in (result._wrong_mode(), result._needs_gpu()):
            if reason:
                raise ProtonLabError(reason)
        if result.mode and result.mode.name == "periodic_flushing" and result.data == "trace":
            mode = result.mode.with_knob("format", "chrome_trace")  # Proton would write trees
            return cls(result.context, result.data, result.backend, mode)
        return result

    def check_repeats(self, number: int, warmup: int = 0) -> None:
        """Refuse to repeat where repeats cannot be told apart.

        Raises
        ------
        ProtonLabError
            If there is more than one round and no tree to add them up in.
        """
        flushes = self.mode is not None and self.mode.name == "periodic_flushing"
        if (number > 1 or warmup) and (self.data == "trace" or flushes):
            given = "data=trace" if self.data == "trace" else f"mode={self.mode}"
            raise ProtonLabError(
                f"repeat={number} warmup={warmup} beside {given}: repeats are added up in a tree "
                "that is read at the end; leave one of the two out"
            )

    def _wrong_mode(self) -> str:
        mode = self.mode
        if mode is None:
            return ""
        backend = self.backend
        if (backend and backend not in mode.backends) or mode.backends == ("instrumentation",):
            if backend == "instrumentation" and backend in mode.backends:
                return ""
            given = f"backend={backend} has {_modes_of(backend)}" if backend else "say so as well"
            return f"mode={mode.name} belongs to backend={' or '.join(mode.backends)}; {given}"
        if mode.name == "pcsampling" and self.data == "trace":
            return (
                "mode=pcsampling counts samples, which have no place on a time axis; use data=tree"
            )
        kind = mode.knobs.get("format")
        if kind and (kind == "chrome_trace") != (self.data == "trace"):
            return f"mode={mode} is no format of data={self.data}; leave format= out"
        return ""

    def _needs_gpu(self) -> str:
        given = {"data": self.data, "backend": self.backend, "mode": self.mode}
        asked = [f"{name}={value}" for name, value in given.items() if value not in ("tree", None)]
        if not asked or not interpreting():
            return ""
        return (
            f"{' and '.join(asked)} needs a GPU: kernels run on Triton's interpreter here, of "
            "which Proton keeps a tree only; leave the option out"
        )


def _modes_of(backend: str) -> str:
    return " and ".join(f"mode={name}" for name, (has, _) in MODES.items() if backend in has)
