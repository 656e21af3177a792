"""The option table, and what each kind of option accepts."""

from __future__ import annotations

from typing import Any

import pytest

from protonlab.capture import OPTIONS, option
from protonlab.capture.modes import Mode
from protonlab.capture.options import RUN_OPTIONS
from protonlab.errors import ProtonLabError


def test_table_names_each_option_once_with_help_and_a_legal_example() -> None:
    names = [each.name for each in OPTIONS]
    assert names == [
        *("include", "exclude", "context", "data", "backend", "mode", "repeat", "warmup"),
        *("record", "hook", "sync", "live", "ranks", "metrics", "view"),
    ]
    assert [each.name for each in RUN_OPTIONS] == ["steps", "scope", "keep_host"]
    for each in OPTIONS:
        assert each.help.endswith(".")
        name, value = each.example.split("=", 1)
        assert name == each.name
        each.check(value)
        assert each.check(None) == (each.default if each.kind in ("choice", "number") else None)


@pytest.mark.parametrize(
    ("name", "value", "checked"),
    [
        ("include", "_p_matmul.*", "_p_matmul.*"),
        ("context", "python", "python"),
        ("context", None, "shadow"),
        ("record", "bytes, n_tokens", ("bytes", "n_tokens")),
        ("record", ["bytes", "bytes"], ("bytes",)),
        ("record", "", ()),
        ("record", "none", ("none",)),  # a key of that name
        ("metrics", ("time/us",), ("time/us",)),
        ("view", "flame,table", ("flame", "table")),
        ("view", "none", ()),
        ("hook", "my_hook", "my_hook"),
        ("data", None, "tree"),
        ("backend", None, None),
        ("repeat", None, 1),
        ("repeat", "20", 20),
        ("repeat", 20, 20),
        ("warmup", "0", 0),
        ("ranks", "all", "all"),
        ("ranks", "3", (3,)),
        ("ranks", "4-6,0,5", (0, 4, 5, 6)),
        ("ranks", None, None),
        ("steps", "10:20", (10, 20)),
        ("steps", ":5", (0, 5)),
        ("steps", "3:", (3, None)),
        ("steps", None, None),
        ("scope", "train step", "train step"),
        ("keep_host", None, False),
        ("keep_host", True, True),
        ("mode", "pcsampling", Mode("pcsampling")),
        ("mode", "pcsampling:interval=1000", Mode("pcsampling", {"interval": "1000"})),
        (
            "mode",
            "mma:granularity=cta:optimizations=time_shift,clock32",
            Mode("mma", {"granularity": "cta", "optimizations": "time_shift,clock32"}),
        ),
    ],
)
def test_legal_value(name: str, value: Any, checked: Any) -> None:
    assert option(name).check(value) == checked


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("include", "a(", r"include is not a regular expression.*\n    a\(\n     \^"),
        ("exclude", 3, "exclude=3 is a int"),
        ("exclude", b"a", "exclude=b'a' is a bytes"),
        ("context", "stack", "context='stack'; use shadow or python"),
        ("record", 3, "record=3 is a int; give names, for example record=bytes,n_tokens"),
        ("record", ["bytes", 3], "record holds 3, a int"),
        ("view", "flame,pie", "view=pie; use flame, bars, table and none"),
        ("view", "none,flame", "'none' stands alone"),
        ("data", "graph", "data='graph'; use tree or trace"),
        ("backend", "cuda", "use cupti, instrumentation, roctracer or rocprofiler"),
        ("repeat", "0", "repeat=0; use a whole number from 1 up, for example repeat=20"),
        ("repeat", True, "repeat=True; use a whole number"),
        ("repeat", 2.0, "repeat=2.0; use a whole number"),
        ("warmup", "-1", "warmup=-1; use a whole number from 0 up"),
        ("mode", "sampling", "mode=sampling; use pcsampling, periodic_flushing, default, mma"),
        ("mode", "pcsampling:rate=3", "pcsampling has interval=…, each behind a colon"),
        ("mode", "pcsampling:interval=0", "interval is a whole number from 1 up"),
        ("mode", "mma:granularity=lane", "granularity is one of cta, warp, warp_2"),
        ("mode", 3, "mode=3 is a int; give text, for example mode=pcsampling:interval=1000"),
        ("ranks", "0-", "ranks=0-; use all, or numbers and ranges, for example ranks=0,2 or rank"),
        ("ranks", "3-1", "ranks=3-1; use all"),
        ("ranks", 3, "ranks=3; use all"),
        ("steps", "10", "steps=10; give FIRST:END, .* for example steps=10:20"),
        ("steps", "-1:2", "give FIRST:END"),
        ("steps", 10, "give FIRST:END"),
        ("steps", "5:5", "steps=5:5 holds no step: its end is left out"),
        ("scope", "", "scope=''; give text, as in scope=train_step"),
        ("keep_host", 1, "keep_host=1; give true or false"),
        ("hook", "my hook", "hook='my hook' is not the name of a variable"),
        ("hook", "class", "hook='class' is not the name of a variable"),
    ],
)
def test_illegal_value_is_an_error_that_names_the_legal_ones(
    name: str, value: Any, message: str
) -> None:
    with pytest.raises(ProtonLabError, match=message):
        option(name).check(value)


def test_unknown_option_names_those_there_are() -> None:
    with pytest.raises(ProtonLabError, match="no option 'contxt'; the options are include, exc"):
        option("contxt")
