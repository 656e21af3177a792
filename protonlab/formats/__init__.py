"""Files to profiles: `load` recognises a file by what is in it."""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

from protonlab.errors import ProfileFormatError, ProtonLabError
from protonlab.formats._scope_sums import scope_sums
from protonlab.formats.chrome_trace import read_chrome_trace
from protonlab.formats.embedded import read_report
from protonlab.formats.epilogue_sweep import is_sweep, read_sweep, sweep_in_parquet
from protonlab.formats.hatchet import MAX_DEPTH, MAX_FRAMES, read_hatchet
from protonlab.formats.parquet import read_parquet
from protonlab.formats.variants import is_variants, read_variants
from protonlab.model import Profile, ProfileInfo, Trace, VariantComparison
from protonlab.model.epilogue_sweep import EpilogueSweep
from protonlab.model.speedscope import SPEEDSCOPE_SCHEMA

__all__ = ["export_trace", "load", "read_profile", "read_trace", "scope_sums"]

_GZIP_START, _PARQUET_START = b"\x1f\x8b", b"PAR1"
_FOLDED = re.compile(rb"[^\n{<][^\n]* \d+(\r?\n|$)")
_HTML = re.compile(rb"(<!--.*?-->\s*)*<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_MSGPACK_ARRAYS = (*range(0x90, 0xA0), 0xDC, 0xDD)


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    info: ProfileInfo | None = None,
    max_depth: int = MAX_DEPTH,
    max_frames: int = MAX_FRAMES,
    max_bytes: int = 8 * 2**30,
) -> Profile | Trace | VariantComparison | EpilogueSweep | dict[str, Profile]:
    """Load a profile or a trace: what Proton wrote, or what protonlab saved, also gzipped.

    A file is recognised by its contents: a tree, JSON or msgpack, and a saved parquet file are
    profiles; a chrome trace is a trace; a comparison of variants and a sweep are what they were; a
    report that `export_report` wrote holds the profiles behind its figures.

    Parameters
    ----------
    source
        Path of a file, or its contents.
    info
        How it came to be; by default what the file says.
    max_depth, max_frames
        Largest tree to accept, and most events; a larger one is an error, not a crash.
    max_bytes
        Largest contents of a gzipped file, and of a profile in a report.

    Returns
    -------
    Profile, Trace, VariantComparison, EpilogueSweep, or dict of str to Profile
        A dict, name -> profile, of a report.

    Raises
    ------
    ProfileFormatError
        If the contents are none of them; the message names file, place and expectation.
    MissingDependencyError
        If the file is parquet and pyarrow is not there.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> profile = protonlab.load("proton.hatchet")  # doctest: +SKIP
    """
    if isinstance(source, bytes):
        data, name = source, "profile data"
    elif isinstance(source, (str, os.PathLike)):
        data, name = _contents(Path(source)), os.fspath(source)
    else:
        raise ProtonLabError(f"load() takes a path or bytes, not {type(source).__name__}")
    if data[:2] == _GZIP_START:
        data = _unzipped(data, name, max_bytes)
    if data[:4] == _PARQUET_START:
        sweep = sweep_in_parquet(data)
        if sweep is None:
            return read_parquet(
                data, source=name, info=info, max_depth=max_depth, max_frames=max_frames
            )
        data = sweep
    start = data[:4096].lstrip()
    if start[:1] == b"[" or (data and data[0] in _MSGPACK_ARRAYS):
        return read_hatchet(
            data, source=name, info=info, max_depth=max_depth, max_frames=max_frames
        )
    if is_sweep(start):
        return read_sweep(data, source=name, max_depth=max_depth, max_frames=max_frames)
    if is_variants(start):
        return read_variants(data, source=name, max_depth=max_depth, max_frames=max_frames)
    if start[:1] == b"{" and b'"traceEvents"' in data:
        return read_chrome_trace(data, source=name, info=info, max_events=max_frames)
    if _HTML.match(start):
        return read_report(
            data, source=name, max_depth=max_depth, max_frames=max_frames, max_bytes=max_bytes
        )
    raise ProfileFormatError(
        f"{name}: {_seen(data, start)}; expected a tree that Proton wrote, a chrome trace, "
        "a profile that was saved as .hatchet or .parquet, a saved comparison or sweep, or a report"
    )


