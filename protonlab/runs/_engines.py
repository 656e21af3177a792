"""The ipyparallel engines that a cell is to run on: which they are, and whether they are ready."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from protonlab.errors import MissingDependencyError, ProtonLabError
from protonlab.model.sentences import some
from protonlab.model.units import counted
from protonlab.runs import _on_engine

_START = "rc = ipyparallel.Cluster(n=2).start_and_connect_sync() starts two on this machine"
_MOST_NAMED = 8
_TICK_S = 1.0

Say = Callable[[str], None]  # shows a line of progress


@dataclass(frozen=True)
class Engines:
    """Engines of one ipyparallel client.

    Parameters
    ----------
    client
        The client.
    ranks
        Their numbers, as ipyparallel shows them; here they are the ranks.
    streams
        Whether ``%px`` shows output while it arrives.
    """

    client: Any
    ranks: tuple[int, ...]
    streams: bool = True

    def prepare(self, say: Say) -> dict[int, dict[str, Any]]:
        """Load protonlab on each engine; return what each says of itself.

        An engine that is busy with something else ends that first.

        Raises
        ------
        ProtonLabError
            If an engine has no protonlab, has another version, or cannot load it.
        """
        view = self.client[list(self.ranks)]
        asked = view.apply_async(_on_engine.prepare)
        wait_for(asked, say, "ready to record")
        of_rank = dict(zip(self.ranks, asked.get(return_exceptions=True), strict=True))
        own = importlib.metadata.version("protonlab")
        wrong: dict[str, list[int]] = {}
        for rank, answer in of_rank.items():
            reason = _reason_against(answer, own)
            if reason:
                wrong.setdefault(reason, []).append(rank)
        if wrong:
            found = "; ".join(f"{named(ranks)}: {reason}" for reason, ranks in wrong.items())
            raise ProtonLabError(
                f"{found}. ranks= needs protonlab {own}, as here, on every engine: install it "
                "where they run, and start them again"
            )
        return of_rank


def wait_for(result: Any, say: Say, what: str) -> None:
    """Wait for ipyparallel's result of all engines, and say every second how many are done."""
    began = time.monotonic()
    while not result.wait(_TICK_S):
        parts = result.split()
        done, waited = sum(part.ready() for part in parts), time.monotonic() - began
        say(f"{done} of {counted(len(parts), 'rank')} {what}, {waited:.0f} s")


def find_engines(shell: Any, ranks: Sequence[int] | Literal["all"]) -> Engines:
    """Find the engines of ``ranks=``: those of ``%px``, or of the only client there is.

    ipyparallel activates ``%px`` for the first client that a shell makes, and for any view when
    its ``activate()`` is called.

    Parameters
    ----------
    shell
        IPython's shell: its magics and the user's variables are looked at.
    ranks
        ``"all"``, or numbers of engines.

    Raises
    ------
    ProtonLabError
        If there are none, several clients might be meant, or a number is not among them.
    MissingDependencyError
        If ipyparallel is not installed.
    """
    asked = ranks if ranks == "all" else ",".join(map(str, ranks))
    client, there, streams = _offered(shell, f"ranks={asked}")
    if not there:
        raise ProtonLabError(
            f"ranks={asked}: no engine of this cluster is running; rc.wait_for_engines(2) waits "
            f"for two, and {_START}"
        )
    chosen = there if ranks == "all" else tuple(ranks)
    unknown = sorted(set(chosen) - set(there))
    if unknown:
        raise ProtonLabError(
            f"ranks={asked}: there is no {named(unknown)}; %px would use {named(there)}"
        )
    return Engines(client, chosen, streams)


def named(ranks: Sequence[int]) -> str:
    """Name engines by their numbers."""
    return f"engine{'s' if len(ranks) > 1 else ''} {some([*map(str, ranks)], _MOST_NAMED)}"


def _offered(shell: Any, asked: str) -> tuple[Any, tuple[int, ...], bool]:
    """Return the client, the numbers of the engines that may be meant, and how %px shows them."""
    if type(getattr(shell, "kernel", None)).__name__ == "IPythonParallelKernel":
        raise ProtonLabError(
            f"{asked}: this cell runs on an engine already, as every cell does under %autopx; "
            "switch that off, with %autopx once more"
        )
    if importlib.util.find_spec("ipyparallel") is None:
        raise MissingDependencyError(
            f"{asked} needs ipyparallel, which is not installed; pip install 'protonlab[cluster]'"
        )
    magics: Any = getattr(shell.magics_manager.magics["cell"].get("px"), "__self__", None)
    view = getattr(magics, "view", None)
    if view is not None and not _is_closed(view.client):
        return view.client, _targets(view), bool(magics.stream_output)
    clients = _clients(shell.user_ns)
    if not clients:
        raise ProtonLabError(f"{asked}: there are no ipyparallel engines; {_START}")
    if len(clients) > 1:
        names = sorted(clients.values())
        raise ProtonLabError(
            f"{asked}: {' and '.join(names)} are clients of ipyparallel; {names[0]}.activate() "
            "says that its engines are meant"
        )
    (client,) = clients
    return client, tuple(client.ids), True


def _clients(namespace: dict[str, Any]) -> dict[Any, str]:
    """Clients that are open, and the name of a variable for each."""
    kind = getattr(sys.modules.get("ipyparallel"), "Client", None)
    if kind is None:
        return {}
    found: dict[Any, str] = {}
    for name, value in namespace.items():
        if isinstance(value, kind) and not name.startswith("_") and not _is_closed(value):
            found.setdefault(value, name)
    return found


def _is_closed(client: Any) -> bool:
    return bool(getattr(client, "_closed", False))


def _targets(view: Any) -> tuple[int, ...]:
    """Engines of a view that are still there."""
    there = tuple(view.client.ids)
    if view.targets in ("all", None):
        return there
    wanted: Iterable[int] = [view.targets] if isinstance(view.targets, int) else view.targets
    return tuple(rank for rank in wanted if rank in there)


def _reason_against(answer: Any, own: str) -> str:
    """Say what is wrong with an engine; empty where nothing is."""
    if isinstance(answer, dict):
        version = answer["version"]
        return "" if version == own else f"protonlab {version} is installed there"
    if answer.ename == "EngineError":
        return "it has died"
    if answer.ename == "ModuleNotFoundError" and "protonlab" in answer.evalue:
        older = "protonlab." in answer.evalue
        return "an older protonlab is installed there" if older else "no protonlab is there"
    return f"protonlab could not be loaded: {answer.ename}: {answer.evalue}"
