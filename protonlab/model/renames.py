"""When two names mean the same kernel: what is left of a name without its numbers.

Frames are aligned below the same parent, kernels over the whole profile. First come those of the
same name. Of the rest, what is alone on either side is paired when the names differ in numbers
alone: tile sizes, shapes, stages, line numbers; element types such as bf16 must agree. Then true
and false, text in brackets and cuBLAS's scheduling marks may differ too. Where several would fit,
none is aligned, and they count as added and removed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from typing import TypeVar

from protonlab.model.labels import demangle

RULE = (
    "Aligned by equal names, then one to one by names that differ in numbers (tiles, shapes, "
    "lines, not types), then in suffixes and flags."
)

Left = TypeVar("Left", bound=Hashable)
Right = TypeVar("Right", bound=Hashable)

_ELEMENT_TYPE = (
    r"(?:bf|fp|tf|int|float)(?:4|6|8|16|32|64|128)(?!\d)"
    r"|(?<![A-Za-z0-9])[fiu](?:4|8|16|32|64)(?!\d)"
    r"|e[2-5]m[0-3](?!\d)"
)
_TYPE_OR_NUMBER = re.compile(rf"({_ELEMENT_TYPE})|\d+(?:\.\d+)?", re.IGNORECASE)
_LAUNCH_SUFFIX = re.compile(r" \[.*", re.DOTALL)
_SWITCH = re.compile(r"(?<![A-Za-z])(?:true|false)(?![A-Za-z])", re.IGNORECASE)
# How cuBLAS walks over the tiles: raster order, cooperative groups, split of K.
_SCHEDULING = re.compile(r"_(?:[hv]|bz|coop[AB]?|splitK)(?=_)")
_NUMBERS = re.compile(r"[\s,_x]*#[#\s,x]*")


def without_numbers(name: str) -> str:
    """Write ``#`` for each number of a name, demangled; element types keep theirs.

    Examples
    --------
    >>> without_numbers("_p_matmul_128x128x64_bf16 [M = 4096]")
    '_p_matmul_#x#x#_bf16 [M = #]'
    """
    text = demangle(name) if name.startswith("_Z") else name
    return _TYPE_OR_NUMBER.sub(lambda match: match[1] or "#", text)


def base_name(name: str) -> str:
    """Leave out what tuning and launching add to a kernel's name.

    Examples
    --------
    >>> base_name("_p_matmul_128x64_bf16_True [M = 4096] stg2")
    '_p_matmul_bf16'
    >>> base_name("nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN")
    'nvjet_sm_tst_NTN'
    """
    return _base_of(without_numbers(name))


def _base_of(text: str) -> str:
    """Go on from a name without its numbers."""
    text = _SWITCH.sub("#", _LAUNCH_SUFFIX.sub("", text))
    if text.startswith("nvjet"):
        text = _SCHEDULING.sub("", text)
    return _NUMBERS.sub("", text)


class Spellings:
    """Names as `without_numbers` and `base_name` write them, each worked out once."""

    def __init__(self) -> None:
        numberless: Callable[[str], str] = cache(without_numbers)
        self.without_numbers = numberless
        self.base_name: Callable[[str], str] = cache(lambda name: _base_of(numberless(name)))


def one_to_one(
    left: Iterable[Left],
    right: Iterable[Right],
    left_key: Callable[[Left], Hashable],
    right_key: Callable[[Right], Hashable],
) -> list[tuple[Left, Right]]:
    """Pair what has the same key, where only one on either side has it."""
    lefts: dict[Hashable, list[Left]] = defaultdict(list)
    rights: dict[Hashable, list[Right]] = defaultdict(list)
    for one in left:
        lefts[left_key(one)].append(one)
    for other in right:
        rights[right_key(other)].append(other)
    return [
        (ones[0], rights[key][0])
        for key, ones in lefts.items()
        if len(ones) == 1 and len(rights.get(key, ())) == 1
    ]


def renamed(
    before: Sequence[str],
    after: Sequence[str],
    seen: Iterable[tuple[str, str]],
    spellings: Spellings,
) -> dict[str, str]:
    """Say what the kernels that only one profile has are called in the other.

    Parameters
    ----------
    before, after
        Names of kernels, those that both have left out.
    seen
        Pairs that took each other's place somewhere in the tree.
    spellings
        Of names that were read before.

    Returns
    -------
    dict
        Name before -> name after.
    """
    here, there = dict.fromkeys(before), dict.fromkeys(after)
    placed = {pair for pair in seen if pair[0] in here and pair[1] in there}
    left, right = Counter(one for one, _ in placed), Counter(other for _, other in placed)
    pairs = {one: other for one, other in sorted(placed) if left[one] == right[other] == 1}
    for key in (spellings.without_numbers, spellings.base_name):
        taken = set(pairs.values())
        ones = [name for name in here if name not in pairs]
        others = [name for name in there if name not in taken]
        pairs |= one_to_one(ones, others, key, key)
    return pairs
