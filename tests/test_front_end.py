"""Which front end is at work, told by what IPython and the message of the cell say."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from protonlab import front_end


def kernel_with(metadata: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(get_parent=lambda channel: {"metadata": metadata})


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"cellId": "b1946ac9-2492"}, front_end.JUPYTERLAB),
        ({"cellId": "vscode-notebook-cell:/a.ipynb#W0"}, front_end.VS_CODE),
        ({}, front_end.HEADLESS),
    ],
)
def test_a_kernel_knows_by_its_cell(
    monkeypatch: pytest.MonkeyPatch, metadata: dict[str, Any], expected: front_end.FrontEnd
) -> None:
    import IPython

    shell = SimpleNamespace(kernel=kernel_with(metadata))
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    assert front_end.front_end() is expected


def test_plain_python_has_none_and_loads_nothing() -> None:
    code = (
        "import sys; from protonlab.front_end import front_end; print(front_end().name, "
        "'IPython' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "no notebook False\n"


def test_ipython_in_a_terminal() -> None:
    code = "from protonlab.front_end import front_end; print(front_end().name)"
    command = [sys.executable, "-m", "IPython", "--quick", "--colors=NoColor", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "IPython in a terminal"
