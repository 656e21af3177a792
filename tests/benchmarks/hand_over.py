"""Where Triton's code for `warp_specialize` tells warps to end, which racecheck calls a hazard.

At its end a kernel's first warps store a byte for each other warp, and all meet at barrier 1. The
others go on from that barrier, too, and load their byte. No thread loads before all have stored:
the barrier takes every thread of the program. Machine code of that form is looked for here, so
that a finding at these two places can be told from one of our own.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import triton

_LINE = re.compile(r"^\s*(?:/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;|\.L_x_\d+:)", re.MULTILINE)
_STORE = re.compile(r"STS(?:\.64)? \[UR\d+\+(0x[0-9a-f]+)\], R\d+")
_LOAD = re.compile(r"LDS\.U8 R\d+, \[R\d+\+UR\d+\+(0x[0-9a-f]+)\]")
_EVERYONE = "BAR.SYNC.DEFER_BLOCKING 0x1"  # no second number: all threads
_BETWEEN = re.compile(r"ULEA|LEA|IMAD|S2R|S2UR|UMOV|MOV|VIADD|IADD3|UIADD3|R2UR|NOP")
_FIRST_WARPS = (4, 8)  # that compute; bytes are counted from the first of the others

Places = tuple[str, str]


def hand_overs(sass: str) -> list[Places]:
    """Find the store and the load of each kernel in nvdisasm's text.

    Returns
    -------
    list of (str, str)
        Bytes from the kernel's begin, as compute-sanitizer gives them. Empty if the code is none
        that is known to be in order.
    """
    lines = [(line[1], line[2] or "") for line in _LINE.finditer(sass)]  # a label has no text
    code = [(int(place, 16), text) for place, text in lines if text]
    stores = []
    for (place, text), (_, following), (_, last) in zip(code, code[1:], code[2:], strict=False):
        store = _STORE.fullmatch(text)
        if store and (following, last) == (_EVERYONE, "EXIT"):
            stores.append((place, int(store[1], 16)))
    loads, met = [], False
    for place, text in lines:
        load = _LOAD.fullmatch(text)
        if load and met:
            loads.append((int(place, 16), int(load[1], 16)))
        met = text == _EVERYONE or (met and bool(_BETWEEN.match(text)))
    return [
        (hex(store), hex(load))
        for store, stored in stores
        for load, loaded in loads
        if stored - loaded in _FIRST_WARPS
    ]


def in_cache(cache: Path) -> Iterator[tuple[str, Places]]:
    """Find them in every kernel that Triton compiled into a cache: the kernel's name, and where."""
    for cubin in sorted(cache.glob("*/*.cubin")):
        if "ttg.warp_specialize" not in cubin.with_suffix(".ttgir").read_text():
            continue
        command = [triton.knobs.nvidia.nvdisasm.path, "-c", str(cubin)]
        sass = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        yield from ((cubin.stem, places) for places in hand_overs(sass))
