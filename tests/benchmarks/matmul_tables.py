"""Tables of docs/hopper-matmul.md from the JSON in ``results``, so that they say what it says.

    python tests/benchmarks/matmul_tables.py [--write]

A table of the page stands between ``<!-- table: NAME -->`` and ``<!-- end -->``. Without --write
the tables are printed; a test compares them with the page.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")
PAGE = Path(__file__).parents[2] / "docs" / "hopper-matmul.md"
COMPUTE_BOUND = (256, 512)
_BLOCK = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)
Rows = list[dict[str, Any]]


def load(name: str) -> dict[str, Any]:
    """Read a result."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def lines(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table."""
    head = [*head]
    every = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in every).replace("|  |", "| |")


def best(rows: Rows, case: str, contender: str) -> dict[str, Any]:
    """Find the fastest, sustained, of those whose names begin so; schedules made before."""
    found = [
        row
        for row in rows
        if row["case"] == case
        and row["contender"].startswith(contender)
        and "schedule in the call" not in row["contender"]
        and "failed" not in row
    ]
    return min(found, key=lambda row: row["sustained_us"])


def mixture() -> str:
    """GB/s of both engines and upstream's, by tokens an expert."""
    new, old = (load(f"hopper_matmul_h200_triton_{version}") for version in ("3.9", "3.6"))
    verdicts = {row["what"]: row for row in new["requirements"]}
    rows = []
    for tokens in sorted({int(row["case"].split()[0]) for row in new["rows"] if _is_mixture(row)}):
        case = f"{tokens} tokens"
        gluon = best(new["rows"], case, "ours, gluon")
        upstream = best(new["rows"], case, "upstream")
        shown = [best(new["rows"], case, "ours, triton"), best(old["rows"], case, "ours, triton")]
        verdict = next(v for what, v in verdicts.items() if _is_against_upstream(what, case))
        goal = "" if verdict["goal"] is None else f"{verdict['goal']:.2f}"
        bound = tokens in COMPUTE_BOUND
        rows.append(
            [
                f"{tokens}, TFLOP/s" if bound else str(tokens),
                f"{gluon['sustained_us']:.1f}",
                *(_rate(row, bound) for row in (gluon, *shown, upstream)),
                f"{upstream['sustained_us'] / gluon['sustained_us']:.2f}",
                f"{verdict['required']:.2f}",
                goal,
            ]
        )
    head = ["tokens an expert", "Gluon, µs", "Gluon, GB/s", "plain Triton", "plain, Triton 3.6"]
    return lines([*head, "upstream", "Gluon / upstream", "required", "goal"], rows)


def _is_mixture(row: dict[str, Any]) -> bool:
    return str(row["case"]).endswith(" tokens")


def _is_against_upstream(what: str, case: str) -> bool:
    return what.startswith(case) and what.endswith("/ upstream's best") and "plain" not in what


def _rate(row: dict[str, Any], compute_bound: bool) -> str:
    if compute_bound:
        return f"{row['tflops_per_s']:.0f}"
    return f"{row['gbytes_per_s']:.0f} ({row['gbytes_per_s_burst']:.0f})"


def required() -> str:
    """What was required besides, and what came out."""
    wanted = load("hopper_matmul_h200_triton_3.9")["requirements"]
    rows = []
    for row in wanted:
        what, goal = row["what"], "" if row["goal"] is None else f"{row['goal']:.2f}"
        if _is_against_upstream(what, what.split(":")[0]) and " tokens" in what:
            continue  # in the table of the mixture
        needed = f"{row['required']:.2f}" if row["required"] else ""
        rows.append([what, f"{row['value']:.2f}", needed, goal])
    return lines(["", "measured", "required", "goal"], rows)


