"""A cell that runs on engines: its output with ranks, its interrupt, and the Run that it leaves."""

from __future__ import annotations

import dataclasses
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

from protonlab.formats import load
from protonlab.model import Profile, Trace
from protonlab.model.manifest import RankManifest
from protonlab.model.run import Run
from protonlab.runs import _on_engine
from protonlab.runs._engines import Engines, Say, named, wait_for
from protonlab.runs._gpu import Gpu

_OUTPUT_S = 1.0  # output may come a little later than the result
_INTERRUPT_S = 10.0  # who has not ended by then is in code that Python cannot interrupt
_DIED = "EngineError"  # what ipyparallel's client calls it


class EngineCell:
    """One cell on engines.

    Parameters
    ----------
    engines
        Where it runs.
    facts
        What each engine said of itself, by rank.
    name
        Name of the run.
    """

    def __init__(self, engines: Engines, facts: dict[int, dict[str, Any]], name: str) -> None:
        self.engines, self.name = engines, name
        self._facts = facts
        self._started = _now()
        self._results: Any = None  # ipyparallel's AsyncResult

    @property
    def messages(self) -> list[str]:
        """What protonlab said when the engines loaded it, each sentence once."""
        ranks_of: dict[str, list[int]] = {}
        for rank, facts in self._facts.items():
            if facts["said"]:
                ranks_of.setdefault(facts["said"], []).append(rank)
        return [f"{named(ranks)}: {said}" for said, ranks in ranks_of.items()]

    def run(self, source: str, *, streams: bool, say: Say) -> None:
        """Run the cell on every engine, and show what it writes as ``%%px`` does.

        Parameters
        ----------
        source
            The cell, with a ``%%proton`` line for the engines.
        streams
            Whether output is shown while it arrives, or at the end.
        say
            Shows how far it is.

        Raises
        ------
        ipyparallel.error.CompositeError
            If the cell failed on an engine; AlreadyDisplayedError where that was shown.
        KeyboardInterrupt
            When the engines have been interrupted, too.
        """
        __tracebackhide__ = True
        view = self.engines.client[list(self.engines.ranks)]
        self._results = view.execute(source, silent=False, block=False)
        try:
            with self._results.stream_output() if streams else nullcontext():
                wait_for(self._results, say, "done")
                self._results.wait_for_output(_OUTPUT_S)
        except KeyboardInterrupt:
            self._interrupt()
            raise KeyboardInterrupt("the engines were interrupted, too") from None
        finally:
            if not streams:
                self._show_outputs()
        self._raise_errors(streams)

    def collect(self, say: Say) -> Run:
        """Fetch what each engine recorded; say of the others why there is nothing."""
        outcomes = self._outcomes()
        done = [
            rank
            for rank, outcome in outcomes.items()
            if outcome is not None and getattr(outcome, "ename", "") != _DIED
        ]
        answers: dict[int, Any] = {}
        if done:
            view = self.engines.client[done]
            fetched = view.apply_async(_on_engine.collect)
            wait_for(fetched, say, "fetched")
            answers = dict(zip(done, fetched.get(return_exceptions=True), strict=True))
        profiles: dict[int, Profile] = {}
        traces: dict[int, Trace] = {}
        gpus: dict[int, Gpu] = {}
        problems: dict[int, str] = {}
        notes: list[str] = []
        for rank in self.engines.ranks:
            answer: Any = answers.get(rank)
            data = None
            if isinstance(answer, dict):
                data, gpus[rank] = answer["data"], answer["gpu"]
            if data is None:
                problems[rank] = self._why_nothing(rank, outcomes.get(rank), answer)
                continue
            loaded = load(data)
            if isinstance(loaded, Trace):
                traces[rank] = loaded
            elif isinstance(loaded, Profile):
                profiles[rank] = loaded
            notes += _other_number(rank, answer["rank"])
        warnings = (*(f"rank {rank}: {reason}" for rank, reason in problems.items()), *notes)
        errors = {rank: _error_of(outcome) for rank, outcome in outcomes.items()} | problems
        manifests = self._manifests({**profiles, **traces}, gpus, errors)
        return Run(self.name, profiles, manifests, traces, warnings)

    def _interrupt(self) -> None:
        """Interrupt the engines that are not done, and wait for them to close their sessions."""
        waiting = [rank for rank, outcome in self._outcomes().items() if outcome is None]
        if not waiting:
            return
        client = self.engines.client
        client.abort(self._results, targets=waiting, block=False)  # where it has not begun
        client.send_signal("SIGINT", targets=waiting, block=False)
        self._results.wait(_INTERRUPT_S)
        self._results.wait_for_output(_OUTPUT_S)
        outcomes = self._outcomes()
        left = [rank for rank in waiting if outcomes[rank] is None]
        if left:
            print(
                f"{named(left)}: still running {_INTERRUPT_S:.0f} s after the interrupt, as code "
                "outside of Python does; its session stays open until it ends, or the engine is "
                "restarted",
                file=sys.stderr,
            )

    def _show_outputs(self) -> None:
        ready = [part for part in self._results.split() if part.ready()]
        if len(ready) == len(self.engines.ranks):
            self._results.display_outputs()
        elif ready:
            type(self._results).join(*ready).display_outputs()

    def _outcomes(self) -> dict[int, Any]:
        """Return what each rank's cell came to: a reply, a RemoteError, or None while it runs."""
        outcomes: dict[int, Any] = {}
        parts = self._results.split() if self._results is not None else ()
        for rank, part in zip(self.engines.ranks, parts, strict=False):
            found = part.get(return_exceptions=True) if part.ready() else None
            outcomes[rank] = found[0] if isinstance(found, list) else found
        return outcomes

    def _raise_errors(self, streamed: bool) -> None:
        from ipyparallel.error import AlreadyDisplayedError, CompositeError, RemoteError

        __tracebackhide__ = True
        errors: dict[int, tuple[Any, ...]] = {}
        deaths: dict[int, tuple[Any, ...]] = {}
        for rank, outcome in self._outcomes().items():
            if not isinstance(outcome, RemoteError):
                continue
            if outcome.ename == _DIED:  # ipyparallel would show code of its own
                text, where = self._death(rank), {"engine_id": rank, "method": "execute"}
                deaths[rank] = (_DIED, text, f"{_DIED}: {text}", where)
            else:
                error = outcome
                errors[rank] = (error.ename, error.evalue, error.traceback, error.engine_info)
        failed = named([*errors, *deaths]) + " failed"
        if streamed and errors and not deaths:
            shown = AlreadyDisplayedError(CompositeError(failed, list(errors.values())))
            shown.render_traceback = lambda: [f"{failed}, as shown above"]  # not "2 errors"
            raise shown
        if errors or deaths:
            told = deaths if streamed else {**errors, **deaths}
            raise CompositeError(failed, list(told.values()))

    def _death(self, rank: int) -> str:
        facts = self._facts[rank]
        return f"engine {rank} (process {facts['pid']} on {facts['host']}) died while the cell ran"

    def _why_nothing(self, rank: int, outcome: Any, answer: Any) -> str:
        if outcome is None:
            return "the cell had not ended there"
        if getattr(outcome, "ename", "") == _DIED:
            return self._death(rank)
        if answer is not None and not isinstance(answer, dict):
            return f"its profile could not be fetched: {answer.ename}: {answer.evalue}"
        return "its session left no profile; what it printed says why"

    def _manifests(
        self,
        recorded: dict[int, Any],
        gpus: dict[int, Gpu],
        errors: dict[int, str | None],
    ) -> dict[int, RankManifest]:
        """Write what each rank would say of itself; nothing where ranks were left out."""
        ranks = self.engines.ranks
        if ranks != tuple(range(len(ranks))):
            return {}
        several = len({facts["host"] for facts in self._facts.values()}) > 1
        manifests = {}
        for rank in ranks:
            info = recorded[rank].info if rank in recorded else None
            error, gpu = errors.get(rank), gpus.get(rank, Gpu())
            clocks = [each for each in info.clocks if each.uuid == gpu.uuid] if info else []
            manifests[rank] = RankManifest(
                rank=rank,
                world_size=len(ranks),
                state="failed" if error else "complete",
                started=info.when if info and info.when else self._started,
                ended=_now(),
                host=self._facts[rank]["host"] if several else None,
                gpu_uuid=gpu.uuid,
                gpu_name=(info.gpu if info else "") or gpu.name,
                versions=info.versions if info else {},
                clocks=dataclasses.asdict(clocks[-1]) if clocks else {},
                error=error,
                include=info.include if info else None,
                exclude=info.exclude if info else None,
            )
        return manifests


def _error_of(outcome: Any) -> str | None:
    name = getattr(outcome, "ename", None)
    return ": ".join(filter(None, (name, outcome.evalue))) if name else None


def _other_number(rank: int, number: int | None) -> list[str]:
    if number is None or number == rank:
        return []
    return [f"engine {rank} is rank {number} of torch.distributed; here it has its engine's number"]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
