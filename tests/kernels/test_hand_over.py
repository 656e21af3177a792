"""The end of `warp_specialize` is known in machine code, and nothing that only resembles it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

SASS = """
        /*0480*/                   STS [UR4+0x30], R0 ;
        /*0490*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*04a0*/                   EXIT ;
.L_x_7:
        /*0530*/                   BAR.SYNC.DEFER_BLOCKING 0x1 ;
        /*0540*/                   LEA R7, R3, R0, 0x18 ;
        /*0550*/                   LDS.U8 R2, [R7+UR12+0x2c] ;
        /*0560*/                   VIADD R0, R2, 0xffffffff ;
"""


@pytest.fixture
def hand_overs(benchmark_module: Callable[[str], ModuleType]) -> Callable[[str], list[object]]:
    return benchmark_module("hand_over").hand_overs  # type: ignore[no-any-return]


def test_store_barrier_load(hand_overs: Callable[[str], list[object]]) -> None:
    assert hand_overs(SASS) == [("0x480", "0x550")]
    assert hand_overs(SASS.replace("+0x2c]", "+0x28]")) == [("0x480", "0x550")]  # of eight warps


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        ("0490*/                   BAR.SYNC.DEFER_BLOCKING 0x1", "0490*/    NOP"),
        ("0490*/                   BAR", "0490*/              @P1 BAR"),
        ("0530*/                   BAR.SYNC.DEFER_BLOCKING 0x1", "0530*/    NOP"),
        ("0530*/                   BAR", "0530*/              @P1 BAR"),
        ("BAR.SYNC.DEFER_BLOCKING 0x1 ", "BAR.SYNC.DEFER_BLOCKING 0x1, 0x80 "),
        ("BAR.SYNC.DEFER_BLOCKING 0x1 ", "BAR.SYNC.DEFER_BLOCKING 0x2 "),
        ("EXIT", "BRA `(.L_x_7)"),
        ("        /*0540*/", ".L_x_8:\n        /*0540*/"),
        ("LEA R7, R3, R0, 0x18", "@P1 BRA `(.L_x_7)"),
        ("+0x2c]", "+0x30]"),
    ],
)
def test_what_resembles_it(
    hand_overs: Callable[[str], list[object]], there: str, instead: str
) -> None:
    assert there in SASS
    assert hand_overs(SASS.replace(there, instead)) == []
