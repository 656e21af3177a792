"""Reading PTX and SASS as text: how many instructions of each class, and where two codes differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

OTHER = "other"
# Class -> opcodes of PTX, opcodes of SASS; the first that matches from the start counts.
_CLASSES: dict[str, tuple[str, str]] = {
    "wgmma": (r"wgmma\.mma_async", r"[HQIB]GMMA"),
    "mma": (r"(wmma\.)?mma\.|tcgen05\.mma", r"[HQIDB]MMA|UTC\w*MMA"),
    "TMA": (r"cp\.(reduce\.)?async\.bulk", r"UTMA|UBLKCP|UBLKRED"),
    "cp.async": (r"cp\.async\.c[ag]", r"LDGSTS"),
    "ldmatrix": (r"ldmatrix", r"LDSM"),
    "stmatrix": (r"stmatrix", r"STSM"),
    "fma": (r"fma\.", r"[FDH]FMA2?|HFMA2"),
    "lop3": (r"lop3|(and|or|xor|not)\.b", r"U?LOP3"),
    "shift": (r"shf|shl|shr|bfe|bfi", r"U?SHF|IMAD\.SHL|USHL"),
    "permute": (r"prmt", r"U?PRMT"),
    "multiply": (r"mul\.(rn\.|f|bf|ftz)", r"[FDH]MUL2?|HMUL2"),
    "integer": (r"(add|sub|mul|mad|div|rem|min|max|neg|abs)\.", r"U?IMAD|U?IADD|VIADD|U?LEA|IABS"),
    "convert": (r"cvt", r"[FI]2[FI]P?|I2FP|F2FP"),
    "move, select": (r"mov|selp|slct", r"U?MOV|U?SEL|FSEL|CS2R|S2U?R|R2UR"),
    "compare": (r"setp?\.|(and|or|xor|not)\.pred", r"U?[IFDH]SETP2?|U?PLOP3|ISET"),
    "load, global": (r"ld\.(global|weak|volatile)|ldu", r"LDG|LD\."),
    "store, global": (r"st\.global|red|atom", r"STG|ST\.|RED|ATOM"),
    "load, shared": (r"ld\.shared", r"LDS"),
    "store, shared": (r"st\.shared", r"STS"),
    "spill": (r"(ld|st)\.local", r"LDL|STL"),
    "load, constant": (r"ld\.(param|const)", r"U?LDC"),
    "mbarrier": (r"mbarrier", r"SYNCS"),
    "barrier": (r"bar\.|barrier\.|fence|membar", r"U?BAR|MEMBAR|FENCE|ERRBAR|WARPSYNC"),
    "wait": (
        r"wgmma\.|cp\.async\.(commit|wait)|griddepcontrol",
        r"WARPGROUP|LDGDEPBAR|DEPBAR|ACQBULK",
    ),
    "warp registers": (r"setmaxnreg", r"USETMAXREG"),
    "special function": (r"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh)\.", r"MUFU"),
    "branch": (r"bra|brx|call|ret|exit", r"BRA|BSSY|BSYNC|BREAK|CALL|RET|EXIT|BRX|JMP"),
}
# What a reader of a matmul looks for first, also where there is none of it.
ALWAYS_SHOWN = ("wgmma", "TMA", "cp.async", "ldmatrix", "fma", "lop3")
CLASSES = (*_CLASSES, OTHER)

_PTX_LINE = re.compile(r"^\s*(?:\{\s*)?(?:@!?%?p\w*\s+)?([a-z]\w*(?:[.:][\w:]+)*)[\s;]")
_SASS_LINE = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*(?:\.\w+)*)")
_PADDING = re.compile("NOP")
_NOISE = re.compile(r"^\s*(\.loc|//|\$L__tmp|\$L__func|$)")
_DEBUG = re.compile(r"^\s*(\.file|\.section\s+\.debug)", re.MULTILINE)
_COMMENT = re.compile(r"\s*//.*$")
_NAMES = re.compile(r"%\w+|\$L__\w+")
_CONTEXT = 3  # lines that are the same, before and behind what differs


def ptx_instructions(text: str) -> dict[str, int]:
    r"""Count the instructions of a PTX text by class; a class without any is left out.

    Counted as written, not as executed: a loop's body counts once.

    Examples
    --------
    >>> ptx_instructions("  @%p1 bra $L1;\n  fma.rn.f32 %f1, %f2, %f3, %f4;\n")
    {'fma': 1, 'branch': 1}
    """
    return _counted((found[1] for found in map(_PTX_LINE.match, text.splitlines()) if found), 0)


def sass_instructions(text: str) -> dict[str, int]:
    """Count the instructions of a disassembly, as ``cuobjdump -sass`` prints it, by class."""
    found = (found[1] for found in map(_SASS_LINE.match, text.splitlines()) if found)
    return _counted((name for name in found if not _PADDING.match(name)), 1)


def _counted(opcodes: Iterator[str], language: int) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for opcode in opcodes:
        counts[_class_of(opcode, language)] += 1
    return {name: counts[name] for name in CLASSES if counts[name]}


def _class_of(opcode: str, language: int) -> str:
    for name, patterns in _CLASSES.items():
        if re.match(patterns[language], opcode):
            return name
    return OTHER


@dataclass(frozen=True)
class Passage:
    """Some lines of one code, and what stands in their place in another.

    Parameters
    ----------
    differs
        Whether the lines differ, apart from the numbers of registers and labels.
    left, right
        Pairs of line number (from 1) and text, without debug information.
    """

    differs: bool
    left: tuple[tuple[int, str], ...]
    right: tuple[tuple[int, str], ...]


def passages(left: str, right: str) -> list[Passage]:
    """Lay two PTX texts side by side.

    Lines are matched without the numbers of registers and labels, which shift with each change.
    Long stretches that are the same are cut down to three lines at either end.
    """
    ours, theirs = _code(left), _code(right)
    matcher = SequenceMatcher(
        None, [_shape(text) for _, text in ours], [_shape(text) for _, text in theirs], False
    )
    found = []
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        one, other = tuple(ours[a0:a1]), tuple(theirs[b0:b1])
        if tag != "equal" or a1 - a0 <= 2 * _CONTEXT:
            found.append(Passage(tag != "equal", one, other))
            continue
        if a0:
            found.append(Passage(False, one[:_CONTEXT], other[:_CONTEXT]))
        if a1 < len(ours) or b1 < len(theirs):
            found.append(Passage(False, one[-_CONTEXT:], other[-_CONTEXT:]))
    return found


def code_of(text: str) -> str:
    """Instructions and directives of a PTX text alone, without comments and debug information."""
    return "".join(f"{line}\n" for _, line in _code(text))


def _code(text: str) -> list[tuple[int, str]]:
    """Instructions and directives with the numbers of their lines."""
    debug = _DEBUG.search(text)
    lines = enumerate(text[: debug.start() if debug else None].splitlines(), 1)
    return [
        (number, _COMMENT.sub("", line).rstrip())
        for number, line in lines
        if not _NOISE.match(line)
    ]


def _shape(line: str) -> str:
    return _NAMES.sub("%", line)
