"""``%load_ext``, ``%reload_ext`` and ``%unload_ext``: what is registered, and what stays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from protonlab.capture import device

if TYPE_CHECKING:
    from conftest import Notebook


def registered(shell: Any) -> list[object]:
    formatter = shell.display_formatter.ipython_display_formatter
    return [
        [type(transform).__name__ for transform in shell.input_transformers_cleanup],
        {
            event: [call.__qualname__ for call in calls]
            for event, calls in shell.events.callbacks.items()
        },
        sorted(shell.magics_manager.registry),
        getattr(shell.display_trap.hook, "__qualname__", "IPython's own"),
        *(
            {name for name in names if "proton" in name}
            for names in shell.magics_manager.magics.values()
        ),
        [key for key in formatter.deferred_printers if key[0].startswith("protonlab")],
        [cls for cls in formatter.type_printers if cls.__module__.startswith("protonlab")],
    ]


def test_reload_registers_once_and_unload_leaves_nothing(notebook: Notebook) -> None:
    shell = notebook.shell
    loaded = registered(shell)
    notebook.run("%reload_ext protonlab")
    notebook.run("%reload_ext protonlab")
    assert registered(shell) == loaded
    assert notebook.run("%%proton\ndouble();").out.count("proton: 1 kernel kept") == 1
    notebook.run("%unload_ext protonlab")
    left = json.dumps(registered(shell), default=str)
    assert "roton" not in left
    assert "CellTransformer" not in left
    ran = notebook.run("%%proton\n1")
    assert ran.err == "UsageError: Cell magic `%%proton` not found.\n"
    notebook.run("%load_ext protonlab")
    assert str(registered(shell)[:6]) == str(loaded[:6])


def test_unloading_within_a_cell_closes_its_session(notebook: Notebook) -> None:
    ran = notebook.run("%%proton run1\ndouble()\n%unload_ext protonlab\n2")
    assert ran.result.result == 2
    assert "run1" not in notebook
    notebook.run("%load_ext protonlab")


def test_load_says_where_kernels_run(notebook: Notebook) -> None:
    notebook.run("%unload_ext protonlab")
    said = (
        "no GPU driver: Triton kernels run in its interpreter on the CPU; put tensors on "
        "protonlab.device()\n"
    )
    assert notebook.run("%load_ext protonlab").out == (said if device() == "cpu" else "")
