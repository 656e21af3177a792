"""The protocol of a measurement as sentences that are printed with its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from protonlab.model.units import counted, format_quantity
from protonlab.model.variants import GOING_ON

UNEQUAL_CALLS = "calls of a variant launch different numbers of kernels, or these are not known"
# Below this share of the elapsed time, gaps between kernels decide how long a call takes.
_BUSY = 0.9


def of_sustained(launches: Sequence[int], graph_calls: Sequence[int] | None) -> str:
    """Describe a sample of the sustained protocol."""
    calls = _each(launches, "call")
    if graph_calls is None:
        return f"sustained: samples of {calls}, launched back to back, no cache flushed"
    return (
        f"sustained: samples of {calls}, CUDA graphs of {_each(graph_calls, 'call')} replayed back "
        "to back, no cache flushed"
    )


def of_burst(launches: Sequence[int], flush_bytes: int, rest_s: float) -> str:
    """Describe a sample of the burst protocol."""
    return (
        f"burst: samples of {_each(launches, 'call')} behind {rest_s * 1e3:.0f} ms of rest, L2 "
        f"emptied before each by writing {format_quantity(flush_bytes, 'B')}"
    )


def of_host(launches: Sequence[int], protocol: str) -> str:
    """Describe a sample without a GPU: of kernels that are interpreted, or of anything else."""
    return (
        f"{protocol}, on the CPU: samples of {_each(launches, 'call')}, neither CUDA graphs nor "
        "an L2"
    )


def of_work(names: tuple[str, str], ratio: float, metric: str) -> Iterator[str]:
    """Warn where a rate counts more work in a call of one variant than in one of the other.

    Parameters
    ----------
    names
        Of the variants.
    ratio
        Work of a call of the first by that of the second.
    metric
        The rate.
    """
    if ratio != 1:
        more, less = names if ratio > 1 else names[::-1]
        yield (
            f"A call of {more} counts {max(ratio, 1 / ratio):.3g} times the work of one of {less}, "
            f"so {metric} does not say which is faster; metric='time/us' does."
        )


def of_launches(name: str, shown: int, expected: int) -> str:
    """Warn where Proton showed other launches in a sample than calls of the variant made before."""
    return (
        f"Proton showed {counted(shown, 'launch', 'launches')} of a sample of {name} that should "
        f"have {expected:,}: if its calls do other work than at first, its rate counts what they "
        "did at first."
    )


def of_busy(names: tuple[str, str], busy: tuple[float, float], protocol: str) -> Iterator[str]:
    """Warn where the sum of kernel times is not how long a call takes.

    Parameters
    ----------
    names
        Of the variants.
    busy
        Kernel times by elapsed time, of each.
    protocol
        In the burst protocol calls are apart on purpose.
    """
    for name, share in zip(names, busy, strict=True):
        percent = f"{100 * share:.0f} %"
        if share < _BUSY and protocol == "sustained":
            yield (
                f"Kernels of {name} fill {percent} of the elapsed time; the gaps between them are "
                "not in its numbers."
            )
        elif share > 1 / _BUSY:
            yield (
                f"Kernels of {name} overlap: the sum of their times, which the numbers count, is "
                f"{percent} of the elapsed time."
            )


def protocol_in_words(protocol: Mapping[str, Any], *, on_gpu: bool) -> str:
    """Put what was done into two sentences."""
    warm = "until times were stable" if protocol["warmup_is_stable"] else "and not stable by then"
    timer = protocol["timer"]
    reason = f" ({protocol['timer_reason']})" if protocol["timer_reason"] else ""
    return (
        f"{protocol['in_words']}; pairs in balanced random order (ABBA, seed {protocol['seed']})"
        f"{_anew(protocol['made_anew'], on_gpu=on_gpu)}. "
        f"Warmed up for {protocol['warmup_s']:.2f} s {warm}, timed by {timer}{reason}, "
        f"budget {protocol['budget_s']:g} s, stopped: {protocol['stop_reason'] or GOING_ON}."
    )


def _anew(made: Sequence[str], *, on_gpu: bool) -> str:
    """Say what was made anew, and that the rest stayed where it lay."""
    rounds = f", in rounds, each with {' and '.join(made)} made anew" if made else ""
    if "variants" in made or not on_gpu:
        return rounds
    return (
        f"{rounds}; inputs stayed in one place, for which the interval holds (give a function that "
        "makes the variants, and it holds for others, too)"
    )


def _each(numbers: Sequence[int], what: str) -> str:
    first, second = numbers
    if first == second:
        return counted(first, what)
    return f"{first:,} and {second:,} {what}s"
