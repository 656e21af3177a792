"""Metrics that no table can hold, in cells: they are named, and the rest is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protonlab import MetricError
from protonlab.capture import _proton

if TYPE_CHECKING:
    from conftest import Notebook

TOLD = """
answer = {}

@triton.jit(launch_metadata=lambda grid, kernel, arguments: answer)
def told(x, n, BLOCK: tl.constexpr):
    tl.store(x, tl.load(x) + 1)

def tell():
    told[(1,)](x, 16, BLOCK=16)
"""


@pytest.mark.skipif(not _proton.require().records_vectors, reason="Triton before 3.7 has none")
def test_a_vector_of_a_million_values(notebook: Notebook) -> None:
    notebook.run(TOLD)
    ran = notebook.run("%%proton metrics=v\nanswer['v'] = list(range(1_000_000)); tell()")
    assert "'v' has no value here: v is a vector" in ran.out
    assert "Traceback" not in ran.out + ran.err
    assert "told" in ran.out
    assert "time (" in ran.out


def test_a_thousand_metrics(notebook: Notebook) -> None:
    notebook.run(TOLD)
    ran = notebook.run("%%proton run1\nanswer.update({f'm{i}': i for i in range(1_000)}); tell()")
    assert "Warning" not in ran.out + ran.err  # pandas warned of each column
    assert "m10/s" in ran.out
    assert "m999" not in ran.out
    assert "More was recorded than is shown" in ran.out
    assert notebook["run1"].kernels["m999"].tolist() == [999]
    with pytest.raises(MetricError) as caught:
        notebook["run1"].metric("nix")
    assert " more. Use time/us" in str(caught.value)
    assert len(str(caught.value)) < 1000
