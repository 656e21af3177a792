"""What a switch changed in the compiled kernel: `compare_compiled`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from protonlab.capture.launched import launched_kernels
from protonlab.errors import ProtonLabError
from protonlab.experiment._disassembly import cuobjdump, disassembled
from protonlab.experiment._residency import residency
from protonlab.model.assembly import ptx_instructions, sass_instructions
from protonlab.model.compiled import (
    ARGUMENTS,
    CONSTANTS,
    FLATTENED,
    LOOPS,
    OPTIONS,
    PTX,
    RESOURCES,
    SASS,
    SPECIALIZED,
    SPLIT,
    CompiledComparison,
    CompiledVariant,
)
from protonlab.model.filters import compile_pattern

# Of the metadata: what is no choice of anybody's, or stands among the resources.
_NO_OPTIONS = {"hash", "name", "shared", "target", "arch", "triton_version", "extern_libs"}
_NO_OPTIONS |= {"backend_name", "tensordesc_meta", "global_scratch_size", "global_scratch_align"}
_BUFFER = re.compile(r"%(\w+?)(?:_\d+)? = ttg\.local_alloc : \(\) -> !ttg\.memdesc<(\d+)x([^,]+),")
_THREADS = re.compile(r"\.(?:req|max)ntid\s+(\d+)")


def compare_compiled(
    variants: Mapping[str, Any], *, kernel: str | None = None
) -> CompiledComparison:
    """Compare two compiled variants of a Triton kernel: resources, loops, options, instructions.

    Parameters
    ----------
    variants
        Exactly two names with what belongs to each: a compiled kernel, as a launch returns it
        (``kernel[grid](…)``) or ``triton.compile``; or a function without arguments that launches
        Triton kernels, which is called once.
    kernel
        Regular expression for the compiled kernel's name, where functions launch several.

    Returns
    -------
    CompiledComparison
        ``print`` or display it; `differences` is a table, `passages` is the PTX side by side.

    Raises
    ------
    ProtonLabError
        If there are not two variants, one is nothing of these, `kernel` is no regular expression,
        or no kernel or several of them could be meant.
    CaptureError
        If a function is to be called on Triton's interpreter, which compiles nothing.

    Examples
    --------
    >>> compare_compiled({"overlap": f, "serial": g}).differences  # doctest: +SKIP
    """
    if not isinstance(variants, Mapping):
        raise ProtonLabError(
            f"variants is of type {type(variants).__name__}; give a dict of two names, such as "
            '{"overlap": f, "serial": g}, with what a launch returns, kernel[grid](…), or functions'
        )
    compile_pattern(kernel, "kernel")
    if len(variants) != 2:
        raise ProtonLabError(
            f"compare_compiled takes two variants, and {len(variants)} were given"
            f"{': ' + ', '.join(map(str, variants)) if variants else ''}; give a dict of two names"
        )
    found = {name: _kernels(name, value) for name, value in variants.items()}
    one, other = _meant(found, kernel)
    tool = cuobjdump()
    first, second = found
    with ThreadPoolExecutor(2) as pool:  # nearly all of it is waiting for cuobjdump
        a, b = pool.map(_variant, (str(first), str(second)), (one, other), (tool, tool))
    return CompiledComparison(a, b)


def _kernels(name: str, value: Any) -> tuple[Any, ...]:
    if _is_compiled(value):
        return (value,)
    if not callable(value):
        raise ProtonLabError(
            f"variant {name!r} is {type(value).__name__}; give what a launch returns, "
            "kernel[grid](…), or a function without arguments that launches Triton kernels"
        )
    found = launched_kernels(value)
    if not found:
        raise ProtonLabError(
            f"variant {name!r} launched no Triton kernel; what torch and cuBLAS launch is not "
            "compiled here and cannot be looked into"
        )
    return found


def _is_compiled(value: Any) -> bool:
    return hasattr(value, "asm") and hasattr(value, "metadata")


def _meant(found: Mapping[str, tuple[Any, ...]], pattern: str | None) -> tuple[Any, Any]:
    """Choose a kernel of either variant: of the same name, and different if any is."""
    ours, theirs = found.values()
    if len(ours) == len(theirs) == 1 and pattern is None:
        return ours[0], theirs[0]

    def is_meant(kernel: Any) -> bool:
        return pattern is None or re.match(pattern, kernel.metadata.name) is not None

    pairs = [
        (one, other)
        for one in filter(is_meant, ours)
        for other in filter(is_meant, theirs)
        if one.metadata.name == other.metadata.name
    ]
    # A kernel that both launch is no part of the switch.
    shared = {one.hash for one, other in pairs if one.hash == other.hash}
    differing = [pair for pair in pairs if not {each.hash for each in pair} & shared]
    chosen = differing or pairs
    if len(chosen) == 1:
        return chosen[0]
    names = sorted({each.metadata.name for kernels in found.values() for each in kernels})
    asked = f" that kernel={pattern!r} matches from the start" if pattern else ""
    what = f"{len(chosen)} pairs of kernels" if chosen else "no kernel"
    raise ProtonLabError(
        f"the variants have {what} of the same name in common{asked}; they launch "
        f"{', '.join(names)}. Choose one with kernel=, a regular expression, or give the compiled "
        "kernels themselves"
    )


def _variant(name: str, kernel: Any, tool: Path | None) -> CompiledVariant:
    asm, metadata = kernel.asm, kernel.metadata
    target = metadata.target
    ptx = asm.get("ptx", "")
    notes = [] if ptx else [f"{name} has no PTX: it was compiled for {target.backend}."]
    facts: dict[str, dict[str, Any]] = {}
    code = disassembled(asm["cubin"], tool) if "cubin" in asm else None
    if code is not None and code.problem:
        notes.append(code.problem)
    registers = getattr(kernel, "n_regs", None) or (code.registers if code else None)
    spills = getattr(kernel, "n_spills", None)
    if spills is None and code is not None and code.stack is not None:
        spills = code.stack // 4  # as Triton counts: bytes of local memory by four
    threads = _THREADS.search(ptx)
    warps = int(threads[1]) // 32 if threads else metadata.num_warps
    facts[RESOURCES] = {
        "registers a thread": registers,
        "spilled registers": spills,
        "shared memory, bytes": metadata.shared,
        "warps": metadata.num_warps,
        "warps with those of warp specialization": warps,
        "stages asked for": metadata.num_stages,
    }
    if registers is not None and isinstance(target.arch, int):
        fits = residency(target.arch, registers=registers, shared=metadata.shared, warps=warps)
        if fits is not None:
            facts[RESOURCES] |= {
                "programs on a multiprocessor": fits.programs,
                "occupancy": fits.occupancy,
                "occupancy is bound by": fits.bound_by,
            }
    facts[LOOPS] = dict(_loops(asm))
    facts[CONSTANTS], facts[ARGUMENTS] = _arguments(kernel.src)
    facts[OPTIONS] = {
        field: _plain(getattr(metadata, field))
        for field in metadata._fields
        if field not in _NO_OPTIONS
    }
    if ptx:
        facts[PTX] = ptx_instructions(ptx)
    if code is not None and code.sass:
        facts[SASS] = sass_instructions(code.sass)
    return CompiledVariant(
        name, metadata.name, f"{target.backend}:{target.arch}", facts, ptx, tuple(notes)
    )


def _loops(asm: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Read from the IR what Triton was asked to do with loops, and the buffers that came of it."""
    ttir = asm.get("ttir", "")
    ttgir = asm.get("ttgir", "")
    yield FLATTENED, len(re.findall(r"\btt\.flatten\b", ttir))
    yield SPECIALIZED, len(re.findall(r"\btt\.warp_specialize\b", ttir))
    yield SPLIT, len(re.findall(r"ttg\.warp_specialize\(", ttgir))
    stages = re.findall(r"\btt\.num_stages = (\d+)", ttir)
    yield "stages of loops", ", ".join(stages) or None
    buffers = [f"{count} × {what}" for _, count, what in _BUFFER.findall(ttgir)]
    yield "buffers in shared memory", ", ".join(buffers) or None


