"""The line behind ``%%proton`` and ``%proton``: from raw text to checked options, and its help."""

from __future__ import annotations

import ast
import difflib
import keyword
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from IPython.core.error import UsageError

from protonlab.capture import OPTIONS, CheckedWords, Option, ProtonWords
from protonlab.errors import MetricError, ProtonLabError

_OPTION_LINE = re.compile(r"%%proton(?=\s|$)(?P<text>.*)")
# Cell magics that compile their body themselves: no cell event fires for a %%proton line inside.
_TRANSPARENT = re.compile(r"%%(time|timeit|prun)\b")
_WORD = re.compile(r"\S+")
_OPTION = re.compile(r"(?P<dashes>--)?(?P<name>[A-Za-z][\w-]*)(?P<equals>=(?!=))?")
_QUOTED = re.compile(r"""(?P<quote>["'])(?P<value>.*?)(?P=quote)(?=\s|$)""")
_HELP = re.compile(r"(-h|--help)(?=\s|$)")
_END_OF_OPTIONS = re.compile(r"--(?=\s|$)")
_PROTONS_OWN = ("time (ns)", "cpu_time (ns)", "count", "bytes", "flops", "flops8", "flops16",
                "flops32", "flops64")  # fmt: skip


@dataclass(frozen=True)
class OptionLine:
    """What one ``%%proton`` or ``%proton`` line asks for.

    Attributes
    ----------
    name
        The variable that receives the profile, or None.
    values
        The options that were typed, by name, in their final form.
    statement
        What follows the options of ``%proton``; empty for ``%%proton``.
    wants_help
        Whether ``--help`` was among the words.
    texts
        The options as they were typed, by name.
    """

    name: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    statement: str = ""
    wants_help: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def records_here(self) -> bool:
        """Whether it opens a session in this process: it asks for neither help nor engines."""
        return not self.wants_help and "ranks" not in self.values

    def without(self, *names: str) -> str:
        """Return the line without some of its options, for another shell to read."""
        texts = [text for name, text in self.texts.items() if name not in names]
        return " ".join([self.name, *texts] if self.name else texts)

    def typed(self, *names: str) -> dict[str, Any]:
        """Return those of the named options that were typed, as keyword arguments."""
        return {name: self.values[name] for name in names if name in self.values}


@dataclass(frozen=True)
class ProtonCell:
    """A cell that opens with ``%%proton``: its options, and the lines that IPython is to run."""

    options: OptionLine
    lines: list[str]


def option_line_first(lines: list[str]) -> list[str]:
    """Move a ``%%proton`` that stands below ``%%time`` above it: the order means the same."""
    if len(lines) > 1 and _TRANSPARENT.match(lines[0]) and _OPTION_LINE.match(lines[1]):
        return [lines[1], lines[0], *lines[2:]]
    return lines


def read_cell(lines: list[str]) -> ProtonCell | None:
    """Read a cell; None when it does not open with ``%%proton``.

    Raises
    ------
    UsageError
        If the option line is wrong or there is no body.
    """
    lines = option_line_first(lines)
    match = _OPTION_LINE.match(lines[0]) if lines else None
    if match is None:
        return None
    options = parse_cell_line(match["text"])
    body = lines[1:]
    while body and not body[0].strip():
        del body[0]
    if not body and not options.wants_help:
        raise UsageError("%%proton has no cell below it; %proton profiles one statement")
    if body and _OPTION_LINE.match(option_line_first(body)[0]):
        raise UsageError("%%proton stands twice on top of this cell; one line takes all options")
    if body and body[0].startswith("%%"):  # a cell magic must be the first line
        return ProtonCell(options, body)
    return ProtonCell(options, [f"# {lines[0]}", *lines[1:]])


def parse_cell_line(text: str) -> OptionLine:
    r"""Read what follows ``%%proton``: an optional NAME and options, in any order.

    The text is taken as it stands: backslashes, ``$`` and ``{}`` have no meaning here, and quotes
    only hold a value together.

    Raises
    ------
    UsageError
        If a word is neither NAME nor a legal option; the message names the legal ones.

    Examples
    --------
    >>> parse_cell_line(r"run1 include=_p_\w+ --context 'python'").values
    {'include': '_p_\\w+', 'context': 'python'}
    """
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    name: str | None = None
    wants_help = False
    rest = text.strip()
    while rest:
        if help_word := _HELP.match(rest):
            wants_help = True
            rest = rest[help_word.end() :].lstrip()
        elif found := _next_option(rest, is_statement=False):
            rest = _store(found, rest, values, texts)
        elif name is None and (word := _WORD.match(rest)):
            name = _variable(word[0])
            rest = rest[word.end() :].lstrip()
        else:
            raise UsageError(
                f"%%proton takes one NAME; {name!r} and {rest.split()[0]!r} are two. A value that "
                "holds spaces needs quotes, and a list has none: record=bytes,n_tokens"
            )
    return OptionLine(name, _agreed(values), wants_help=wants_help, texts=texts)