def read_profile(data: bytes, *, info: ProfileInfo | None = None) -> Profile:
    """Read a tree that Proton wrote; ProfileFormatError when it is none."""
    return read_hatchet(data, source="profile data", info=info)


def read_trace(data: bytes, *, info: ProfileInfo | None = None) -> Trace:
    """Read a chrome trace that Proton wrote; ProfileFormatError when it is none."""
    return read_chrome_trace(data, source="trace data", info=info)


def export_trace(source: Trace | str | os.PathLike[str], path: str | os.PathLike[str]) -> Trace:
    """Write a trace so that Perfetto (ui.perfetto.dev) and chrome://tracing open it.

    A trace in memory is written as `Trace.save` does. A file is loaded first: Triton 3.6 writes a
    document for each stream, one behind the other, which no other program reads; here they become
    one. The base time, by which traces of one host can be laid over each other, is kept.

    Parameters
    ----------
    source
        A trace, or the path of a chrome trace.
    path
        File to write; gzipped when its name ends in ``.gz``. An older file survives a failure.

    Returns
    -------
    Trace
        What was written; `load` gives back an equal one.

    Raises
    ------
    ProtonLabError
        If `source` is no trace.
    OSError
        If a file cannot be read or written.

    Examples
    --------
    >>> protonlab.export_trace("proton.chrome_trace", "for_perfetto.json.gz")  # doctest: +SKIP
    """
    trace = load(source) if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(trace, Trace):
        raise ProtonLabError(
            f"export_trace() takes a trace, and this is a {type(trace).__name__}; "
            "record one with data='trace', and save a profile with its save()"
        )
    trace.save(path)
    return trace


def _contents(path: Path) -> bytes:
    if path.is_dir():
        raise ProtonLabError(
            f"{path} is a folder; load_run({str(path)!r}) reads the folder of a run, "
            "with what each of its ranks recorded"
        )
    return path.read_bytes()


def _unzipped(data: bytes, name: str, max_bytes: int) -> bytes:
    """Unzip all members of a file: parts that were gzipped by themselves may be one."""
    parts, room = [], max_bytes
    while data[:2] == _GZIP_START:
        decoder = zlib.decompressobj(wbits=31)
        try:
            parts.append(decoder.decompress(data, room + 1))
        except zlib.error as error:
            raise ProfileFormatError(f"{name}: not whole gzip: {error}") from None
        room -= len(parts[-1])
        if room < 0:
            raise ProfileFormatError(
                f"{name}: more than max_bytes={max_bytes} when unzipped; pass a larger max_bytes "
                "to load it"
            )
        if not decoder.eof:
            raise ProfileFormatError(f"{name}: not whole gzip; the file may be cut off")
        data = decoder.unused_data
    return b"".join(parts)


def _seen(data: bytes, start: bytes) -> str:
    """Say what the data looks like instead."""
    if not data:
        return "empty"
    if start[:1] == b"{" and SPEEDSCOPE_SCHEMA.encode() in start:
        return "speedscope JSON, which holds names and times alone"
    if start.startswith(b"frame_id,parent_id,"):
        return "a frame table as CSV, which does not say what its columns are"
    if _FOLDED.match(start):
        return "folded stacks, which hold labels and times alone"
    if start[:1] == b"{" and b'"nbformat"' in data:
        return "a notebook, which `protonlab report` makes a page of"
    if start[:1] == b"{" and b'"world_size"' in start:
        return "the manifest of a rank; load_run() and `protonlab view` take its folder"
    if start[:1] == b"{":
        return "a JSON object without traceEvents"
    if start[:1] == b"<":
        return "XML, or a part of an HTML page"
    return f"unknown contents, starting with {data[:12]!r}"
