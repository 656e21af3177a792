"""Folding: which frames get a box, and that nothing gets lost in the boxes of the others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from protonlab.views.fold import Boxes, fold


def all_shown(n: int) -> np.ndarray:
    return np.ones(n, dtype=bool)


def random_tree(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Preorder parent and depth of a random tree, and inclusive sums of small integers."""
    random = np.random.default_rng(seed)
    parent, depth, path = [-1], [0], [0]
    for row in range(1, n):
        del path[random.integers(1, len(path) + 1) :]
        parent.append(path[-1])
        depth.append(len(path))
        path.append(row)
    value = random.integers(0, 4, n).astype(np.float64)
    for row in range(n - 1, 0, -1):
        value[parent[row]] += value[row]
    return np.array(parent), np.array(depth), value


def test_small_tree_keeps_each_frame() -> None:
    # 10 = 6 + 4, 6 = 5 + 1
    parent, depth = np.array([-1, 0, 1, 1, 0]), np.array([0, 1, 2, 2, 1])
    boxes = fold(parent, depth, np.array([10.0, 6, 5, 1, 4]), all_shown(5), limit=10)
    assert boxes.node.tolist() == [0, 1, 2, 3, 4]
    assert boxes.start.tolist() == [0, 0, 0, 5, 6]
    assert boxes.width.tolist() == [10, 6, 5, 1, 4]
    assert boxes.folded.tolist() == [0] * 5


def test_narrow_frames_are_folded_behind_their_siblings() -> None:
    # Root 10 over a = 6 (over 5 and 1) and b = 4 (over 3, itself over 2). With six boxes root, a,
    # its 5, b, and the folds of the 1 and of the 3 with its 2 have a place.
    parent, depth = np.array([-1, 0, 1, 1, 0, 4, 5]), np.array([0, 1, 2, 2, 1, 2, 3])
    boxes = fold(parent, depth, np.array([10.0, 6, 5, 1, 4, 3, 2]), all_shown(7), limit=6)
    assert boxes.node.tolist() == [0, 1, 2, 4, 1, 4]
    assert boxes.folded.tolist() == [0, 0, 0, 0, 1, 2]
    assert boxes.depth.tolist() == [0, 1, 2, 1, 2, 2]
    assert boxes.width.tolist() == [10, 6, 5, 4, 1, 3]
    assert boxes.start.tolist() == [0, 0, 0, 6, 5, 6]


def test_frames_without_a_value_have_no_box() -> None:
    parent, depth = np.array([-1, 0, 0, 0]), np.array([0, 1, 1, 1])
    boxes = fold(parent, depth, np.array([3.0, 0, np.nan, 3]), all_shown(4), limit=10)
    assert boxes.node.tolist() == [0, 3]


def test_hidden_frames_take_no_part() -> None:
    parent, depth = np.array([-1, 0, 0]), np.array([0, 1, 1])
    boxes = fold(parent, depth, np.array([3.0, 9, 3]), np.array([True, False, True]), limit=10)
    assert boxes.node.tolist() == [0, 2]
    assert boxes.start.tolist() == [0, 0]


@pytest.mark.parametrize("value", [np.array([0.0, 0.0]), np.array([np.nan, np.nan])])
def test_nothing_to_draw(value: np.ndarray) -> None:
    boxes = fold(np.array([-1, 0]), np.array([0, 1]), value, all_shown(2), limit=10)
    assert len(boxes) == 0


def test_ten_thousand_children_of_one_frame() -> None:
    parent = np.concatenate([[-1], np.zeros(10_000, dtype=np.int64)])
    value = np.concatenate([[10_000.0], np.ones(10_000)])
    boxes = fold(parent, np.minimum(np.arange(10_001), 1), value, all_shown(10_001), limit=1500)
    assert len(boxes) == 1500
    assert boxes.folded[-1] == 10_000 - 1498
    assert boxes.width[-1] == 10_000 - 1498
    assert boxes.start[-1] == 1498


def test_chain_of_500_frames() -> None:
    parent = np.arange(500) - 1
    boxes = fold(parent, np.arange(500), np.full(500, 7.0), all_shown(500), limit=100)
    assert boxes.depth.tolist() == [*range(99), 99]
    assert boxes.folded.tolist() == [0] * 99 + [401]
    assert set(boxes.width.tolist()) == {7.0}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("limit", [2, 7, 60, 1000])
def test_every_frame_is_in_exactly_one_box(seed: int, limit: int) -> None:
    parent, depth, value = random_tree(400, seed)
    boxes = fold(parent, depth, value, all_shown(400), limit=limit)
    assert len(boxes) <= limit
    own = boxes.folded == 0
    assert own.sum() + boxes.folded.sum() == (value > 0).sum()
    children_sum = np.bincount(parent[1:], weights=value[1:], minlength=400)
    assert sums_on(boxes, parent) == {
        frame: children_sum[frame] for frame in boxes.node[own].tolist() if children_sum[frame]
    }


@pytest.mark.parametrize("seed", range(20))
def test_boxes_stand_on_their_parent_side_by_side(seed: int) -> None:
    parent, depth, value = random_tree(400, seed)
    boxes = fold(parent, depth, value, all_shown(400), limit=60)
    rows = sorted(zip(boxes.depth, boxes.start, boxes.start + boxes.width, strict=True))
    for (level, _, end), (next_level, start, _) in itertools.pairwise(rows):
        assert level != next_level or start >= end
    place = {
        frame: (start, start + width)
        for frame, start, width, folded in zip(
            boxes.node, boxes.start, boxes.width, boxes.folded, strict=True
        )
        if not folded
    }
    for frame, start, width, folded in zip(
        boxes.node, boxes.start, boxes.width, boxes.folded, strict=True
    ):
        low, high = place[frame if folded else max(parent[frame], 0)]
        assert low <= start
        assert start + width <= high


def sums_on(boxes: Boxes, parent: np.ndarray) -> dict[int, float]:
    """Width of the boxes that stand on each frame's box."""
    sums: dict[int, float] = {}
    for frame, width, folded in zip(
        boxes.node.tolist(), boxes.width.tolist(), boxes.folded.tolist(), strict=True
    ):
        if frame or folded:
            below = frame if folded else int(parent[frame])
            sums[below] = sums.get(below, 0) + width
    return sums
