"""float8 as bit patterns, against torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from protonlab.capture import _float_codec as codec
from protonlab.errors import ProtonLabError

FP8 = {"fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2}


@pytest.mark.parametrize("name", FP8)
def test_float8_decodes_as_torch_does(name: str) -> None:
    patterns = torch.arange(256, dtype=torch.int16).to(torch.uint8)
    wanted = patterns.view(FP8[name]).float()
    found = torch.from_numpy(codec.decode(patterns.numpy(), name).copy())
    torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", FP8)
def test_float8_rounds_as_torch_does_and_saturates(name: str) -> None:
    largest = torch.finfo(FP8[name]).max
    x = torch.linspace(-1.02 * largest, 1.02 * largest, 4001)
    x = torch.cat([x, x / 1000, x / 1e5, torch.tensor([0.0, -0.0])])
    wanted = x.clamp(-largest, largest).to(FP8[name]).view(torch.uint8)
    assert codec.encode(x.numpy(), name).tolist() == wanted.tolist()
    special = codec.encode(np.array([np.inf, -np.inf, np.nan], dtype=np.float32), name)
    decoded = codec.decode(special, name).tolist()
    assert decoded[:2] == [largest, -largest]
    assert math.isnan(decoded[2])


@pytest.mark.parametrize("name", ["fp8e4b15", "fp8e4b8", "fp8e5b16"])
def test_float8_of_other_hardware_is_refused(name: str) -> None:
    with pytest.raises(ProtonLabError, match=name):
        codec.decode(np.zeros(1, dtype=np.uint8), name)