def parse_statement_line(text: str) -> OptionLine:
    """Read what follows ``%proton``: options first (``--`` ends them), then one statement.

    Raises
    ------
    UsageError
        If an option is wrong or the statement is missing.
    """
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    rest = text.strip()
    while rest:
        if _HELP.match(rest):
            return OptionLine(wants_help=True)
        if end := _END_OF_OPTIONS.match(rest):
            rest = rest[end.end() :].lstrip()
            break
        found = _next_option(rest, is_statement=True)
        if found is None:
            _refuse_misspelt(rest)
            break
        rest = _store(found, rest, values, texts)
    if not rest:
        raise UsageError(
            "%proton needs a statement behind its options, for example: %proton view=bars f(x)\n"
            "%%proton profiles a whole cell; %proton --help lists the options."
        )
    return OptionLine(None, _agreed(values), rest, texts=texts)


def _next_option(text: str, *, is_statement: bool) -> tuple[Option, str, str] | None:
    """Split a text into the option it starts with, its value as typed, and what follows."""
    match = _OPTION.match(text)
    if match is None or not (match["dashes"] or match["equals"]):
        return None
    option = next((option for option in OPTIONS if option.name == match["name"]), None)
    if option is None:
        if is_statement and not match["dashes"]:
            return None  # an assignment without spaces
        raise UsageError(_no_such_option(match["name"]))
    rest = text[match.end() :]
    if not match["equals"]:
        rest = rest.lstrip()
    value = _QUOTED.match(rest) or _WORD.match(rest)
    if value is None:
        raise UsageError(_without_value(option))
    text = value["value"] if value.re is _QUOTED else value[0]
    if value.re is _WORD and text[0] in "\"'":
        raise UsageError(f"{option.name}={rest}: the quote {text[0]} is not closed")
    return option, text, rest[value.end() :].lstrip()


def _refuse_misspelt(statement: str) -> None:
    """Refuse a statement that is no Python and starts with what is nearly an option."""
    match = _OPTION.match(statement)
    if match is None or not match["equals"] or not _close_option(match["name"]):
        return
    try:
        ast.parse(statement)
    except SyntaxError:
        raise UsageError(_no_such_option(match["name"])) from None


def _store(
    found: tuple[Option, str, str], line: str, values: dict[str, Any], texts: dict[str, str]
) -> str:
    """Check the option that a line starts with and keep it; return the text behind it."""
    option, text, rest = found
    texts[option.name] = line[: len(line) - len(rest)].strip()
    if option.name in values:
        raise UsageError(f"{option.name} is given twice; leave one of the two out")
    if option.kind in ("list", "ranks") and text.endswith(","):
        raise UsageError(f"{option.name}={text}: write the list without spaces, or quote it")
    try:
        values[option.name] = option.check(text)
    except ProtonLabError as error:
        raise UsageError(str(error)) from error
    return rest


def _variable(word: str) -> str:
    if not word.isidentifier() or keyword.iskeyword(word):
        raise UsageError(
            f"{word!r} is neither an option nor a NAME that Python allows.\n{_legal_options()}"
        )
    option = next((option for option in OPTIONS if option.name == word), None)
    if option is not None:
        raise UsageError(_without_value(option))
    return word


def _without_value(option: Option) -> str:
    return f"{option.name} has no value; write it without spaces, for example {option.example}"


def _agreed(values: dict[str, Any]) -> dict[str, Any]:
    """Check the options against each other and the metrics against their grammar."""
    filters = [name for name in ("include", "exclude", "record") if name in values]
    if "hook" in values and filters:
        raise UsageError(
            f"hook={values['hook']} brings its own filter, so {' and '.join(filters)} cannot stand "
            f"beside it; make the hook with LaunchHook({'=…, '.join(filters)}=…)"
        )
    for name in values.get("metrics") or ():
        _check_metric(name)
    if "ranks" in values:
        if values.get("live"):
            raise UsageError("live cannot stand beside ranks: the engines' sessions are not here")
        return values  # what an engine can record, it says itself: it may have a GPU
    words = {name: values[name] for name in ProtonWords.__annotations__ if name in values}
    try:
        CheckedWords.of(**words).check_repeats(values.get("repeat", 1), values.get("warmup", 0))
    except ProtonLabError as error:
        raise UsageError(str(error)) from error
    return values


def _check_metric(name: str) -> None:
    """Refuse a metric that no profile can have: kernels may record any name, but not any form."""
    from protonlab.model import Metric, MetricColumn

    own = re.findall(r"(?:^|/)([A-Za-z_]\w*)", name)
    raw = dict.fromkeys(
        [*_PROTONS_OWN, *(word for word in own if word not in ("time", "cpu_time"))]
    )
    columns = [MetricColumn.from_raw(column) for column in raw]
    try:
        Metric.parse(name, columns)
    except MetricError:
        known = ["time/us", "time/%", "avg_time/us", "count", "gbyte/s", "tflop16/s", "util"]
        close = difflib.get_close_matches(name, known, n=1)
        raise UsageError(
            f"metrics={name} can be no metric.{f' Did you mean {close[0]}?' if close else ''} "
            f"There are {', '.join(known)}, a number from launch metadata (n_tokens), and one by "
            "another (bytes/n_tokens) or by time (n_tokens/s)."
        ) from None


def _close_option(name: str) -> list[str]:
    return difflib.get_close_matches(name, [option.name for option in OPTIONS], n=1)


def _no_such_option(name: str) -> str:
    close = _close_option(name)
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"{name} is not an option of %%proton.{hint}\n{_legal_options()}"


def _legal_options() -> str:
    names = ", ".join(option.name for option in OPTIONS)
    return "\n".join(textwrap.wrap(f"The options are {names}; %proton --help explains them.", 88))
