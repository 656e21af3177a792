"""Small real profiles that ship with protonlab, so that every view opens without a GPU."""

from __future__ import annotations

from importlib.resources import files

from protonlab.formats import read_profile
from protonlab.model import Profile, ProfileInfo

__all__ = ["graph_exclude", "moe_sweep"]

_WHERE = (
    "Recorded on one NVIDIA H200 on 2026-11-29 with Triton 3.9.0, torch 2.11.0 and driver 580.159; "
    "not measured on this machine."
)


def graph_exclude() -> Profile:
    """Three kernels in a CUDA graph, captured with ``exclude=attention.*``, replayed ten times.

    The metadata function of ``attention_kernel`` would read a GPU tensor on the host, which breaks
    a capture; excluded, it is never called.

    Returns
    -------
    Profile
        Scopes ``captured`` and ``replays``; the kernels below the path of their capture.
    """
    return _read("graph_exclude", exclude="attention.*").with_hook(
        {"add_kernel [n=16777216]": "add_kernel"},
        kept={"add_kernel", "plain_kernel"},
        filtered={"attention_kernel"},
    )


def moe_sweep() -> Profile:
    """Mixture-of-experts MLP, bf16 x mxfp4 weights, swept over tokens per expert.

    32 experts, 1, 4, 16 and 64 tokens for each, ten launches of either matmul at each size;
    ``bytes`` and ``flops16`` come from the kernels' launch metadata.

    Returns
    -------
    Profile
        One scope ``tokens_per_expert=…`` for each size, two matmul kernels in each.
    """
    return _read("moe_sweep")


def _read(name: str, *, exclude: str | None = None) -> Profile:
    info = ProfileInfo(
        name=name,
        backend="cupti",
        context="shadow",
        gpu="NVIDIA H200",
        versions={"triton": "3.9.0", "torch": "2.11.0", "driver": "580.159"},
        when="2026-11-29",
        exclude=exclude,
        tuning=(),
        notes=(_WHERE,),
    )
    return read_profile(files(__name__).joinpath(f"{name}_3.9.0.hatchet").read_bytes(), info=info)
