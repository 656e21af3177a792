"""Which front end shows the outputs of this process: what it can draw, and whether anyone watches.

Looks at what is loaded and imports nothing, so that capture and views may both ask.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class FrontEnd:
    """Where outputs go.

    Parameters
    ----------
    name
        As a person calls it.
    draws
        Whether it can show more than text.
    is_watched
        Whether a person may look while a cell runs, and outputs can change meanwhile.
    is_live
        Whether protonlab's ES module runs there: figures zoom, and follow the theme.
    """

    name: str
    draws: bool
    is_watched: bool
    is_live: bool


JUPYTERLAB = FrontEnd("JupyterLab or Notebook", draws=True, is_watched=True, is_live=True)
VS_CODE = FrontEnd("VS Code", draws=True, is_watched=True, is_live=False)
COLAB = FrontEnd("Colab", draws=True, is_watched=True, is_live=False)
HEADLESS = FrontEnd("a headless run of a notebook", draws=True, is_watched=False, is_live=False)
TERMINAL = FrontEnd("IPython in a terminal", draws=False, is_watched=False, is_live=False)
NONE = FrontEnd("no notebook", draws=False, is_watched=False, is_live=False)


def front_end() -> FrontEnd:
    """Tell the front end of the running cell.

    JupyterLab and Notebook say which cell they execute. So does VS Code, which starts no widget
    before one is shown and draws plotly's JSON itself. nbclient does not, and nobody could click
    there.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return NONE
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return TERMINAL
    if "google.colab" in sys.modules:
        return COLAB
    cell = kernel.get_parent("shell").get("metadata", {}).get("cellId", "")
    if not cell:
        return HEADLESS
    return VS_CODE if cell.startswith("vscode") else JUPYTERLAB
