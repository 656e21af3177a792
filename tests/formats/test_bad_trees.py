"""What is no profile, or a broken one, is refused with a reason."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import SMALL
from tree_bytes import packed

import protonlab
from protonlab.errors import ProfileFormatError


def broken(change: Any) -> bytes:
    tree = json.loads(SMALL)
    change(tree)
    return json.dumps(tree).encode()


def without(*path: Any) -> Any:
    def change(tree: Any) -> None:
        for step in path[:-1]:
            tree = tree[step]
        del tree[path[-1]]

    return change


def with_value(value: Any, *path: Any) -> Any:
    def change(tree: Any) -> None:
        for step in path[:-1]:
            tree = tree[step]
        tree[path[-1]] = value

    return change


def named(raw: str, column: str) -> dict[str, str]:
    return {"raw": raw, "kind": "int", "column": column}


def coded(name: str, code: int) -> dict[str, list[Any]]:
    return {"names": [name], "codes": [code] * 9}


KERNEL = (0, "children", 0, "children", 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty; expected a tree that Proton wrote"),
        (b"hello", "unknown contents, starting with b'hello'"),
        (b"<html></html>", "an HTML page, but no report that protonlab wrote"),
        (b"<p>no page</p>", "XML, or a part of an HTML page"),
        (b'{"a": 1}', "a JSON object without traceEvents"),
        (b'{"cells": [], "nbformat": 4}', "a notebook, which `protonlab report` makes a page of"),
        (b'{"schema": 1, "rank": 0, "world_size": 2}', "manifest of a rank; load_run\\(\\) and"),
        (b"[]", "expected Proton's tree"),
        (b"[1]", "expected Proton's tree"),
        (b"[[], {}]", "expected Proton's tree"),
        (b"[null, {}]", "expected Proton's tree"),
        (SMALL[:-40], "not whole JSON.*may be cut off"),
        (SMALL[:-1], "not whole JSON"),
        (SMALL + b"x", "not whole JSON"),
        (packed(SMALL)[:-9], "not whole msgpack"),
        (b"\x92\x01", "msgpack|expected Proton's tree"),
        (SMALL.replace(b": 500", b": NaN"), "not whole JSON"),
        (broken(without(*KERNEL, "frame")), "missing required field `frame`.*children"),
        (broken(without(*KERNEL, "frame", "name")), "missing required field `name`"),
        (broken(without(*KERNEL, "metrics")), "missing required field `metrics`"),
        (broken(without(*KERNEL, "children")), "missing required field `children`"),
        (broken(with_value(None, *KERNEL, "frame", "name")), "Expected `str`, got `null`"),
        (broken(with_value({}, *KERNEL, "children")), "Expected `array`, got `object`"),
        (broken(with_value({"a": 1}, *KERNEL, "metrics", "x")), "metrics"),
        (
            broken(with_value(-5, *KERNEL, "metrics", "time (ns)")),
            r"frame ROOT > mlp > matmul \[m=8\] has time_ns -5; expected 0 or more",
        ),
        (broken(with_value(-1, *KERNEL, "metrics", "count")), "count -1; expected 0 or more"),
        (broken(with_value("gpu", *KERNEL, "metrics", "device_id")), "device_id is no integer"),
        (broken(with_value([1], *KERNEL, "metrics", "device_id")), "device_id is no integer"),
        (broken(with_value("9" * 20, *KERNEL, "metrics", "device_id")), "device_id is no integer"),
        (broken(with_value(5, *KERNEL, "metrics", "device_type")), "device_type is 5; expected"),
        (broken(with_value([1], *KERNEL, "metrics", "device_type")), "device_type is"),
        (broken(with_value("soon", *KERNEL, "metrics", "time (ns)")), "has time_ns 'soon'; exp"),
        (broken(with_value([1, 2], *KERNEL, "metrics", "count")), "has count .1, 2.; expected a"),
        (broken(with_value(10**400, *KERNEL, "metrics", "count")), "has count 1000.*…; expected a"),
        (broken(with_value({"abc": {}}, 1, "CUDA")), "the device table lists CUDA 'abc'; expected"),
        (broken(with_value({"0": {"num_sms": 10**400}}, 1, "CUDA")), "num_sms"),
        (broken(with_value({"frames": None}, 0, "protonlab")), r"protonlab: .*\$.frames"),
        (broken(with_value({"frames": [1]}, 0, "protonlab")), r"protonlab: .*\$.frames"),
        (
            broken(with_value({"frames": {"label": coded("x", -1)}}, 0, "protonlab")),
            "label does not fit the tree's 9 frames",
        ),
        (
            broken(with_value({"frames": {"label": coded("x", 10**30)}}, 0, "protonlab")),
            "label does not fit the tree's 9 frames",
        ),
        (
            broken(with_value({"frames": {"kind": coded("odd", 0)}}, 0, "protonlab")),
            "kind does not fit the tree's 9 frames",
        ),
        (
            broken(with_value({"info": {"backend": "interpreter, CPU"}}, 0, "protonlab")).replace(
                b'"time (ns)": 500', b'"time (ns)": [1, 2]'
            ),
            "has time_ns .1, 2.; expected a number",
        ),
        (broken(with_value({"version": 99}, 0, "protonlab")), "document version 99"),
        (broken(with_value({"info": {"name": 3}}, 0, "protonlab")), "protonlab.info"),
        (
            broken(with_value({"frames": {"hook": {"names": [], "codes": [0]}}}, 0, "protonlab")),
            "does not fit the tree's 9 frames",
        ),
        (
            broken(with_value({"columns": [named("bytes", "depth")]}, 0, "protonlab")),
            "calls the metric 'bytes' 'depth', which is the name of another column",
        ),
        (
            broken(with_value({"columns": [named("time (ns)", "t")]}, 0, "protonlab")),
            "calls the metric 'time .ns.' 't', which is not what it is called",
        ),
        (broken(lambda tree: tree.append({})), "of length 2"),
    ],
)
def test_what_is_no_profile_is_refused_with_a_reason(
    data: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "some.hatchet"
    path.write_bytes(data)
    with pytest.raises(ProfileFormatError, match=message) as caught:
        protonlab.load(path)
    assert str(path) in str(caught.value)  # it names the file
    assert caught.value.__cause__ is None  # and shows no library's traceback


@pytest.mark.parametrize("column", ["bytes", "flops16"])
def test_bytes_and_flops_that_are_text_give_no_util(column: str) -> None:
    profile = protonlab.load(broken(with_value("many", *KERNEL, "metrics", column)))
    assert len(profile.kernels) > 0
    assert "util" not in profile.metrics
    assert profile.frames[column].dropna().tolist()[0] == "many"
