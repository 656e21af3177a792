"""Trees as bytes: in msgpack, and deeper than Python recurses."""

import json

import msgpack
from builders import H200, kernel


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


def packed(data: bytes) -> bytes:
    return bytes(msgpack.packb(json.loads(data)))
