"""The rule on kernel names, on every kernel that was recorded."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from protonlab.formats import load
from protonlab.model import Profile
from protonlab.views import theme
from protonlab.views.libraries import library_of

TESTS = Path(__file__).parents[1]


def recorded_kernels() -> dict[str, set[str]]:
    """Library -> recorded names, over all recorded profiles."""
    found = defaultdict(set)
    for path in sorted(TESTS.glob("profiles/*.hatchet")):
        profile = load(path)
        assert isinstance(profile, Profile)
        for name, hook in zip(profile.kernels["name"], profile.kernels["hook"], strict=True):
            found[library_of(str(name), hook)].add(str(name))
    return found


def test_every_recorded_kernel() -> None:
    found = recorded_kernels()
    assert set(found) == {"triton", "cublas", "cudnn", "aten", "nccl"}
    begins = {library: {name[:9] for name in names} for library, names in found.items()}
    assert begins["nccl"] == {"_Z40ncclD"}
    assert begins["cudnn"] == {"_ZN5cudnn", "cudnn_gen"}
    assert begins["cublas"] == {"nvjet_sm9", "_ZN8cubla", "_ZN7cutla"}
    assert begins["aten"] == {"_ZN2at6na", "_ZN14at_c", "_ZN50_GLO"}
    assert not any(name.startswith("_Z") for name in found["triton"])


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn", "cublas"),
        ("void gemv2T_kernel_val<int, int, float>(…)", "cublas"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", "cudnn"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor>(…)", "aten"),
        ("_ZN13pytorch_flash16flash_fwd_kernelI", "aten"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float", "nccl"),
        ("triton_poi_fused_add_0", "triton"),
        ("flash_attn_fwd [heads=8]", "triton"),
        ("my_gemm_kernel", "triton"),
        ("_ZN5flash16flash_fwd_kernelI", "foreign"),
        ("void cub::DeviceScanKernel<int>(…)", "foreign"),
        ("Memcpy HtoD (Pageable -> Device)", "foreign"),
        ("_Z9my_kernelPf", "user"),
        ("void my_kernel<float>(float*)", "user"),
    ],
)
def test_names(name: str, library: str) -> None:
    assert library_of(name) == library
    assert library in theme.LIBRARIES


def test_a_hook_saw_every_launch_by_triton() -> None:
    assert library_of("nvjet_like", "kept") == "triton"
    assert library_of("nvjet_like", "filtered") == "triton"
    assert library_of("plain_kernel", "unseen") == "user"
