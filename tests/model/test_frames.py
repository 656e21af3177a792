import numpy as np
import pytest
from builders import SMALL, document, frame, kernel

import protonlab
from protonlab.model import MetricColumn
from protonlab.model.frames import FRAME_COLUMNS, pruned, subtree_ends, subtree_sums


def test_the_schema_of_the_table() -> None:
    frames = protonlab.load(SMALL).frames
    assert frames.index.name == "frame_id"
    assert [*frames.columns] == [
        *FRAME_COLUMNS, "count", "time_ns", "bytes", "flops16", "n_tokens",
    ]  # fmt: skip
    assert frames["parent_id"].tolist() == [-1, 0, 1, 1, 0, 4, 5, 6, 4]
    assert frames["depth"].tolist() == [0, 1, 2, 2, 1, 2, 3, 4, 2]
    assert frames["kind"].tolist() == [
        "root", "scope", "kernel", "kernel", "scope", "metadata", "metadata", "metadata", "kernel",
    ]  # fmt: skip
    assert frames["time_ns"].dtype == "Int64"
    assert frames["flops16"].dtype == np.float64
    assert frames["device_id"].isna().tolist() == [
        True, True, False, False, True, True, True, False, False,
    ]  # fmt: skip
    assert frames["hook"].isna().all()
    assert frames["kernel"].isna().all()


def test_subtrees_are_runs_of_rows() -> None:
    frames = protonlab.load(SMALL).frames
    ends = subtree_ends(frames["parent_id"].to_numpy(), frames["depth"].to_numpy())
    assert ends.tolist() == [9, 4, 3, 4, 9, 8, 8, 8, 9]


def test_sums_of_floats_keep_their_digits() -> None:
    # A running sum would lose 1e-9 next to 1e9; a sum up the tree does not.
    parent, depth = np.array([-1, 0, 1, 0, 3]), np.array([0, 1, 2, 1, 2])
    sums = subtree_sums(np.array([0, 0, 1e9, 0, 1e-9]), parent, depth)
    assert sums[3] == 1e-9


def test_inclusive_sums_agree_with_a_walk_over_random_trees() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = int(rng.integers(1, 60))
        # A random preorder: each depth at most one below the last.
        depth = [0]
        for _ in range(n - 1):
            depth.append(int(rng.integers(1, depth[-1] + 2)))
        parent = [-1]
        for row in range(1, n):
            parent.append(max(above for above in range(row) if depth[above] == depth[row] - 1))
        values = rng.random(n)
        expected = values.copy()
        for row in range(n - 1, 0, -1):
            expected[parent[row]] += expected[row]
        sums = subtree_sums(values, np.array(parent), np.array(depth))
        np.testing.assert_allclose(sums, expected, rtol=1e-12)


def test_pruning_hangs_frames_under_their_nearest_kept_ancestor() -> None:
    parent, depth = np.array([-1, 0, 1, 2, 0]), np.array([0, 1, 2, 3, 1])
    keep = np.array([True, False, False, True, True])
    new_parent, new_depth = pruned(parent, depth, keep)
    assert new_parent.tolist() == [-1, 0, 0]
    assert new_depth.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("raw", "column", "unit", "stem", "additive"),
    [
        ("time (ns)", "time_ns", "ns", "time", True),
        ("cpu_time (ns)(exc)", "cpu_time_ns", "ns", "cpu_time", False),
        ("temperature (pty)", "temperature", "", "temperature", False),
        ("bytes", "bytes", "", "bytes", True),
        ("tokens per s (1/s)", "tokens per s_1/s", "1/s", "tokens per s", True),
        ("depth", "depth_metric", "", "depth_metric", True),
        ("()", "()", "", "()", True),
    ],
)
def test_names_of_metric_columns(
    raw: str, column: str, unit: str, stem: str, additive: bool
) -> None:
    made = MetricColumn.from_raw(raw)
    assert (made.column, made.raw, made.unit, made.stem, made.additive) == (
        column, raw, unit, stem, additive,
    )  # fmt: skip


def test_graph_and_metric_frames() -> None:
    captured = kernel("k", 10, 2, frame("<metric>"), bytes=4)
    profile = protonlab.load(document(frame("replay", frame("<captured_at>", captured))))
    assert profile.frames["kind"].tolist() == ["root", "scope", "graph", "kernel", "metric"]
    assert profile.frames["label"].tolist()[2:] == ["captured graph", "k", "metric copy"]
