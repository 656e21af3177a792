import json
import math
import sys
from pathlib import Path
from typing import Any

import msgpack
import pytest
from builders import H200, SMALL, document, frame, kernel

import protonlab
from protonlab.errors import ProfileFormatError, ProtonLabError
from protonlab.formats import read_profile
from protonlab.model import ProfileInfo

PROFILES = Path(__file__).parent.parent / "profiles"


def packed(data: bytes) -> bytes:
    return bytes(msgpack.packb(json.loads(data)))


@pytest.mark.parametrize(
    ("file", "kernels", "launches", "time_ns"),
    [
        # Kernels, launches and GPU time counted from the raw files, metadata frames aside.
        ("tree_scopes_3.6.0.hatchet", 5, 15, 1419331),
        ("tree_scopes_3.9.0.hatchet", 5, 15, 1427104),
        ("tensor_metrics_3.6.0.hatchet", 1, 2, 63808),
        ("tensor_metrics_3.9.0.hatchet", 1, 2, 63936),
        ("graph_exclude_3.9.0.hatchet", 4, 32, 1292669),
        ("two_gpus_one_process_3.9.0.hatchet", 3, 5, 233406),
        ("live_3.9.0.msgpack", 1, 1, 44544),
    ],
)
def test_recorded_trees(file: str, kernels: int, launches: int, time_ns: int) -> None:
    profile = protonlab.load(PROFILES / file)
    assert len(profile.kernels) == kernels
    assert profile.kernels["count"].sum() == launches
    assert profile.kernels["time_ns"].sum() == time_ns


def test_msgpack_and_json_give_the_same_profile() -> None:
    for path in sorted(PROFILES.glob("*.hatchet")):
        data = path.read_bytes()
        one, other = protonlab.load(data), protonlab.load(packed(data))
        assert one.frames.equals(other.frames)
        assert one.devices == other.devices


def test_vector_metrics_and_scope_metrics() -> None:
    tensors = protonlab.load(PROFILES / "tensor_metrics_3.9.0.hatchet")
    per_expert = tensors.frames["per_expert"].dropna().iloc[0]
    assert isinstance(per_expert, tuple)
    assert len(per_expert) == 32
    assert not next(c for c in tensors.columns if c.column == "per_expert").additive
    scopes = protonlab.load(PROFILES / "tree_scopes_3.9.0.hatchet").frames
    step = scopes[scopes["name"] == "step"].iloc[0]
    assert step["loss"] == pytest.approx(1 + 1 / 2 + 1 / 3)


def test_python_context_frames_have_short_labels() -> None:
    frames = protonlab.load(PROFILES / "gpt_python_context_3.9.0.hatchet").frames
    assert (frames["kind"] == "python").sum() == 40
    assert "module.py:1779 in _wrapped_call_impl" in set(frames["label"])


def test_frames_of_the_shell_and_of_launching_are_cut() -> None:
    cell = "/tmp/ipykernel_7/1234.py"
    shell = [f"/site-packages/IPython/shell.py:{n}@run" for n in (10, 20)]
    launch = frame("/x/triton/runtime/jit.py:7@run", kernel("k", 5))
    tree = document(
        frame(
            shell[0],
            frame(
                shell[1],
                frame(
                    f"{cell}:3@<module>",
                    frame("/lib/torch/nn.py:9@forward", kernel("k", 10)),
                    frame(f"{cell}:1@step", launch),
                ),
            ),
        ),
        kernel("outside", 1),
    )
    profile = protonlab.load(tree, info=ProfileInfo(context="python", cells={cell: 5}))
    assert profile.frames["label"].tolist() == [
        "ROOT", "In [5] line 3", "nn.py:9 in forward", "k", "In [5] line 1 in step", "k", "outside",
    ]  # fmt: skip
    assert profile.frames["parent_id"].tolist() == [-1, 0, 1, 2, 1, 4, 0]
    assert profile.inclusive["time_ns"].tolist() == [16, 15, 10, 10, 5, 5, 1]
    untouched = protonlab.load(tree)  # a file of Proton's own stays as it is
    assert len(untouched.frames) == 10


def nested(depth: int) -> bytes:
    """A chain of `depth` frames over one kernel, as text: json.dumps would recurse."""
    leaf = json.dumps(kernel("k", 7, 2, n_tokens=3))
    start = '{"frame":{"name":"f","type":"function"},"metrics":{},"children":['
    root = '{"frame":{"name":"ROOT","type":"function"},"metrics":{},"children":['
    return f"[{root}{start * depth}{leaf}{']}' * depth}]}},{json.dumps(H200)}]".encode()


def nested_msgpack(depth: int) -> bytes:
    packer = msgpack.Packer()

    def opening(name: str) -> bytes:
        head = packer.pack({"name": name, "type": "function"})
        parts = [packer.pack_map_header(3), packer.pack("frame"), head, packer.pack("metrics")]
        return b"".join(
            [*parts, packer.pack({}), packer.pack("children"), packer.pack_array_header(1)]
        )

    return b"".join(
        [
            packer.pack_array_header(2),
            opening("ROOT"),
            opening("f") * depth,
            packer.pack(kernel("k", 7, 2, n_tokens=3)),
            packer.pack(H200),
        ]
    )


