"""Baselines of tests: which gate has which file, and that no two have the same."""

from __future__ import annotations

from itertools import pairwise

import pytest
from gated import ONE, Gated, gated

from protonlab.experiment._baseline_names import baseline_stem
from protonlab.pytest_plugin import FOLDER

__all__ = ["gated"]

HEAD = """
    import pytest
    from variant_kernels import SHORT_S, scale

    def measured(gate, **options):
        gate({"reference": scale, "ours": scale}, budget_s=SHORT_S, metric="time/us", **options)
"""
TWO = (
    HEAD
    + """
    class TestOne:
        def test_speed(self, protonlab_gate):
            measured(protonlab_gate)

    class TestTwo:
        @pytest.mark.parametrize("n", [-1, 1])
        def test_speed(self, protonlab_gate, n):
            measured(protonlab_gate, name="fp16")
"""
)
TWICE = (
    HEAD
    + """
    def test_twice(protonlab_gate):
        measured(protonlab_gate)
        measured(protonlab_gate)
"""
)
NAMED = (
    HEAD
    + """
    def test_named(protonlab_gate):
        measured(protonlab_gate, name="fp16")
"""
)


def devices(names: list[str]) -> list[str]:
    return [name.rsplit(".", 2)[0] for name in names]


def test_each_gate_has_a_baseline_of_its_own(gated: Gated) -> None:
    gated.write("test_gather.py", ONE)
    gated.write("test_two.py", TWO)
    code, text = gated.run("--protonlab-record")
    assert code == 0, text
    assert devices(gated.baselines) == [
        "test_gather.test_speed",
        "test_two.TestOne.test_speed",
        "test_two.TestTwo.test_speed.-1.fp16",
        "test_two.TestTwo.test_speed.1.fp16",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *pairwise(["-1", "1", "1-"]),
        *[("A", "a"), ("<", ">"), ("a/b", "a-b"), ("a.b", "a-b"), ("", "-")],
        ("x" * 200, "x" * 199),
    ],
)
def test_ids_that_differ_have_names_that_differ_also_without_capitals(one: str, other: str) -> None:
    names = [baseline_stem(["test_m", "test_f"], each, "") for each in (one, other)]
    assert len({name.lower() for name in names}) == 2
    assert all(len(name) < 70 and name.count(".") == 2 for name in names)


def test_a_second_gate_without_a_name_is_refused(gated: Gated) -> None:
    gated.write("test_two.py", TWICE)
    for options in (["--protonlab-record"], ["--protonlab-threshold=900%"]):
        code, text = gated.run(*options)
        assert code == 1
        assert "two gates of this test are called test_two.test_twice" in text
    assert devices(gated.baselines) == ["test_two.test_twice"]


def test_a_gate_beside_a_named_one_has_no_baseline_of_it(gated: Gated) -> None:
    gated.write("test_named.py", NAMED)
    assert gated.run("--protonlab-record")[0] == 0
    gated.write("test_named.py", NAMED.replace(', name="fp16"', ""))
    code, text = gated.run()
    assert code == 1, text
    assert "there is no baseline test_named.test_named in" in text


def test_a_baseline_of_an_older_name_is_neither_used_nor_passed_over(gated: Gated) -> None:
    gated.write("test_gather.py", ONE.replace("0.6", "0"))
    assert gated.run("--protonlab-record")[0] == 0
    (new,) = (gated.folder / FOLDER).iterdir()
    old = new.rename(new.with_name(new.name.removeprefix("test_gather.")))
    code, text = gated.run()
    assert code == 1
    assert "there is no baseline test_gather.test_speed in" in text
    assert f"git mv {old} {new}" in text
    code, text = gated.run("--protonlab-record")
    assert code == 0
    assert f"Note: {old.name} was named by an older protonlab" in text
    assert gated.baselines == sorted([old.name, new.name])
