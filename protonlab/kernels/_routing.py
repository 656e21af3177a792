"""Which rows go to which expert."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from protonlab.errors import KernelInputError

_INDICES = (torch.int32, torch.int64)


@dataclass(frozen=True, eq=False)
class Routing:
    """How many rows each expert has, where they come from and where they go.

    The rows of expert 0 come first, then those of expert 1, and so on. Row ``i`` of this order is
    row ``gather[i]`` of x, and becomes row ``scatter[i]`` of y.

    What is on the host is checked here. What is on the GPU is not read: the kernels clamp sizes
    that are negative or sum to more than there are rows, take an index outside of x for a row of
    zeros, leave out rows that an index outside of y asks for, and rows of y that nobody writes are
    zero. ``matmul(…, debug=True)`` reads and checks it.

    Parameters
    ----------
    sizes
        Rows of each expert: integers, or an int32 or int64 tensor of shape (E,).
    gather
        int32 or int64, shape (rows,); None if the rows of x lie in order.
    scatter
        int32 or int64, shape (rows,), each row of y once; None to leave them in order.

    Raises
    ------
    KernelInputError
        If a type, shape or value that can be read on the host is none of these.

    Examples
    --------
    >>> y = matmul(x, w, routing=Routing([3, 0, 5]))  # doctest: +SKIP
    """

    sizes: torch.Tensor | Sequence[int]
    gather: torch.Tensor | None = None
    scatter: torch.Tensor | None = None

    def __post_init__(self) -> None:
        sizes = _size_tensor(self.sizes)
        object.__setattr__(self, "sizes", sizes)
        _check_indices("sizes", sizes, "(E,)")
        if not sizes.numel():
            raise KernelInputError("sizes are empty; they hold a number of rows for each expert")
        for name, indices in (("gather", self.gather), ("scatter", self.scatter)):
            if indices is not None:
                _check_indices(name, indices, "(rows,)")
        given = [len(indices) for indices in (self.gather, self.scatter) if indices is not None]
        if len({*given}) > 1:
            raise KernelInputError(
                f"gather has {given[0]} entries and scatter {given[1]}; both have one for each row "
                "that is computed"
            )
        if sizes.device.type == "cpu":
            _check_sizes(sizes, given[0] if given else None)
        if self.scatter is not None and self.scatter.device.type == "cpu":
            _check_permutation(self.scatter)

    @property
    def size_tensor(self) -> torch.Tensor:
        """The sizes, as a tensor of shape (E,)."""
        assert isinstance(self.sizes, torch.Tensor)
        return self.sizes

    @property
    def experts(self) -> int:
        """Number of experts."""
        return len(self.size_tensor)

    @property
    def host_sizes(self) -> tuple[int, ...] | None:
        """The sizes where they are known without asking the GPU; else None."""
        sizes = self.size_tensor
        return tuple(sizes.tolist()) if sizes.device.type == "cpu" else None

    def rows(self, x_rows: int) -> int:
        """How many rows are computed from an x of so many."""
        for indices in (self.gather, self.scatter):
            if indices is not None:
                return len(indices)
        return x_rows

    def check(self, x_rows: int) -> None:
        """Check what needs x, reading the host's side only."""
        rows = self.rows(x_rows)
        if self.gather is None and rows != x_rows:
            raise KernelInputError(
                f"scatter has {rows} entries, but without gather every one of x's {x_rows} rows "
                "is computed; give one entry for each"
            )
        if self.size_tensor.device.type == "cpu":
            _check_sizes(self.size_tensor, rows)
        if self.gather is not None and self.gather.device.type == "cpu":
            _check_range(self.gather, x_rows)

    def check_device(self, x_rows: int) -> None:
        """Check everything; waits for the GPU."""
        gather = None if self.gather is None else self.gather.cpu()
        scatter = None if self.scatter is None else self.scatter.cpu()
        Routing(self.size_tensor.cpu(), gather, scatter).check(x_rows)

    def to(self, device: torch.device | str) -> Routing:
        """Copy to a device."""
        moved = [None if t is None else t.to(device) for t in (self.gather, self.scatter)]
        return Routing(self.size_tensor.to(device), *moved)


def _size_tensor(sizes: object) -> torch.Tensor:
    if isinstance(sizes, torch.Tensor):
        return sizes
    try:
        return torch.tensor([operator.index(n) for n in sizes], dtype=torch.int64)  # type: ignore
    except (TypeError, ValueError, OverflowError, RuntimeError) as failure:
        raise KernelInputError(
            f"sizes are {sizes!r}; each is a number of rows, an int: Routing([3, 0, 5])"
        ) from failure


def _check_indices(name: str, tensor: torch.Tensor, shape: str) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise KernelInputError(
            f"{name} is a {type(tensor).__name__}; give a contiguous int32 or int64 tensor of "
            f"shape {shape}: torch.tensor({name})"
        )
    if tensor.dtype not in _INDICES or tensor.ndim != 1 or not tensor.is_contiguous():
        raise KernelInputError(
            f"{name} are {tensor.dtype} of shape {tuple(tensor.shape)} and stride "
            f"{tensor.stride()}; give a contiguous int32 or int64 tensor of shape {shape}"
        )


def _check_sizes(sizes: torch.Tensor, rows: int | None) -> None:
    if int(sizes.min()) < 0:
        expert = int(sizes.argmin())
        raise KernelInputError(
            f"expert {expert} has {int(sizes[expert])} rows; sizes start at 0: count the tokens of "
            "each expert, for instance with torch.bincount"
        )
    if rows is not None and int(sizes.sum()) != rows:
        raise KernelInputError(
            f"sizes sum to {int(sizes.sum())}, but {rows} rows are computed; each row belongs to "
            "one expert, so give sizes that sum to the number of rows"
        )


def _check_range(gather: torch.Tensor, x_rows: int) -> None:
    if len(gather) and not 0 <= int(gather.min()) <= int(gather.max()) < x_rows:
        raise KernelInputError(
            f"gather holds {int(gather.min())} to {int(gather.max())}, but x has the rows 0 to "
            f"{x_rows - 1}; give rows of x"
        )


def _check_permutation(scatter: torch.Tensor) -> None:
    ordered = scatter.sort().values
    wrong = (ordered != torch.arange(len(scatter))).nonzero()
    if len(wrong):
        raise KernelInputError(
            f"scatter does not name each of the rows 0 to {len(scatter) - 1} of y once: in order, "
            f"entry {int(wrong[0])} is {int(ordered[wrong[0]])}; give a permutation"
        )
