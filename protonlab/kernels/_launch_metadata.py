"""What a launch tells Proton: a name that holds shape and variant, flops, bytes, tokens."""

from __future__ import annotations

from typing import Any

from protonlab.kernels._schedule import BYTES


def matmul_metadata(grid: Any, kernel: Any, args: dict[str, Any]) -> dict[str, Any]:
    """Describe a launch of a matmul.

    ``flops16`` counts a multiplication and an addition for each weight and row, ``bytes`` is the
    model of `protonlab.kernels._problem.byte_model`, and ``n_tokens`` the rows that are computed.
    Where only the GPU knows how many experts have rows, the schedule's kernel has written the bytes
    to a tensor, and that tensor is the metric: nothing waits for the GPU.
    """
    kind = "mxfp4" if args["PACKED"] else "plain"
    m, n, k = args["rows"], args["N"], args["K"]
    return {
        "name": f"matmul_{kind} [{m}x{n}x{k}{_experts(args)}, {variant(args)}]",
        "flops16": 2.0 * m * n * k,
        "bytes": args["n_bytes"] or args["stats_ptr"][BYTES],
        "n_tokens": m,
    }


def _experts(args: dict[str, Any]) -> str:
    return f", experts={args['experts']}" if args["stats_ptr"] is not None else ""


def variant(args: dict[str, Any]) -> str:
    """Name what tells one launch's kernel from another's, the switch first."""
    if not args["PERSISTENT"]:
        words = ["one tile a program"]
    else:
        words = ["persistent, " + ("flattened" if args["FLATTEN_LOOPS"] else "not flattened")]
    if args["WARP_SPECIALIZE"]:
        words.append("warp specialized")
    words.append(f"block_m={args['BLOCK_M']}")
    if args["SPLIT_K"] > 1:
        words.append(f"split_k={args['SPLIT_K']}")
    return ", ".join(words)


def sum_metadata(grid: Any, kernel: Any, args: dict[str, Any]) -> dict[str, Any]:
    """Describe the launch that sums the parts of K. Its bytes are extra work, none of the model's.

    ``bytes`` are the partial sums that it reads; the matmul's own count holds y.
    """
    m, n, parts = args["rows"], args["N"], args["SPLIT_K"]
    return {
        "name": f"matmul_sum_parts [{m}x{n}, split_k={parts}]",
        "bytes": 4 * m * n * parts,
        "flops32": 1.0 * m * n * parts,
        "n_tokens": 0,
    }
