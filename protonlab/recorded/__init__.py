"""Small real profiles that ship with protonlab, so that every view opens without a GPU."""

from __future__ import annotations

from importlib.resources import files

from protonlab.formats import read_profile
from protonlab.model import Profile, ProfileInfo

__all__ = ["moe_sweep"]


def moe_sweep() -> Profile:
    """Mixture-of-experts MLP, bf16 x mxfp4 weights, swept over tokens per expert.

    32 experts, 1, 4, 16 and 64 tokens for each, ten launches of either matmul at each size;
    ``bytes`` and ``flops16`` come from the kernels' launch metadata.

    Returns
    -------
    Profile
        One scope ``tokens_per_expert=…`` for each size, two matmul kernels in each.
    """
    data = files(__name__).joinpath("moe_sweep_3.9.0.hatchet").read_bytes()
    return read_profile(
        data,
        info=ProfileInfo(
            name="moe_sweep",
            backend="cupti",
            context="shadow",
            gpu="NVIDIA H200",
            versions={"triton": "3.9.0", "torch": "2.11.0", "driver": "580.159"},
            when="2026-11-29",
            tuning=(),
            notes=(
                "Recorded on one NVIDIA H200 on 2026-11-29 with Triton 3.9.0, torch 2.11.0 and "
                "driver 580.159; not measured on this machine.",
            ),
        ),
    )
