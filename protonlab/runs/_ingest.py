"""Putting runs into an archive: one or many, here or on a cluster, and what became of each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pandas as pd

from protonlab.errors import ProtonLabError
from protonlab.runs._append import Appended, Plan, commit_run, differing_text, store_batch
from protonlab.runs._cluster import computed
from protonlab.runs._commits import (
    FOLDER,
    Commit,
    holdings,
    in_conflict,
    new_name,
    read_commits,
)
from protonlab.runs._packages import dask
from protonlab.runs._parts import part_name
from protonlab.runs._sources import Source
from protonlab.runs._store import Store

_MOST_PROBLEMS = 6


def ingest(
    store: Store, sources: Sequence[Source], *, replace: bool, progress: bool
) -> list[Appended]:
    """Append runs: each becomes visible as a whole, or has a problem and leaves nothing behind.

    Raises
    ------
    ProtonLabError
        If two of them have the same name, or the store goes on failing.
    """
    sound = [source for source in sources if not source.problem]
    done = iter(_ingested(store, sound, replace=replace, progress=progress) if sound else [])
    return [
        Appended(source.run, problem=source.problem) if source.problem else next(done)
        for source in sources
    ]


def _ingested(
    store: Store, sources: Sequence[Source], *, replace: bool, progress: bool
) -> list[Appended]:
    _check_names(sources)
    names = {source.run for source in sources}
    before = read_commits(store, names)
    held = holdings(before)
    plans = [
        Plan(new_name(source.run), source.where, held.get(source.run), replace)
        for source in sources
    ]
    at_hand = all(not source.where for source in sources)
    if at_hand:
        done = [_in_turn(store, *each) for each in zip(sources, plans, strict=True)]
    else:
        tasks = [_task(store, *each) for each in zip(sources, plans, strict=True)]
        results = computed(tasks, progress=progress, here=store.is_in_memory)
        done = [
            result if isinstance(result, Appended) else _given_up(source, result)
            for source, result in zip(sources, results, strict=True)
        ]
    return _settled(store, before, plans, done)


def _check_names(sources: Sequence[Source]) -> None:
    first: dict[str, Source] = {}
    for source in sources:
        other = first.setdefault(source.run, source)
        if other is not source:
            raise ProtonLabError(
                f"{other.where or 'one run'} and {source.where or 'another'} are both called "
                f"{source.run!r}; append one of them with another name="
            )


def _in_turn(store: Store, source: Source, plan: Plan) -> Appended:
    known = plan.known
    return commit_run(store, plan, [store_batch(store, batch, known) for batch in source.batches])


def _task(store: Store, source: Source, plan: Plan) -> object:
    """Make Dask's delayed value of a run: its batches, then its commit."""
    delayed = dask().delayed
    known = plan.known
    batches = [
        delayed(store_batch, pure=False)(
            store, batch, {key: known[key] for key in known if key[0] in batch.names}
        )
        for batch in source.batches
    ]
    return delayed(commit_run, pure=False)(store, plan, batches)


def _given_up(source: Source, error: BaseException) -> Appended:
    return Appended(
        source.run,
        problem=f"the cluster gave it up ({type(error).__name__}: {error}); append it again",
    )


def _settled(
    store: Store, before: Sequence[Commit], plans: Sequence[Plan], done: Sequence[Appended]
) -> list[Appended]:
    """See that every commit is there and alone, and clear away what was replaced.

    Two writers of different contents both look after they wrote: at least one of them finds the
    other's commit, and takes its own back. So what one of them was told is there, stays.
    """
    known = {commit.name: commit for commit in before}
    there = read_commits(store, {plan.run for plan in plans}, dict(known))
    names = {commit.name for commit in there}
    own = {plan.commit for plan in plans}
    others: dict[str, list[Commit]] = {}
    for each in there:
        if each.name not in own and each.name not in known:
            others.setdefault(each.run, []).append(each)
    settled = []
    for plan, result in zip(plans, done, strict=True):
        commit = result.commit
        if commit is None:
            settled.append(result)
            continue
        if commit.name not in names:
            settled.append(_elsewhere(store, result))
            continue
        clash = sorted({key for o in others.get(result.run, []) for key in in_conflict(commit, o)})
        if clash:
            store.remove(f"{FOLDER}/{commit.name}")
            text = differing_text(result.run, clash, "another writer put in at the same time")
            settled.append(Appended(result.run, problem=text, warnings=result.warnings))
            continue
        if commit.replaces and plan.held is not None:
            _clear(store, commit, plan)
        settled.append(result)
    return settled


def _elsewhere(store: Store, result: Appended) -> Appended:
    return Appended(
        result.run,
        warnings=result.warnings,
        problem=f"the workers wrote it, and nothing is there when this process looks at {store.url}"
        ": it is a folder of another machine. Use a URL that all of them share",
    )


def _clear(store: Store, commit: Commit, plan: Plan) -> None:
    """Delete the commits that were replaced, and the parts that only they named."""
    assert plan.held is not None
    for name in commit.replaces:
        store.remove(f"{FOLDER}/{name}")
    columns = ("rank", "step", "digest")
    new, old = (
        set(zip(*(table[name].to_pylist() for name in columns), strict=True))
        for table in (commit.parts, plan.held.parts)
    )
    for rank, step, digest in sorted(old - new):
        store.remove(part_name(commit.run, rank, step, digest))
    for name in {*plan.held.parts["kernels"].to_pylist()} - {*commit.parts["kernels"].to_pylist()}:
        store.remove(name)


def report(done: Sequence[Appended]) -> pd.DataFrame:
    """Put what became of runs into a table, one row a run."""
    return pd.DataFrame(
        {
            "run": [each.run for each in done],
            "added": [each.added for each in done],
            "present": [each.present for each in done],
            "frames": [each.frames for each in done],
            "bytes": [each.nbytes for each in done],
            "problem": pd.Series([each.problem or None for each in done], dtype=object),
            "warnings": [" ".join(each.warnings) for each in done],
        }
    )


def warn_of_problems(done: Sequence[Appended]) -> None:
    """Warn when some of many runs were not appended, with the reasons."""
    problems = [f"{each.run}: {each.problem}" for each in done if each.problem]
    if not problems:
        return
    more = len(problems) - _MOST_PROBLEMS
    warnings.warn(
        "\n".join(
            [
                f"{len(problems)} of {len(done)} runs were not appended; the others were.",
                *problems[:_MOST_PROBLEMS],
                *([f"and {more} more"] if more > 0 else []),
            ]
        ),
        UserWarning,
        stacklevel=3,
    )
