"""The page about the matmul says what was measured: its tables are those that the JSON gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def tables(benchmark_module: Callable[[str], ModuleType]) -> ModuleType:
    return benchmark_module("matmul_tables")


def test_the_page_has_every_table_as_measured(tables: ModuleType) -> None:
    page = tables.PAGE.read_text()
    for name in tables.TABLES:
        assert f"<!-- table: {name} -->" in page
    assert tables.filled(page) == page, "python tests/benchmarks/matmul_tables.py --write"


def test_a_number_that_was_not_measured_is_replaced(tables: ModuleType) -> None:
    page = "a\n<!-- table: dense -->\n\n| 1.00 |\n\n<!-- end -->\nb"
    start, end = "a\n<!-- table: dense -->\n\n| N x K |", "\n\n<!-- end -->\nb"
    filled = tables.filled(page)
    assert filled.startswith(start)
    assert filled.endswith(end)


def test_readme_rounds_what_was_measured(tables: ModuleType, project: Path) -> None:
    rows = tables.load("hopper_matmul_h200_triton_3.9")["rows"]
    ours = tables.best(rows, "4 tokens", "ours, gluon")
    upstream = tables.best(rows, "4 tokens", "upstream")
    ratio = upstream["sustained_us"] / ours["sustained_us"]
    text = " ".join((project / "README.md").read_text().split())
    assert f"reaches {ours['gbytes_per_s'] / 1e3:.1f} TB/s at 4 tokens an expert" in text
    assert f"{ratio:.2f} times upstream's `triton_kernels`" in text
