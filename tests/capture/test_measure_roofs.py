"""What `measure_roofs` says where it cannot measure; test_gpu_roofs.py has the rest."""

from __future__ import annotations

import pytest
import torch

import protonlab
from protonlab import CaptureError


def test_without_a_gpu_the_way_on_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(CaptureError, match=r"needs a GPU.*roofline.. takes the data sheet's roofs"):
        protonlab.measure_roofs()


def test_interpreted_kernels_measure_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(CaptureError, match="TRITON_INTERPRET=1 has them interpreted on the CPU"):
        protonlab.measure_roofs()
