"""What a person calls a frame: C++ demangled and shortened, notebook lines, Triton's as is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from protonlab.model.frames import GRAPH_FRAME, METADATA_SCOPE, METRIC_FRAME, PYTHON_FRAME

_LONGEST = 80
_SPECIAL = {
    METADATA_SCOPE: "launch metadata",
    METRIC_FRAME: "metric copy",
    GRAPH_FRAME: "captured graph",
}
_IDENTIFIER = re.compile(r"(?:\w+::)*(\w+)")
_ELEMENT_TYPES = re.compile(
    r"bool|char|short|int|long|float|double|complex|BFloat16|Half|__nv_bfloat16|__half|"
    r"Float8_\w+|u?int\d+_t"
)
# Template arguments of torch's and CUB's kernels that wrap or carry the work without naming it.
_WRAPPERS = re.compile(
    r"\d\w*|true|false|unsigned|const|void|volatile|operator|lambda|anonymous|namespace|auto|type|"
    r"array|tuple|Params|\w+Metadata|(Unary|Binary|Ternary|Pointwise)Op\w*Functor|"
    r"[AB]?(Unary|Binary)Functor|ReduceOp|func_wrapper_t|gpu_kernel_impl\w*|\w*OffsetCalculator|"
    r"(Load|Store)With\w+|policy_hub|Policy\d+|TensorIterator(Base)?|TensorBase|Tensor|Scalar|"
    r"SortOrder|OpaqueType|\w*GeneratorImpl|AccumulateType|ScanTileState|identity_decomposer_t"
)


def label_of(name: str, cells: Mapping[str, int] | None = None) -> str:
    """Short label of a frame name.

    Parameters
    ----------
    name
        The frame's name as Proton wrote it.
    cells
        File name -> number of the notebook cell that was compiled under it.

    Examples
    --------
    >>> label_of("_ZN2at6native13reduce_kernelILi512ELi1EEEvv")
    'reduce_kernel'
    >>> label_of("add_kernel [n=1024]")
    'add_kernel [n=1024]'
    """
    if name in _SPECIAL:
        return _SPECIAL[name]
    if name.startswith(METADATA_SCOPE + ":"):
        return f"launch metadata of {name[len(METADATA_SCOPE) + 1 :]}"
    if name.startswith("_Z"):
        return shorten(demangle(name))
    place = PYTHON_FRAME.fullmatch(name)
    if place is None:
        return name
    function = "" if place["function"] in ("<module>", "") else f" in {place['function']}"
    if cells and place["file"] in cells:
        return f"In [{cells[place['file']]}] line {place['line']}{function}"
    return f"{place['file'].rsplit('/', 1)[-1]}:{place['line']}{function}"


def demangle(name: str) -> str:
    """Demangle a C++ name; one that the C++ library does not know comes back as it is."""
    import cxxfilt  # needs libstdc++, which torch brings; only profiles with C++ kernels need it

    try:
        return str(cxxfilt.demangle(name))
    except (cxxfilt.InvalidName, cxxfilt.LibraryNotFound):
        return name


def shorten(name: str) -> str:
    """Reduce a demangled kernel to its function and what it was instantiated for.

    Namespaces, return type, parameters, numbers and wrappers go; the functor stays, with its
    element type: ``void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float,
    at::native::MeanOps<float, …> > >(…)`` is ``reduce_kernel<MeanOps<float>>``.

    Examples
    --------
    >>> shorten("void ns::fill_kernel<4, ns::FillFunctor<long>, std::array<char*, 1ul> >(int)")
    'fill_kernel<FillFunctor<long>>'
    """
    function, arguments = _split(name)
    detail = _detail(arguments)
    label = f"{function}<{detail}>" if detail else function
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"


def _detail(arguments: str) -> str:
    """Pick the first identifier that names the work, else the element types."""
    types: list[str] = []
    for match in _IDENTIFIER.finditer(arguments):
        word = match[1]
        if _ELEMENT_TYPES.fullmatch(word):
            types.append(word)
        elif not _WRAPPERS.fullmatch(word):
            inner = re.match(r"<(?:\w+::)*(\w+)", arguments[match.end() :])
            element = inner[1] if inner and _ELEMENT_TYPES.fullmatch(inner[1]) else ""
            return f"{word}<{element}>" if element else word
    return ", ".join(dict.fromkeys(types[:2]))


def _split(name: str) -> tuple[str, str]:
    """Part a name into its unqualified function and the text of its template arguments."""
    name = name.replace("(anonymous namespace)::", "")
    depth, start, opened = 0, 0, 0
    for index, letter in enumerate(name):
        if letter == "<":
            if depth == 0:
                opened = index
            depth += 1
        elif letter == ">":
            depth -= 1
        elif depth == 0 and letter in " :":
            start, opened = index + 1, 0
        elif depth == 0 and letter == "(":
            name = name[:index]
            break
    if opened:
        return name[start:opened], name[opened + 1 :]
    return name[start:] or name, ""
