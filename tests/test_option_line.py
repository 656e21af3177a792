"""The option line: what each form means, and what each mistake says."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.core.error import UsageError

from protonlab.capture import OPTIONS
from protonlab.option_help import help_text
from protonlab.option_line import (
    ProtonCell,
    parse_cell_line,
    parse_statement_line,
    read_cell,
)

LEGAL = (
    "The options are include, exclude, context, data, backend, mode, repeat, warmup, record,\n"
    "hook, sync, live, ranks, metrics, view; %proton --help explains them."
)


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("", None, {}),
        ("run1", "run1", {}),
        ("run1 include=_p_.* view=table", "run1", {"include": "_p_.*", "view": ("table",)}),
        ("view=none run1", "run1", {"view": ()}),
        ("--include a --exclude=b", None, {"include": "a", "exclude": "b"}),
        ("--view flame,table", None, {"view": ("flame", "table")}),
        ("context=python", None, {"context": "python"}),
        ("record=bytes,n_tokens", None, {"record": ("bytes", "n_tokens")}),
        ("metrics=time/us,gbyte/s", None, {"metrics": ("time/us", "gbyte/s")}),
        ("hook=my_hook", None, {"hook": "my_hook"}),
        # Quotes hold a value together; nothing else has a meaning.
        ("include='a b' exclude=\"c d\"", None, {"include": "a b", "exclude": "c d"}),
        ("--include 'a b' run1", "run1", {"include": "a b"}),
        ("record='bytes, n_tokens'", None, {"record": ("bytes", "n_tokens")}),
        (r"include=k{1,2}$x\d\\ ", None, {"include": r"k{1,2}$x\d\\"}),
        ("include=a\\'b", None, {"include": "a\\'b"}),
        ("include=it's", None, {"include": "it's"}),
        ("include='it's'", None, {"include": "it's"}),
        ("include=a=b", None, {"include": "a=b"}),
        ("\trun1\tinclude=a  ", "run1", {"include": "a"}),
    ],
)
def test_cell_line(text: str, name: str | None, values: dict[str, Any]) -> None:
    line = parse_cell_line(text)
    assert (line.name, line.values, line.wants_help) == (name, values, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "incude=a",
            "incude is not an option of %%proton. Did you mean include?\n" + LEGAL,
        ),
        (
            "--quiet",
            "quiet is not an option of %%proton.\n" + LEGAL,
        ),
        (
            "run-1",
            "'run-1' is neither an option nor a NAME that Python allows.\n" + LEGAL,
        ),
        (
            "run1 run2",
            "%%proton takes one NAME; 'run1' and 'run2' are two. A value that holds spaces needs "
            "quotes, and a list has none: record=bytes,n_tokens",
        ),
        ("include=a include=b", "include is given twice; leave one of the two out"),
        (
            "include=",
            "include has no value; write it without spaces, for example include=_p_matmul.*",
        ),
        (
            "--include",
            "include has no value; write it without spaces, for example include=_p_matmul.*",
        ),
        (
            "include = scale.*",
            "include has no value; write it without spaces, for example include=_p_matmul.*",
        ),
        ("view", "view has no value; write it without spaces, for example view=flame,table"),
        ("include='a b", "include='a b: the quote ' is not closed"),
        (
            "record=bytes, n_tokens",
            "record=bytes,: write the list without spaces, or quote it",
        ),
        ("context=stack", "context='stack'; use shadow or python"),
        (
            "hook=h include=a record=b",
            "hook=h brings its own filter, so include and record cannot stand beside it; make the "
            "hook with LaunchHook(include=…, record=…)",
        ),
        (
            "metrics=tme/us",
            "metrics=tme/us can be no metric. Did you mean time/us? There are time/us, time/%, "
            "avg_time/us, count, gbyte/s, tflop16/s, util, a number from launch metadata "
            "(n_tokens), and one by another (bytes/n_tokens) or by time (n_tokens/s).",
        ),
    ],
)
def test_mistake(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_cell_line(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "metric", ["time", "time/ms", "util", "n_tokens", "n_tokens/s", "bytes/n_tokens", "gbyte/s",
               "cpu_time/ms", "tflop16/s", "time/%", "time/%parent", "avg_time/us", "count"],
)  # fmt: skip
def test_metric_that_a_kernel_may_record_is_accepted(metric: str) -> None:
    assert parse_cell_line(f"metrics={metric}").values == {"metrics": (metric,)}


@pytest.mark.parametrize(
    ("text", "values", "statement"),
    [
        ("f(x)", {}, "f(x)"),
        ("include=a --view none f(x, include=b)", {"include": "a", "view": ()}, "f(x, include=b)"),
        ("y=f(x)", {}, "y=f(x)"),
        ("view = f(x)", {}, "view = f(x)"),
        ("view == 3", {}, "view == 3"),
        ("view==3", {}, "view==3"),
        ("include=a -- view=3", {"include": "a"}, "view=3"),
        ("-- --x", {}, "--x"),
        ("-x", {}, "-x"),
        ("'a  b'", {}, "'a  b'"),
    ],
)
def test_statement_line(text: str, values: dict[str, Any], statement: str) -> None:
    line = parse_statement_line(text)
    assert (line.name, line.values, line.statement) == (None, values, statement)


@pytest.mark.parametrize("text", ["", "view=none", "view=none --"])
def test_statement_is_missing(text: str) -> None:
    with pytest.raises(UsageError, match="%proton needs a statement behind its options"):
        parse_statement_line(text)


@pytest.mark.parametrize("text", ["--help", "-h", "--help f(x)", "view=none --help"])
def test_help_is_asked_for(text: str) -> None:
    assert parse_statement_line(text).wants_help


def body_of(text: str) -> list[str]:
    cell = read_cell(text.splitlines(keepends=True))
    assert cell is not None
    return cell.lines


@pytest.mark.parametrize(
    "text", ["", "x = 1\n", "%proton f()\n", "%%proton? \n", "%%protonic\nx\n", "x\n%%proton\ny\n"]
)
def test_other_cells_are_not_read(text: str) -> None:
    assert read_cell(text.splitlines(keepends=True)) is None


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("%%proton a\nx\ny\n", ["# %%proton a\n", "x\n", "y\n"]),
        ("%%proton\n\nx\n", ["# %%proton\n", "\n", "x\n"]),
        ("%%proton a\n%%time\nx\n", ["%%time\n", "x\n"]),
        ("%%proton a\n\n\n%%time\nx\n", ["%%time\n", "x\n"]),
        ("%%time\n%%proton a\nx\n", ["%%time\n", "x\n"]),
        ("%%timeit -n 1\n%%proton a\nx\n", ["%%timeit -n 1\n", "x\n"]),
        ("%%proton a\n%time x\n", ["# %%proton a\n", "%time x\n"]),
    ],
)
def test_option_line_is_taken_away_once(text: str, body: list[str]) -> None:
    assert body_of(text) == body
    assert read_cell(body) is None  # so a second pass changes nothing


@pytest.mark.parametrize("text", ["%%proton\n", "%%proton a\n\n  \n"])
def test_cell_without_body(text: str) -> None:
    with pytest.raises(UsageError, match="no cell below it; %proton profiles one statement"):
        body_of(text)


@pytest.mark.parametrize(
    "text", ["%%proton a\n\n%%proton b\nx\n", "%%proton a\n%%time\n%%proton b\nx\n"]
)
def test_two_option_lines(text: str) -> None:
    with pytest.raises(UsageError, match="stands twice"):
        body_of(text)


def test_help_needs_no_body() -> None:
    cell = read_cell(["%%proton --help\n"])
    assert isinstance(cell, ProtonCell)
    assert cell.options.wants_help


def test_help_has_every_option_of_the_table() -> None:
    text = " ".join(help_text().split())
    for option in OPTIONS:
        assert f"{option.name} {option.help}" in text
        assert option.example in text
        assert ", ".join(option.choices) in text


def test_line_for_another_shell_keeps_what_was_typed() -> None:
    line = parse_cell_line(
        r"""ranks=all run1 include="a b|\w+$" --exclude '"' view=table record=bytes"""
    )
    assert not line.records_here
    text = line.without("ranks", "view", "metrics")
    assert text == r"""run1 include="a b|\w+$" --exclude '"' record=bytes"""
    read = parse_cell_line(text)
    assert read.records_here
    assert read.values == {"include": r"a b|\w+$", "exclude": '"', "record": ("bytes",)}
    assert parse_statement_line("ranks=0 repeat=3 -- f()").without("ranks") == "repeat=3"


@pytest.mark.parametrize("text", ["ranks=0, 2", "ranks=all live=1", "ranks=all metrics=tme/us"])
def test_mistake_beside_ranks(text: str) -> None:
    with pytest.raises(UsageError, match=r"without spaces|beside ranks|can be no metric"):
        parse_cell_line(text)


def test_what_an_engine_can_record_is_not_judged_here() -> None:
    assert parse_cell_line("ranks=all data=trace").values == {"ranks": "all", "data": "trace"}
