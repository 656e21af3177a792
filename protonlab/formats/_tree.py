"""Proton's tree as typed structs: decoding of JSON and msgpack.

msgspec decodes; it recurses, so documents deeper than Python's stack allows are read again by
streaming readers that keep their own stack (ijson and msgpack).
"""

from __future__ import annotations

import gc
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, TypeVar

import ijson
import msgpack
import msgspec

from protonlab.errors import ProfileFormatError

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Value = bool | int | float | str | list[int | float | None] | None


class FrameName(msgspec.Struct, gc=False):
    """What Proton calls a frame; its type is always ``function``."""

    name: str


class Node(msgspec.Struct, gc=False):
    """A frame of the tree with its own metrics."""

    frame: FrameName
    metrics: dict[str, Value]
    children: list[Node]


class Root(msgspec.Struct, gc=False):
    """The root frame; ``protonlab`` holds what Proton's format has no place for."""

    frame: FrameName
    metrics: dict[str, Value]
    children: list[Node]
    protonlab: dict[str, Any] = {}


class StoredText(msgspec.Struct):
    """A text column of the frame table: names, and the index of each row's name, -1 for none."""

    names: list[str]
    codes: list[int]


class StoredColumn(msgspec.Struct):
    """A metric column, which may have no value left to tell its type by.

    Files of before lack what it was called; `MetricColumn.from_raw` says it then.
    """

    raw: str
    kind: Literal["int", "float", "other"]
    column: str = ""
    unit: str = ""
    additive: bool = True


class Extra(msgspec.Struct):
    """What a saved profile carries beside Proton's own; the version has been checked."""

    info: dict[str, Any] = {}
    frames: dict[str, StoredText] = {}
    columns: list[StoredColumn] = []
    repeats: Any = None


class DeviceEntry(msgspec.Struct, gc=False):
    """One entry of the device table."""

    arch: str | None = None
    bus_width: Int64 | None = None
    clock_rate: float | None = None
    memory_clock_rate: float | None = None
    num_sms: Int64 | None = None


DeviceTable = dict[str, dict[str, DeviceEntry]]
_EXPECTED = "Proton's tree: a list of the root frame and the device table"


def decode(data: bytes, source: str) -> tuple[Root, DeviceTable]:
    """Decode a document of Proton's, JSON or msgpack.

    Raises
    ------
    ProfileFormatError
        If the data is no such document; the message names `source` and the place.
    """
    is_json = data.lstrip()[:1] == b"["
    try:
        return _decode_typed(data, is_json)
    except RecursionError:
        return _decode_deep(data, is_json, source)
    except msgspec.ValidationError as error:
        raise ProfileFormatError(f"{source}: {error}; expected {_EXPECTED}") from None
    except msgspec.DecodeError as error:
        raise _not_whole(source, is_json, error) from None


def _decode_typed(data: bytes, is_json: bool) -> tuple[Root, DeviceTable]:
    codec = msgspec.json.decode if is_json else msgspec.msgpack.decode
    try:
        return codec(data, type=tuple[Root, DeviceTable])
    except msgspec.ValidationError as error:
        if "of length 2" not in str(error):
            raise
        try:
            return codec(data, type=tuple[Root])[0], {}  # no kernel ran: no device table
        except msgspec.ValidationError:
            raise error from None


def _decode_deep(data: bytes, is_json: bool, source: str) -> tuple[Root, DeviceTable]:
    """Decode without recursion."""
    try:
        document = _json_document(data) if is_json else _msgpack_document(data)
        if not isinstance(document, list) or len(document) not in (1, 2):
            raise ProfileFormatError(f"{source}: expected {_EXPECTED}")
        table = msgspec.convert(document[1] if len(document) == 2 else {}, DeviceTable)
        root, pending = _shallow(document[0], Root)
        stack: list[tuple[Root | Node, list[Any]]] = [(root, pending)]
        while stack:
            parent, children = stack.pop()
            for child in children:
                node, below = _shallow(child, Node)
                parent.children.append(node)
                stack.append((node, below))
        return root, table
    except msgspec.ValidationError as error:
        raise ProfileFormatError(f"{source}: {error}; expected {_EXPECTED}") from None
    except (ijson.JSONError, msgpack.UnpackException, ValueError) as error:
        raise _not_whole(source, is_json, error) from None


NodeType = TypeVar("NodeType", Node, Root)


def _shallow(value: Any, kind: type[NodeType]) -> tuple[NodeType, list[Any]]:
    """Check one frame, its children apart."""
    children = value.pop("children", None) if isinstance(value, dict) else None
    if isinstance(value, dict) and isinstance(children, list):
        value = value | {"children": []}
    return msgspec.convert(value, kind), children or []


def _json_document(data: bytes) -> Any:
    builder = ijson.ObjectBuilder()
    for event, value in ijson.basic_parse(io.BytesIO(data), use_float=True):
        builder.event(event, value)
    return builder.value


def _msgpack_document(data: bytes) -> Any:
    """Unpack maps and lists by their headers; only ``children`` can be deep."""
    unpacker = msgpack.Unpacker(io.BytesIO(data), strict_map_key=False)
    document: list[Any] = []
    stack: list[tuple[list[Any] | dict[str, Any], int]] = [(document, unpacker.read_array_header())]
    while stack:
        container, left = stack.pop()
        if not left:
            continue
        stack.append((container, left - 1))
        if isinstance(container, list):
            container.append({})
            stack.append((container[-1], unpacker.read_map_header()))
        elif (key := unpacker.unpack()) == "children":
            container[key] = []
            stack.append((container[key], unpacker.read_array_header()))
        else:
            container[key] = unpacker.unpack()
    return document


def _not_whole(source: str, is_json: bool, error: Exception) -> ProfileFormatError:
    kind = "JSON" if is_json else "msgpack"
    return ProfileFormatError(
        f"{source}: not whole {kind}: {error}. The file may be cut off; expected {_EXPECTED}"
    )


@contextmanager
def collector_paused() -> Iterator[None]:
    """Millions of small objects without a cycle among them: the collector would only get slow."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
