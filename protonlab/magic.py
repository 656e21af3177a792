"""``%%proton`` and ``%proton``: record what a cell or a statement launches, then show it.

IPython itself runs the cell. An input transformer takes the option line away and cell events open
and close the session around it, so that the last expression, ``;``, strings, ``await`` and
tracebacks are those of the cell without the line. The registered magic serves what no cell event
can see: ``%proton STATEMENT``, calls from code, help, and the error of a wrong option line.

Where no cell event fires, a cell runs unprofiled: in a notebook under ``%run``, or as ``In[n]``
handed to ``exec``. ``%time %proton f(x)`` shows all views, since ``%time`` returns the profile.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)

from protonlab import capture
from protonlab.cell_transformer import CellTransformer, hook_of
from protonlab.option_help import help_text
from protonlab.option_line import OptionLine, parse_statement_line, read_cell
from protonlab.statement import compiled, value_is_used

if TYPE_CHECKING:
    from protonlab.cell_recording import CellRecording
    from protonlab.model import Profile, Trace


@magics_class
class ProtonMagics(Magics):
    """The magic and the cell events of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.transformer = CellTransformer(shell)
        self._shell: Any = shell  # IPython is typed in part, and differently in each release
        self._open: list[CellRecording] = []
        self._displayhook = self._shell.display_trap.hook
        self._run_ast_nodes = self._shell.run_ast_nodes

    def displayhook(self, value: Any) -> None:
        """Show the value of an expression unrecorded: to print a GPU tensor takes kernels."""
        with ExitStack() as paused:
            for recording in self._open:
                paused.enter_context(recording.session.paused())
            self._displayhook(value)

    def pre_run_cell(self, info: Any) -> None:
        """Open a session when the cell that is about to run opens with ``%%proton``."""
        self._close_abandoned()
        try:
            cell = read_cell(self._cleaned(info.raw_cell))
            if cell is not None and cell.options.records_here:
                self._start(cell.options, info)
        except UsageError:
            return  # the cell itself raises it

    def post_run_cell(self, result: Any) -> None:
        """Close the session of the cell that has ended, keep its profile and show it."""
        for recording in reversed(self._open):
            if recording.belongs_to(result):
                self._finish(recording)
                break

    async def run_ast_nodes(
        self,
        nodelist: list[Any],
        cell_name: str,
        interactivity: str = "last_expr",
        compiler: Any = compile,
        result: Any = None,
    ) -> Any:
        """Run a cell's statements as the shell does; as often as its ``%%proton`` line asks for."""
        rest = {"compiler": compiler, "result": result}
        for recording in self._open:
            # Not a cell that this one runs by itself.
            is_own = recording.info is not None and recording.info is getattr(result, "info", None)
            if is_own and not recording.repetition.is_plain:
                return await recording.repetition.run_nodes(
                    self._run_ast_nodes, nodelist, cell_name, interactivity, **rest
                )
        return await self._run_ast_nodes(nodelist, cell_name, interactivity, **rest)

    @needs_local_scope
    @no_var_expand
    @line_cell_magic
    def proton(
        self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None
    ) -> Any:
        """Serve ``%proton``, and calls of ``%%proton`` from code; users see `help_text` here."""
        if cell is None:
            options = parse_statement_line(line)
            source, is_used = options.statement, value_is_used()
        else:
            options = _read_call(line, cell)
            source, is_used = cell, False
        if options.wants_help:
            print(help_text())
            return None
        __tracebackhide__ = True  # a traceback shows the user's lines
        if not options.records_here:
            from protonlab.ranks import run_on_ranks

            run = run_on_ranks(self._shell, options, source, shows=not is_used)
            return run if is_used else None
        execute = compiled(self._shell, source, is_statement=cell is None)
        recording = self._start(options)
        try:
            if recording.repetition.is_plain:
                value = execute(local_ns)
            else:
                value = recording.repetition.call(partial(execute, local_ns))
        except BaseException:
            self._finish(recording)
            raise
        profile = self._finish(recording, shows=not is_used)
        if cell is not None:
            return value
        return profile if is_used else None

    proton.__doc__ = help_text()

    def register(self) -> None:
        """Make the magic, the transformer, the events and the displayhook known to the shell."""
        shell = self._shell
        shell.register_magics(self)
        shell.input_transformers_cleanup.append(self.transformer)
        shell.events.register("pre_run_cell", self.pre_run_cell)
        shell.events.register("post_run_cell", self.post_run_cell)
        shell.display_trap.hook = self.displayhook
        shell.run_ast_nodes = self.run_ast_nodes

    def unregister(self) -> None:
        """Take all of it back; a session that is open is stopped, and nothing is shown."""
        shell = self._shell
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop("proton", None)
        shell.input_transformers_cleanup.remove(self.transformer)
        shell.events.unregister("pre_run_cell", self.pre_run_cell)
        shell.events.unregister("post_run_cell", self.post_run_cell)
        shell.display_trap.hook = self._displayhook
        shell.run_ast_nodes = self._run_ast_nodes
        while self._open:
            self._open.pop().stop()

    def _start(self, options: OptionLine, info: Any = None) -> CellRecording:
        # Takes most of a second, for pandas and plotly, once there is something to record. Pandas
        # shows wide tables as in a terminal if it finds no get_ipython() when it is imported.
        with self._shell.builtin_trap:
            from protonlab.cell_recording import CellRecording

        hook = hook_of(options, self._shell.user_ns)
        recording = CellRecording.started(options, hook, info)
        self._open.append(recording)
        recording.watch.start()
        return recording

    def _finish(self, recording: CellRecording, *, shows: bool = True) -> Profile | Trace | None:
        self._open.remove(recording)
        return recording.finish(self._shell.user_ns, shows=shows)

    def _close_abandoned(self) -> None:
        """Close the session of a cell that ended without an event: ``await run_cell_async(…)``."""
        last = self._shell.last_execution_result
        for recording in list(self._open):
            if last is not None and recording.info is last.info:
                self._finish(recording)

    def _cleaned(self, raw_cell: str) -> list[str]:
        """Return the lines of a cell as they reach our transformer: no prompts, no blank lines."""
        lines = raw_cell.splitlines(keepends=True)
        for transform in self._shell.input_transformers_cleanup:
            if transform is self.transformer:
                break
            lines = transform(lines)
        return lines


def _read_call(line: str, cell: str) -> OptionLine:
    """Check a call of the cell magic: from code, or by IPython for a wrong option line."""
    found = read_cell([f"%%proton {line}\n", *cell.splitlines(keepends=True)])
    assert found is not None
    return found.options


def load(shell: InteractiveShell) -> None:
    """Register ``%%proton`` and ``%proton`` in a shell."""
    unload(shell)
    message = capture.enable_interpreter()
    if message:
        print(message)
    ProtonMagics(shell).register()


def unload(shell: InteractiveShell) -> None:
    """Take back everything that `load` registered; a session that is open is stopped."""
    magics = shell.magics_manager.registry.pop(ProtonMagics.__name__, None)
    if magics is not None:
        magics.unregister()
