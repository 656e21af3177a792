"""What compute-sanitizer writes is counted by kind, kernel, place and case."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TEXT = """========= COMPUTE-SANITIZER
case first: 1.6e-03
========= Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to "invalid argument" on CUDA API call to cuFuncSetAttribute.
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: loadBinary [0x4c33] in cuda_utils.so
=========
========= Error: Potential RAW hazard detected at __shared__ 0x430 in block (3,0,0) :
=========     Write Thread (63,0,0) at ring+0x4a0 in handover.py:43
=========     Read Thread (128,0,0) at ring+0x570 in handover.py:43
=========     Current Value : 3
=========
========= Error: Potential RAW hazard detected at __shared__ 0x433 in block (3,0,0) :
=========     Write Thread (31,0,0) at ring+0x4a0 in handover.py:43
=========     Read Thread (224,0,0) at ring+0x570 in handover.py:43
=========     Current Value : 3
=========
========= Error: Race reported between Write access at ring+0x4a0 in handover.py:43
=========     and Read access at ring+0x570 in handover.py:43 [2 hazards]
=========
case second, of two: 2.0e-03
========= Invalid __global__ read of size 4 bytes
=========     at matmul_kernel+0x1230 in _matmul_kernel.py:12
=========     by thread (0,0,0) in block (0,0,0)
=========
========= Something that nobody has seen
=========     with a line more
=========
{summary}
"""  # noqa: E501


@pytest.fixture
def report(project: Path) -> ModuleType:
    """The benchmark's own module; benchmarks are no package."""
    place = project / "tests" / "benchmarks" / "sanitizer_report.py"
    spec = importlib.util.spec_from_file_location("sanitizer_report", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "sanitizer_report", module)  # dataclasses look there
        spec.loader.exec_module(module)
    return module


def test_findings_are_counted(report: ModuleType) -> None:
    found = report.read(TEXT.format(summary="========= ERROR SUMMARY: 5 errors"))
    assert found["cases"] == {"first": 1.6e-3, "second, of two": 2e-3}
    assert found["summary"] == "5 errors"
    assert found["unknown"] == ["Something that nobody has seen"]
    hand_over = {"kernel": "ring", "places": ("0x4a0", "0x570"), "case": "second, of two"}
    assert found["findings"] == [
        {"kind": "hazard: RAW", **hand_over, "count": 2},
        {
            "kind": "API call: CUDA_ERROR_INVALID_VALUE",
            "kernel": "cuFuncSetAttribute",
            "places": (),
            "case": "second, of two",
            "count": 1,
        },
        {"kind": "race: Write", **hand_over, "count": 1},
        {
            "kind": "access: Invalid __global__ read",
            "kernel": "matmul_kernel",
            "places": ("0x1230",),
            "case": "",
            "count": 1,
        },
    ]


def test_a_check_that_did_not_end_has_no_summary(report: ModuleType) -> None:
    assert report.read(TEXT.format(summary=""))["summary"] is None