@pytest.mark.parametrize("make", [nested, nested_msgpack])
@pytest.mark.parametrize("depth", [1, 300, 1000, 5000])
def test_deep_trees_load_on_every_python(make: Any, depth: int, tmp_path: Path) -> None:
    profile = protonlab.load(make(depth))
    assert len(profile.frames) == depth + 2
    assert profile.frames["depth"].iloc[-1] == depth + 1
    assert profile.inclusive["time_ns"].tolist() == [7] * (depth + 2)
    assert profile.inclusive["n_tokens"].iloc[0] == 3
    profile.save(tmp_path / "deep.hatchet")
    assert protonlab.load(tmp_path / "deep.hatchet").frames.equals(profile.frames)


@pytest.mark.parametrize("make", [nested, nested_msgpack])
def test_a_deep_file_with_a_mistake_is_still_refused(make: Any) -> None:
    good = make(1200)
    with pytest.raises(ProfileFormatError):
        protonlab.load(good[: len(good) // 2])
    wrong = good.replace(b'"name":"f"', b'"nome":"f"', 1).replace(
        b"\xa4name\xa1f", b"\xa4nome\xa1f", 1
    )
    with pytest.raises(ProfileFormatError, match="missing required field `name`"):
        protonlab.load(wrong)


def test_bounds_on_depth_and_size() -> None:
    with pytest.raises(ProfileFormatError, match="deeper than max_depth=5 frames"):
        protonlab.load(nested(20), max_depth=5)
    with pytest.raises(ProfileFormatError, match="more than max_frames=5 frames"):
        protonlab.load(SMALL, max_frames=5)
    assert len(protonlab.load(SMALL, max_frames=9, max_depth=4).frames) == 9


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
        (broken(with_value({"abc": {}}, 1, "CUDA")), "the device table lists CUDA 'abc'; expected"),
        (broken(with_value({"frames": None}, 0, "protonlab")), r"protonlab: .*\$.frames"),
        (broken(with_value({"frames": [1]}, 0, "protonlab")), r"protonlab: .*\$.frames"),
        (
            broken(with_value({"frames": {"label": coded("x", -1)}}, 0, "protonlab")),
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


def test_null_metrics_are_missing() -> None:
    # Proton writes NaN and infinity as null.
    frames = protonlab.load(document(kernel("k", None, x=None, **{"time (ns)": None}))).frames
    assert frames["time_ns"].isna().all()
    assert "x" not in frames or frames["x"].isna().all()


def test_infinite_values_are_missing_too() -> None:
    # msgpack can hold them; a profile with them must still be saved.
    tree = json.loads(document(kernel("k", 7, bytes=1, x=2.0, v=[1, 2])))
    own = tree[0]["children"][0]["metrics"]
    own |= {"time (ns)": float("inf"), "x": float("nan"), "v": [1, float("inf")]}
    tree[1]["CUDA"]["0"]["clock_rate"] = float("nan")
    profile = protonlab.load(bytes(msgpack.packb(tree)))
    assert profile.frames.loc[1, ["time_ns", "x"]].isna().all()
    assert profile.frames.loc[1, "v"] == (1, None)
    assert profile.devices[0].clock_rate_khz is None


def test_odd_but_correct_trees() -> None:
    only_root = protonlab.load(document(devices=None))
    assert (len(only_root.frames), len(only_root.kernels), only_root.devices) == (1, 0, ())
    twins = protonlab.load(document(kernel("k", 1), kernel("k", 2), frame("k", frame("k"))))
    assert twins.frames["kind"].tolist() == ["root", "kernel", "kernel", "scope", "scope"]
    assert twins.kernels["time_ns"].tolist() == [3]
    overhead = protonlab.load(document(frame("__proton_launch_metadata", kernel("copy", 9))))
    assert overhead.kernels.empty
    assert overhead.to_dataframe(["time/ns"])["time/ns"].isna().all()
    huge = protonlab.load(document(kernel("k", 1, bytes=2**63)))
    assert huge.kernels["bytes"].tolist() == [float(2**63)]
    hostile = "<script>alert(1)</script>"
    assert protonlab.load(document(kernel(hostile, 1))).kernels["label"].tolist() == [hostile]


def test_many_metrics_and_text_metrics() -> None:
    metrics: dict[str, Any] = {f"m{i}": i for i in range(300)} | {"note": "text"}
    profile = protonlab.load(document(kernel("k", 1, **metrics)))
    assert profile.kernels["m299"].tolist() == [299]
    assert profile.frames["note"].iloc[1] == "text"
    assert "note" not in profile.kernels


def test_the_wrong_type_and_a_missing_file() -> None:
    with pytest.raises(ProtonLabError, match=r"takes a path or bytes, not int"):
        protonlab.load(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        protonlab.load("nowhere.hatchet")


def test_the_recursion_limit_is_left_alone() -> None:
    before = sys.getrecursionlimit()
    protonlab.load(nested(2000))
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("value", [math.nan, -math.inf, None, [1.0, None], [math.nan, 2.0]])
def test_what_is_not_finite_is_missing_and_named(value: Any) -> None:
    children = [
        {"frame": {"name": name}, "metrics": {"loss": loss, "n": 1}, "children": []}
        for name, loss in [("a", value), ("b", 0.5), ("c", value)]
    ]
    root = {"frame": {"name": "ROOT"}, "metrics": {}, "children": children}
    profile = read_profile(msgpack.packb([root, {}]))
    assert profile.info.notes == ("loss of a, c came to NaN or infinity, so it is missing",)
    assert profile.frames["n"].tolist()[1:] == [1, 1, 1]
