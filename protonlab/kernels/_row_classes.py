"""Classes of row blocks in the Gluon engine, and the shape of the kernel for each."""

from __future__ import annotations

from dataclasses import dataclass

# What a program may hold in shared memory if it is alone on a multiprocessor, and if two share it.
_SHARED = {1: 227 * 1024, 2: 113 * 1024}
_BARRIERS = 1024  # barriers and what lies between them and tiles, rounded up
_WIDEST_OF_FOUR_WARPS = 96  # rows whose sums fit beside two operands in 216 registers a thread
_MOST_PADDING = 0.04
LEAST_STAGES = 2  # a stage is given back while the next is read

# Classes up to an average number of rows an expert, measured with random routing on an H200. Sizes
# scatter by the square root of their average, and the last class keeps experts that take much more
# from reading their weights again and again.
_RAGGED = (
    (12, (8, 16, 32, 128)),
    (24, (16, 32, 64, 128)),
    (40, (24, 32, 40, 64)),
    (80, (64, 72, 80, 96)),
    (144, (96, 128, 144, 160)),
)
_LARGE = (64, 128, 192, 256)
_OF_ONE = (8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256)


@dataclass(frozen=True)
class ClassShape:
    """The kernel for one row class.

    Parameters
    ----------
    head, tail
        Rows of x in its two products; tail 0 for none. Powers of two.
    strips
        Tiles of 128 weight rows that share a tile of x.
    stages
        Depth of the ring in shared memory.
    warps
        That compute. One more loads.
    programs_per_sm
        That a multiprocessor holds at once.
    """

    head: int
    tail: int
    strips: int
    stages: int
    warps: int
    programs_per_sm: int

    @property
    def registers(self) -> int:
        """Of a thread, before the loading warp hands most of its share to the others."""
        threads = (self.warps + 4) * 32 * self.programs_per_sm
        return min(232, 65536 // threads // 8 * 8)


def split_rows(rows: int) -> tuple[int, int] | None:
    """Split a class's rows into head and tail; None if it takes more than two powers of two."""
    head = 1 << (rows.bit_length() - 1)
    tail = rows - head
    return (head, tail) if tail & (tail - 1) == 0 and head >= 8 and tail != 4 else None


CLASSES = tuple(rows for rows in range(8, 257, 8) if split_rows(rows))


def class_shape(
    rows: int, row_tiles: int, *, strips: int, stages: int, warps: int, programs_per_sm: int
) -> ClassShape:
    """Choose a kernel's shape for a class.

    Parameters
    ----------
    rows
        Most rows of its blocks; one of `CLASSES`.
    row_tiles
        Tiles of 128 rows that the weight has.
    strips, stages, programs_per_sm
        The most that may be taken, at least two stages; registers and shared memory may hold less.
    warps
        The fewest that compute; wide classes need eight.
    """
    split = split_rows(rows)
    assert split is not None
    if rows > _WIDEST_OF_FOUR_WARPS:
        warps = 8
    programs = min(programs_per_sm, 2 if warps == 4 else 1)
    held = max(1, (_WIDEST_OF_FOUR_WARPS if warps == 4 else 192) // rows)
    fit = {
        count: (_SHARED[programs] - _BARRIERS) // (count * (8192 + 512) + rows * 256)
        for count in range(1, min(strips, held) + 1)
        if _padding(row_tiles, count) <= _MOST_PADDING
    }
    strips = max(count for count, most in fit.items() if most >= LEAST_STAGES)
    return ClassShape(*split, strips, min(stages, fit[strips]), warps, programs)


def row_classes(average: int) -> tuple[int, ...]:
    """Choose classes for experts of so many rows on average."""
    return next((classes for most, classes in _RAGGED if average <= most), _LARGE)


def class_of_one(rows: int) -> int:
    """Choose the class for blocks of one weight's rows: few blocks, then little padding."""
    return min(_OF_ONE, key=lambda width: (-(-rows // width), width))


def _padding(row_tiles: int, strips: int) -> float:
    return -(-row_tiles // strips) * strips / row_tiles - 1