def schedules() -> str:
    """Microseconds with the schedule made before and in the call."""
    rows = load("hopper_matmul_h200_triton_3.9")["rows"]
    made = [row for row in rows if "schedule in the call" in row["contender"]]
    cases = list(dict.fromkeys(row["case"] for row in made))
    table = []
    for case in cases:
        both = []
        for whose in ("ours", "upstream"):
            before = best(rows, case, whose)["sustained_us"]
            within = next(
                row["sustained_us"]
                for row in made
                if row["case"] == case and row["contender"].startswith(whose)
            )
            both += [f"{before:.1f}", f"{within:.1f}"]
        table.append([case, *both])
    head = ["an expert", "ours, µs", "with its schedule", "upstream, µs", "with its schedule"]
    return lines(head, table)


def dense() -> str:
    """Plain Triton's time over Gluon's for one weight; bold where `auto` takes Gluon."""
    from protonlab.kernels._selection import gluon_pays

    measured = load("dense_engines_h200_triton_3.9")["rows"]
    counts = sorted({row["rows"] for row in measured})
    shapes = dict.fromkeys((row["n"], row["k"]) for row in measured)
    ratios = {(row["n"], row["k"], row["rows"]): row["gluon_is_faster_by"] for row in measured}
    rows = []
    for n, k in shapes:
        cells = []
        for count in counts:
            ratio = ratios.get((n, k, count))
            mark = "**" if gluon_pays(n, count) else ""
            cells.append("" if ratio is None else f"{mark}{ratio:.2f}{mark}")
        rows.append([f"{n} x {k}", *cells])
    return lines(["N x K", *(f"{count} row{'s' * (count > 1)}" for count in counts)], rows)


def flatten() -> str:
    """Microseconds of each way to launch plain Triton, and of Gluon, by K; the fastest bold."""
    measured = load("flatten_loops_h200_triton_3.9")["rows"]
    variants = ("flattened", "not flattened", "one tile a program", "gluon")
    rows = []
    for k, tokens in dict.fromkeys((row["k"], row["tokens"]) for row in measured):
        times = {
            row["variant"]: row["sustained_us"]
            for row in measured
            if (row["k"], row["tokens"]) == (k, tokens)
        }
        first = min(times[name] for name in variants[:3])
        cells = [_bold(times[name], name != "gluon" and times[name] == first) for name in variants]
        rows.append([f"{k} ({k // 128})", str(tokens), *cells])
    return lines(["K (steps a tile)", "tokens", *variants[:3], "Gluon"], rows)


def sanitizer() -> str:
    """Cases that compute-sanitizer checked, and its findings: Triton's own, and those left open."""
    rows = []
    for version in ("3.9", "3.6"):
        name = f"sanitize_h200_triton_{version}"
        if not (RESULTS / f"{name}.json").exists():
            continue
        runs = [run for run in load(name)["runs"] if run["group"] != "bystanders"]
        for check in dict.fromkeys(run["check"] for run in runs if run["check"] != "alone"):
            found: Counter[str] = Counter()
            mine = [run for run in runs if run["check"] == check]
            for finding in (finding for run in mine for finding in run["findings"]):
                found[finding["of"]] += finding["count"]
            cases = sum(run["ended"] and run["right"] and len(run["cases"]) for run in mine)
            whose = [str(found[of]) for of in ("hand-over", "loader", "open")]
            rows.append([version, check, str(cases), *whose])
    rows.sort(key=lambda row: (-float(row[0]), row[1]))
    return lines(["Triton", "check", "cases", "hand-over", "loader", "open"], rows)


def _bold(value: float, bold: bool) -> str:
    mark = "**" if bold else ""
    return f"{mark}{value:.1f}{mark}"


TABLES: Mapping[str, Callable[[], str]] = {
    "mixture": mixture,
    "required": required,
    "schedules": schedules,
    "dense": dense,
    "flatten": flatten,
    "sanitizer": sanitizer,
}


def filled(text: str) -> str:
    """Put the tables into a page."""
    return _BLOCK.sub(lambda found: found[1] + TABLES[found["name"]]() + found[3], text)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(filled(PAGE.read_text()))
    else:
        for name, table in TABLES.items():
            print(f"{name}\n{table()}\n")
