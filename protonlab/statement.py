"""The code behind ``%proton``, and the body of a call from code: compiled as IPython would."""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError


def compiled(
    shell: Any, source: str, *, is_statement: bool
) -> Callable[[dict[str, Any] | None], Any]:
    """Compile a statement or a body; what is returned runs it and gives its last value.

    Raises
    ------
    UsageError
        If a statement cannot be compiled; the error of a body is the user's own SyntaxError.
    """
    try:
        return _compiled(shell, source)
    except SyntaxError as error:
        if not is_statement:
            raise
        raise UsageError(
            f"%proton cannot run {source!r}: {error.msg}. Behind its options it takes one "
            "statement; to keep the profile assign it (p = %proton f(x)), and for await or more "
            "than one line write %%proton over a cell"
        ) from None


def _compiled(shell: Any, source: str) -> Callable[[dict[str, Any] | None], Any]:
    code = shell.transform_cell(source)
    # Cached as a cell is: tracebacks and @triton.jit find the source. IPython 9 counts up when
    # a cell starts and IPython 8 when it ends; the result in the making has the cell's number.
    cell = getattr(shell.displayhook.exec_result, "execution_count", None)
    file = shell.compile.cache(code, cell or shell.execution_count, raw_code=source)
    tree = shell.transform_ast(shell.compile.ast_parse(code, filename=file))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = shell.compile(tree, file, "exec")
    value = shell.compile(ast.Expression(last.value), file, "eval") if last else None

    def execute(local_ns: dict[str, Any] | None) -> Any:
        __tracebackhide__ = True  # a traceback shows the user's lines
        exec(body, shell.user_global_ns, local_ns)
        return eval(value, shell.user_global_ns, local_ns) if value else None

    return execute


def value_is_used() -> bool:
    """Whether the code that called ``%proton`` takes its value, or the call stands alone."""
    caller = sys._getframe(3)  # behind this function, the magic and IPython's run_line_magic
    after = next(
        step for step in dis.get_instructions(caller.f_code) if step.offset > caller.f_lasti
    )
    return after.opname not in ("POP_TOP", "PRINT_EXPR", "CALL_INTRINSIC_1")
