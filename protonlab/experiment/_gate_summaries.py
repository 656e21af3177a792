"""Summaries of gates for others to show: Markdown and JUnit XML. Names are data."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from protonlab.model.writing import write_atomically

_HEADER = ("", "baseline", "candidate", "time", "95 % interval", "verdict")
# What XML 1.0 cannot hold, escaped or not.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def markdown(gate: Any) -> str:
    """Write one `Gate` as Markdown; `Gate.to_markdown` describes it."""
    rows = [
        (row.name, row.before, row.after, row.change, f"{row.interval} ({row.n})", row.outcome)
        for row in gate.rows
    ]
    lines = [
        f"### {_escaped(gate.title)}",
        "",
        f"**{_escaped(gate.summary)}**",
        "",
        _line(_HEADER),
        _line(["---"] * len(_HEADER)),
        *(_line([_escaped(cell) for cell in row[:-1]] + [_verdict(row[-1])]) for row in rows),
    ]
    if gate.notes:
        lines += ["", *(f"- {_escaped(note)}" for note in gate.notes)]
    return "\n".join(lines) + "\n"


def write_markdown(texts: Iterable[str], path: Path) -> None:
    """Write summaries into one file, which they replace.

    Behind what is there already go those for ``$GITHUB_STEP_SUMMARY``: other commands of a step
    write to that file, too.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    whole = "\n".join(texts)
    shared = os.environ.get("GITHUB_STEP_SUMMARY")
    if not shared or Path(shared).resolve() != path.resolve():
        write_atomically([whole], path)
        return
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{whole}" if file.tell() else whole)


def _verdict(outcome: str) -> str:
    return f"**{outcome}**" if outcome == "regressed" else outcome


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Keep text from being markup."""
    plain = " ".join(text.split())
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", plain)


def junit(gate: Any) -> str:
    """Write one `Gate` as JUnit XML; `Gate.to_junit` describes it."""
    suites = ElementTree.Element("testsuites")
    judged = [row for row in gate.rows if row.is_judged]
    suite = ElementTree.SubElement(
        suites,
        "testsuite",
        name=_text(gate.title),
        tests=str(len(judged) + bool(gate.outputs)),
        failures=str(len(gate.regressed) + bool(gate.outputs)),
        errors="0",
        skipped="0",
    )
    for row in judged:
        _case(suite, gate, row.name, row.sentence, row.outcome == "regressed")
    if gate.outputs:
        _case(suite, gate, "outputs", gate.outputs, True)
    if gate.notes:
        ElementTree.SubElement(suite, "system-out").text = _text("\n".join(gate.notes))
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _case(
    suite: ElementTree.Element, gate: Any, name: str, sentence: str, is_failure: bool
) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname="protonlab.check", name=_text(name), time="0"
    )
    if is_failure:
        failure = ElementTree.SubElement(case, "failure", message=_text(sentence))
        failure.text = _text(f"{gate.title}: {sentence}")
    else:
        ElementTree.SubElement(case, "system-out").text = _text(sentence)


def _text(text: str) -> str:
    return _NOT_XML.sub("?", text)