def _arguments(source: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Constexprs by name, and types of the others with what Triton knows of their values."""
    names = list(getattr(getattr(source, "fn", None), "arg_names", ()))
    if not names:
        return {}, {}
    constants = {
        _path_name(names, path): _plain(value) for path, value in dict(source.constants).items()
    }
    signature = source.signature
    known: dict[str, list[str]] = {}
    for path, attributes in dict(getattr(source, "attrs", {})).items():
        words = [f"{key.removeprefix('tt.')} {value}" for key, value in attributes]
        known[_path_name(names, path)] = words
    types = {
        str(name): " ".join([str(kind), *known.get(str(name), [])])
        for name, kind in signature.items()
        if kind != "constexpr"
    }
    return constants, types


def _path_name(names: list[str], path: Any) -> str:
    """Name of an argument from its place: a number, or several for a part of a tuple."""
    first, *rest = path if isinstance(path, tuple) else (path,)
    name = names[first] if isinstance(first, int) and first < len(names) else str(first)
    return "".join([name, *(f"[{each}]" for each in rest)])


def _plain(value: Any) -> Any:
    """Turn a value into one that JSON has: other things are named by their text."""
    if isinstance(value, Callable):  # type: ignore[arg-type]
        return getattr(value, "__name__", str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str | None) else str(value)
