"""How a ``%%proton`` cell becomes the cell that IPython runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from IPython.core.error import UsageError

from protonlab import capture
from protonlab.option_line import OptionLine, option_line_first, read_cell


@dataclass(frozen=True, eq=False)
class CellTransformer:
    """The input transformer: pure, so that IPython may call it as often as it likes.

    A cell with a wrong option line keeps it: IPython then calls the magic, which raises the error,
    and the cell fails without having run.
    """

    shell: Any  # IPython's InteractiveShell; its variables are read, for hook=name
    # Not that there are any: IPython skips such transformers when it asks whether a cell is
    # finished, and so a %%proton cell in a terminal ends with an empty line like any cell magic.
    has_side_effects: ClassVar[bool] = True

    def __call__(self, lines: list[str]) -> list[str]:
        """Return the lines that IPython is to run; lines of any other cell as they are."""
        try:
            cell = read_cell(lines)
            if cell is None:
                return lines
            if cell.options.wants_help:  # IPython refuses a cell magic without a body
                return ["get_ipython().run_line_magic('proton', '--help')\n"]
            if not cell.options.records_here:  # the magic sends it to engines; it does not run here
                return option_line_first(lines)
            hook_of(cell.options, self.shell.user_ns)
        except UsageError:
            return option_line_first(lines)
        return cell.lines


def hook_of(options: OptionLine, namespace: Mapping[str, Any]) -> Any:
    """Look ``hook=name`` up among the user's variables.

    Raises
    ------
    UsageError
        If there is no such variable or it holds no LaunchHook.
    """
    name = options.values.get("hook")
    if name is None:
        return None
    if name not in namespace:
        raise UsageError(
            f"hook={name}: there is no variable {name}; make one with "
            f"{name} = protonlab.LaunchHook(include=…)"
        )
    hook = namespace[name]
    if not isinstance(hook, capture.LaunchHook):
        raise UsageError(
            f"hook={name}: {name} is a {type(hook).__name__}, not a protonlab.LaunchHook"
        )
    return hook
