"""What the kernels below some scopes took, without making a profile of the tree."""

from __future__ import annotations

from typing import cast

from protonlab.formats._tree import Node, Root, decode


def scope_sums(data: bytes, prefix: str) -> dict[str, tuple[float, int]]:
    """Add up what ran below each scope whose name starts so.

    Parameters
    ----------
    data
        Proton's tree, JSON or msgpack.
    prefix
        Start of the scopes' names; what lies in a scope counts towards the outermost one.

    Returns
    -------
    dict
        Name of a scope -> time in ns and number of launches.

    Raises
    ------
    ProfileFormatError
        If the data is no tree of Proton's.
    """
    root, _ = decode(data, "Proton's data")
    found: dict[str, tuple[float, int]] = {}
    pending: list[tuple[Root | Node, str | None]] = [(root, None)]
    while pending:
        node, scope = pending.pop()
        if scope is None and node.frame.name.startswith(prefix):
            scope = node.frame.name
        if scope is not None:
            time_ns, launches = found.get(scope, (0.0, 0))
            own, count = (cast(int, node.metrics.get(key) or 0) for key in ("time (ns)", "count"))
            found[scope] = time_ns + own, launches + count
        pending += [(child, scope) for child in node.children]
    return found
