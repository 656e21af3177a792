"""Names on their way into a figure: kernel names come from files and are not to be trusted.

Plotly reads a subset of HTML and TeX in its texts, and a page reads all of HTML. Whatever shows a
name takes it through `escaped`.
"""

from __future__ import annotations

import html
import os.path
import re
import textwrap
from collections import Counter
from collections.abc import Sequence

from protonlab.model.sentences import cleaned
from protonlab.views.theme import FONT_SIZE

LONGEST_TICK, LONGEST_LABEL = 44, 200  # letters of a name beside a bar or row, and where one points
_LONGEST_IN_HOVER = 400
_HOVER_LINE = 90
_HEAD = 8  # letters that remain of a beginning that is left out
_MARKS = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "$": "&#36;"}
)
_NARROW, _WIDE = 0.34, 0.95  # of the font's size


def shortened(name: str, longest: int) -> str:
    """Keep beginning and end of a name that is longer than `longest` characters, and clean it."""
    name = cleaned(name)
    if len(name) <= longest:
        return name
    tail = longest // 3
    return f"{name[: longest - tail - 1]}…{name[-tail:]}"


def told_apart(names: Sequence[str], longest: int) -> list[str]:
    """Shorten and clean names; those that would then read the same lose what they begin with.

    Names that are the same to begin with are numbered.
    """
    names = _numbered([*map(cleaned, names)])
    short = [shortened(name, longest) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    long = sorted({name for name in names if len(name) > longest})
    shared = os.path.commonprefix(long)  # noqa: RUF071  # letter by letter is meant
    shared = re.sub(r"[^\W_]*$", "", shared)  # a word stays whole
    if len(shared) <= _HEAD:
        return short
    texts = []
    for name in names:
        rest = f"{name[:_HEAD]}…{name[len(shared) :]}" if len(name) > longest else name
        texts.append(rest if len(rest) <= longest else f"{rest[: longest - 1]}…")
    return texts


def _numbered(names: Sequence[str]) -> list[str]:
    often, met = Counter(names), Counter[str]()
    texts = []
    for name in names:
        met[name] += 1
        texts.append(f"{name} ({met[name]})" if often[name] > 1 else name)
    return texts


def escaped(name: str) -> str:
    """Make a text safe for plotly's texts, HTML and SVG, attributes included."""
    return cleaned(name).translate(_MARKS)


def unmarked(text: str) -> str:
    """Take one of our own plotly texts back to plain text: no tags, nothing escaped."""
    return html.unescape(re.sub(r"</?b>|<br>", "", text))


def hover_lines(name: str) -> str:
    """Full name for a hover box: shortened at 400 characters, broken into lines, escaped."""
    short = shortened(name, _LONGEST_IN_HOVER)
    lines = textwrap.wrap(short, _HOVER_LINE, break_on_hyphens=False) or [short]
    return "<br>".join(escaped(line) for line in lines)


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Estimate of a text's width in pixels; a browser measures, here nothing can."""
    return size * sum(
        _NARROW if letter in " .,:;|!'()[]{}/\\ijlrtfI1" else _WIDE if letter in "mwMW@…" else 0.64
        for letter in text
    )


def fitted(label: str, aside: str, room: float) -> str:
    """Text, not escaped, for `room` pixels: label and aside, the label, its start, or nothing.

    The ES module does the same with a browser's own measure of the texts.
    """
    if room < 24:
        return ""
    both = f"{label}  {aside}"
    if text_width(both) <= room:
        return both
    if text_width(label) <= room:
        return label
    count = 0
    used = text_width("…")
    for letter in label:
        used += text_width(letter)
        if used > room:
            break
        count += 1
    return f"{label[:count]}…" if count > 2 else ""
