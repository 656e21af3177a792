"""How a matmul is cut and launched: each choice, and why."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import triton

from protonlab.errors import KernelInputError
from protonlab.kernels._choices import Choices
from protonlab.kernels._legal import EngineName, check_options, check_overlap, check_shape
from protonlab.kernels._row_classes import class_of_one, row_classes

# Measured on an H200 with Triton 3.9; docs/hopper-matmul.md has the tables.
FLATTEN_UP_TO = 8  # K steps of a tile: flattening pays for no more
HOPPER_SMS = 132
# Before Triton 3.9, 8 rows are multiplied without wgmma, at a third of the speed.
_HAS_8_ROWS = tuple(int(part) for part in triton.__version__.split(".")[:2]) >= (3, 9)
LEAST_ROWS = 8 if _HAS_8_ROWS else 16


@dataclass(frozen=True)
class MatmulOptions:
    """Choices for one matmul; made by `matmul_options`. ``str`` says each and why.

    Parameters
    ----------
    engine
        ``"triton"``, ``"gluon"`` or ``"reference"``.
    block_m
        Rows of x in a tile (columns of the tensor core's product); in Gluon the last row class.
    block_n, block_k
        Rows of the weight in a tile, and columns in a step of it. 128 for a packed weight.
    num_stages, num_warps
        Depth of the load pipeline, and warps of a program.
    persistent
        Whether a program computes tile after tile. Otherwise one program a tile.
    programs_per_sm
        Persistent programs launched for each multiprocessor.
    flatten_loops
        ``FLATTEN_LOOPS``: the loops over tiles and over K as one, so that the next tile's loads
        run during this tile's epilogue.
    warp_specialize
        Whether Triton splits loads and arithmetic over warps of their own.
    split_k
        Parts of K for programs of their own, summed in a fixed order. Only without routing.
    row_classes
        Blocks of rows that the Gluon engine launches kernels of their own for, by their most rows.
    strips
        Tiles of 128 weight rows that share a tile of x in the Gluon engine.
    reasons
        Field -> why.
    """

    engine: EngineName
    block_m: int
    block_n: int
    block_k: int
    num_stages: int
    num_warps: int
    persistent: bool
    programs_per_sm: int
    flatten_loops: bool
    warp_specialize: bool
    split_k: int
    row_classes: tuple[int, ...]
    strips: int
    reasons: tuple[tuple[str, str], ...] = dataclasses.field(default=(), compare=False)

    def __post_init__(self) -> None:
        check_options({name: value for name, value in vars(self).items() if name != "reasons"})

    def __str__(self) -> str:
        why = dict(self.reasons)
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "reasons"
        }
        width = max(len(f"{name} = {value}") for name, value in values.items())
        return "\n".join(
            f"{f'{name} = {value}':{width}}  {why.get(name, '')}".rstrip()
            for name, value in values.items()
        )


def matmul_options(
    rows: int,
    n: int,
    k: int,
    *,
    experts: int | None = None,
    packed: bool = True,
    engine: EngineName = "triton",
    overlap_epilogue: bool | None = None,
    sms: int = HOPPER_SMS,
    **overrides: Any,
) -> MatmulOptions:
    """Choose how to cut and launch a matmul.

    Parameters
    ----------
    rows, n, k
        Rows of x that are computed, and the shape of the weight.
    experts
        Over how many experts the rows spread; None without routing.
    packed
        Whether the weight is MXFP4; False for a plain one.
    engine
        What computes it.
    overlap_epilogue
        Whether an epilogue overlaps with the next tile's loads: ``FLATTEN_LOOPS``, for which the
        kernel is persistent. None leaves the choice to the rule: on for tiles of at most 8 K
        steps; above, no persistent kernel at all.
    sms
        Multiprocessors of the GPU.
    **overrides
        Fields of `MatmulOptions`, to be taken as given.

    Raises
    ------
    KernelInputError
        If an override is unknown, out of range or contradicts another, or a number cannot be a
        matmul's.

    Examples
    --------
    >>> options = matmul_options(2048, 5760, 5760, experts=128)
    >>> options.block_m, options.flatten_loops, options.persistent
    (32, False, False)
    """
    check_shape(rows, n, k, experts, sms)
    check_overlap(overlap_epilogue, engine)
    check_options({"engine": engine, **overrides})
    if packed:
        _check_tile(overrides)
    choices = Choices(overrides)
    average = -(-rows // experts) if experts else rows
    spread = f"{average} rows an expert on average" if experts else f"{rows} rows"
    choices.take("engine", engine, "asked for" if engine != "triton" else "plain Triton")
    if engine == "gluon":
        return _gluon_options(choices, rows, n, k, average if experts else None, spread, sms)
    block_m = _block_m(average, ragged=experts is not None, most=64 if packed else 128)
    block_m = choices.take("block_m", block_m, f"{spread}; padding costs power")
    if packed:
        choices.take("block_n", 128, "a storage tile")
        block_k = choices.take("block_k", 128, "a storage tile")
    else:
        choices.take("block_n", 128, "two warpgroup products")
        block_k = choices.take("block_k", 64, "128 bytes of a row")
    wide = block_m >= 128
    choices.take("num_stages", 3 if packed else 4, "2 to 4 stages measured alike")
    choices.take("num_warps", 8 if wide else 4, "accumulators must fit in registers")
    steps = -(-k // block_k)
    tiles = -(-n // choices["block_n"]) * -(-rows // block_m)
    parts, why_parts = _split(tiles, steps, 2 * sms) if experts is None else (1, "rows are ragged")
    parts = choices.take("split_k", parts, why_parts)
    steps = -(-steps // parts)
    _choose_loops(choices, overlap_epilogue, steps)
    programs = 1 if wide else 2 if block_m >= 64 else 3 if block_m >= 16 else 4
    choices.take("programs_per_sm", programs, "as many as registers and shared memory hold")
    choices.take("row_classes", (block_m,), "plain Triton has one")
    choices.take("strips", 1, "plain Triton has one")
    return MatmulOptions(**choices.values, reasons=choices.reasons)


def _gluon_options(
    choices: Choices, rows: int, n: int, k: int, average: int | None, spread: str, sms: int
) -> MatmulOptions:
    classes = (class_of_one(rows),) if average is None else row_classes(average)
    classes = choices.take("row_classes", classes, f"{spread}; padded rows cost power")
    for field, value, why in (
        ("block_m", classes[-1], "the last row class"),
        ("block_n", 128, "a storage tile"),
        ("block_k", 128, "a storage tile"),
        ("num_stages", 4, "at most; a class takes what shared memory holds"),
        ("persistent", True, "the ring stays full from tile to tile"),
        ("programs_per_sm", 2, "at most; one hides the other's waits"),
        ("flatten_loops", False, "loads run ahead without it"),
        ("warp_specialize", False, "written out: a warp of its own loads"),
    ):
        choices.take(field, value, why)
    if average is None:
        wide = classes[-1] > 32  # x is as large as the weight: eight warps share it
        strips = choices.take("strips", 2 if wide else 1, "more would leave multiprocessors idle")
        warps = choices.take("num_warps", 8 if wide else 4, "and one more that loads")
        tiles = -(-n // (128 * strips)) * -(-rows // classes[-1])
        parts = _split(tiles, -(-k // 128), sms if warps == 8 else 2 * sms)
    else:
        choices.take("strips", 5 if average <= 4 else 3, "at most; what shares x reads it once")
        choices.take("num_warps", 4, "and one more that loads; wide classes take 8")
        parts = 1, "rows are ragged"
    choices.take("split_k", *parts)
    return MatmulOptions(**choices.values, reasons=choices.reasons)


def _choose_loops(choices: Choices, overlap: bool | None, steps: int) -> None:
    if overlap is not None and choices.overrides.get("flatten_loops", overlap) != overlap:
        raise KernelInputError(
            f"overlap_epilogue={overlap} and flatten_loops={not overlap} contradict each other; "
            "they are the same switch, so give one of them"
        )
    forced = overlap if overlap is not None else choices.overrides.get("flatten_loops")
    if forced is not None:
        flatten, why = forced, "asked for"
    elif choices.overrides.get("persistent") is False:
        flatten, why = False, "only a persistent kernel has a next tile"
    else:
        flatten = steps <= FLATTEN_UP_TO
        why = f"{steps} K steps a tile; it pays for at most {FLATTEN_UP_TO}"
    flatten = choices.take("flatten_loops", flatten, why)
    if flatten:
        persistent, why = True, "flattening needs a next tile"
    elif forced is not None:
        persistent, why = True, "to be compared with flattened loops"
    else:
        persistent, why = False, "other programs hide the ends of a tile this long"
    if not choices.take("persistent", persistent, why) and flatten:
        raise KernelInputError(
            "flatten_loops=True with persistent=False: a program of one tile has no next tile to "
            "overlap with; leave one of them out"
        )
    choices.take("warp_specialize", False, "slower in every case that was measured")


def _block_m(average: int, *, ragged: bool, most: int) -> int:
    wanted = average * 3 // 2 if ragged else average  # sizes scatter round their average
    wanted = min(max(wanted, LEAST_ROWS), most)
    return next(rows for rows in (8, 16, 32, 64, 128) if wanted <= rows)


def _split(tiles: int, steps: int, programs: int) -> tuple[int, str]:
    """Parts of K that give so many programs something to do, of at least four steps each."""
    parts = max(1, min(programs // max(tiles, 1), steps // 4, 16))
    return parts, f"{tiles} tiles for {programs} programs at once"


def _check_tile(overrides: dict[str, Any]) -> None:
    for field in ("block_n", "block_k"):
        if overrides.get(field, 128) != 128:
            raise KernelInputError(
                f"{field}={overrides[field]} with a packed weight, whose tiles are 128 by 128; "
                f"leave {field} out"
            )
