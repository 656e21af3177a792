"""What compute-sanitizer said, as counts: of which kind, where, during which case, and whose."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

_CASE = re.compile(r"^case (?P<name>.*): (?P<error>\S+)$")
_PREFIX = "========= "
# The line that begins a finding -> its kind. Lines of a finding follow, indented.
_BEGINS = (
    (re.compile(r"Program hit (?P<kind>\w+) .* on CUDA API call to (?P<where>\w+)"), "API call"),
    (re.compile(r"(?:Error|Warning): Race reported between (?P<kind>\w+) access"), "race"),
    (re.compile(r"(?:Error|Warning): Potential (?P<kind>\w+) hazard detected at"), "hazard"),
    (re.compile(r"(?P<kind>Invalid __\w+__ \w+) of size"), "access"),
    (re.compile(r"(?P<kind>Uninitialized __\w+__ memory read)"), "uninitialised"),
    (re.compile(r"(?P<kind>(?:Barrier error|Invalid arguments|Missing wait)[^.]*)"), "barrier"),
)
_SUMMARY = re.compile(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (.*)$")
_PLACE = re.compile(r"\bat (?P<kernel>[\w:]+(?:\(.*?\))?)\+(?P<place>0x[0-9a-f]+)")


@dataclass(frozen=True)
class Finding:
    """One kind of finding.

    Parameters
    ----------
    kind
        As the sanitizer calls it.
    kernel
        The kernel, or the function of CUDA's API that was called.
    places
        Bytes from the kernel's begin, in the order in which they are told: a race's write and read.
    case
        The case that ran; the sanitizer's lines come before the case's own.
    """

    kind: str
    kernel: str
    places: tuple[str, ...]
    case: str


def read(text: str) -> dict[str, Any]:
    """Count findings.

    Returns
    -------
    dict
        ``cases`` (name -> error, None if it did not end), ``findings`` (a list of dicts with
        ``count``, most first), ``summary`` (the sanitizer's last line; None if it did not come to
        it) and ``unknown`` (the first line of each thing of a kind that is not known here).
    """
    cases: dict[str, float | None] = {}
    counts: Counter[Finding] = Counter()
    waiting: list[Finding] = []  # for the name of their case
    unknown, summary, block = [], None, ""
    for line in [*text.splitlines(), _PREFIX]:
        found = _CASE.match(line)
        if found:
            error = float(found["error"])
            cases[found["name"]] = None if math.isnan(error) else error
            counts.update(Finding(f.kind, f.kernel, f.places, found["name"]) for f in waiting)
            waiting = []
        elif _SUMMARY.match(line):
            summary = _SUMMARY.match(line)[1]  # type: ignore[index]
        elif line.startswith(_PREFIX + "    "):
            block += "\n" + line[len(_PREFIX) :]
        elif line.startswith(_PREFIX.rstrip()):
            if block:
                finding = _finding(block)
                waiting += [finding] if finding else []
                unknown += [] if finding else [block.strip().splitlines()[0]]
            block = line[len(_PREFIX) :].strip()
            if block.startswith("COMPUTE-SANITIZER"):
                block = ""
    counts.update(waiting)
    listed = [{**vars(finding), "count": count} for finding, count in counts.most_common()]
    return {"cases": cases, "findings": listed, "summary": summary, "unknown": unknown}


def attribute(runs: Iterable[dict[str, Any]], hand_overs: Container[tuple[str, Any]]) -> None:
    """Say of each finding whose it is, as its ``of``.

    ``"hand-over"`` for accesses at places that `hand_over` found in machine code, ``"loader"`` for
    failed calls of CUDA's API that kernels without anything of ours fail in, too, else ``"open"``.
    """
    runs = [*runs]
    loader = {
        (finding["kind"], finding["kernel"])
        for run in runs
        for finding in run["findings"]
        if run["group"] == "bystanders" and finding["kind"].startswith("API call")
    }
    for run in runs:
        for finding in run["findings"]:
            race = finding["kind"].startswith(("race", "hazard"))
            if race and (finding["kernel"], tuple(finding["places"])) in hand_overs:
                finding["of"] = "hand-over"
            elif (finding["kind"], finding["kernel"]) in loader:
                finding["of"] = "loader"
            else:
                finding["of"] = "open"


def _finding(block: str) -> Finding | None:
    for pattern, kind in _BEGINS:
        found = pattern.search(block)
        if found:
            names = found.groupdict()
            places = list(_PLACE.finditer(block))
            kernel = names.get("where") or (places[0]["kernel"] if places else "")
            inside = () if "where" in names else tuple(p["place"] for p in places)
            return Finding(f"{kind}: {found['kind']}", kernel, inside, "")
    return None
