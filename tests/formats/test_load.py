import json
import math
from pathlib import Path
from typing import Any

import msgpack
import pytest
from builders import document, frame, kernel
from tree_bytes import packed

import protonlab
from protonlab.errors import ProtonLabError
from protonlab.formats import read_profile
from protonlab.model import ProfileInfo

PROFILES = Path(__file__).parent.parent / "profiles"


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


@pytest.mark.parametrize("value", [math.nan, -math.inf, None, [1.0, None], [math.nan, 2.0]])
def test_what_is_not_finite_is_missing_and_named(value: Any) -> None:
    children = [
        {"frame": {"name": name}, "metrics": {"loss": loss, "n": 1}, "children": []}
        for name, loss in [("a", value), ("b", 0.5), ("c", value)]
    ]
    root = {"frame": {"name": "ROOT"}, "metrics": {}, "children": children}
    profile = read_profile(msgpack.packb([root, {}]))
    assert profile.info.notes[0] == "loss of a, c came to NaN or infinity, so it is missing"
    assert profile.frames["n"].tolist()[1:] == [1, 1, 1]
