"""What compute-sanitizer writes is counted by kind, kernel, place and case, and by whose it is."""

from __future__ import annotations

from collections.abc import Callable
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
case third: nan
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
def report(benchmark_module: Callable[[str], ModuleType]) -> ModuleType:
    return benchmark_module("sanitizer_report")


def test_findings_are_counted(report: ModuleType) -> None:
    found = report.read(TEXT.format(summary="========= ERROR SUMMARY: 5 errors"))
    assert found["cases"] == {"first": 1.6e-3, "second, of two": 2e-3, "third": None}
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


def test_only_what_is_known_to_be_tritons_is_not_open(report: ModuleType) -> None:
    """The hand-over by its places, the loader's failed call since a kernel of Triton's has it."""

    def whose(hand_overs: set[tuple[str, tuple[str, str]]], *others: str) -> dict[str, str]:
        text = TEXT.format(summary="========= ERROR SUMMARY: 5 errors")
        runs = [{"group": "ours", **report.read(text)}]
        runs += [{"group": group, **report.read(text)} for group in others]
        report.attribute(runs, hand_overs)
        return {finding["kind"].split(":")[0]: finding["of"] for finding in runs[0]["findings"]}

    everything_open = dict.fromkeys(("hazard", "API call", "race", "access"), "open")
    assert whose(set()) == everything_open
    assert whose({("ring", ("0x4a0", "0x580")), ("wheel", ("0x4a0", "0x570"))}) == everything_open
    handed = {"hazard": "hand-over", "race": "hand-over"}
    assert whose({("ring", ("0x4a0", "0x570"))}) == everything_open | handed
    assert whose(set(), "bystanders") == everything_open | {"API call": "loader"}
