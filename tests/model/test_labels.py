import pytest

from protonlab.model.labels import label_of
from protonlab.model.units import format_quantity


@pytest.mark.parametrize(
    ("name", "label"),
    [
        (
            "_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_11FillFunctorIlEESt5arrayIPcLm1EEEEviT0_T1_",
            "vectorized_elementwise_kernel<FillFunctor<long>>",
        ),
        (
            "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE2_clEvEUllE_St5arrayIPcLm2EELi4E23TrivialOffsetCalculatorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_T4_T5_",
            "unrolled_elementwise_kernel<direct_copy_kernel_cuda>",
        ),
        (
            "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4ELi4EEEEEvT1_",
            "reduce_kernel<MeanOps<float>>",
        ),
        (
            "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIlZNS0_11sum_functorIlllEclERNS_14TensorIteratorEEUlllE_EEjlLi4ELi4EEEEEvT1_",
            "reduce_kernel<sum_functor<long>>",
        ),
        (
            "_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE",
            "Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>",
        ),
        (
            "_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb",
            "vectorized_gather_kernel<long>",
        ),
        (
            "_ZN5cudnn6fusion20convert_dq_to_16bitsILb1EEEvPKvPvjjjjjjjjjjPKfS6_S6_PfS3_S4_S4_bb",
            "convert_dq_to_16bits",
        ),
        ("_Znot_mangled", "_Znot_mangled"),
        ("_matmul [E_32(M) = 1, N = 2944] stg4", "_matmul [E_32(M) = 1, N = 2944] stg4"),
        ("nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT"),
        ("__proton_launch_metadata", "launch metadata"),
        ("__proton_launch_metadata:add_kernel", "launch metadata of add_kernel"),
        ("/a/b/model.py:31@forward", "model.py:31 in forward"),
        ("/a/b/model.py:31@<module>", "model.py:31"),
        ("/tmp/ipykernel_1/22.py:3@<module>", "In [5] line 3"),
        ("/tmp/ipykernel_1/22.py:7@step", "In [5] line 7 in step"),
        ("<b>bold</b>", "<b>bold</b>"),  # views escape; the model does not
        ("", ""),
    ],
)
def test_labels(name: str, label: str) -> None:
    assert label_of(name, {"/tmp/ipykernel_1/22.py": 5}) == label


def test_a_label_is_never_long() -> None:
    assert len(label_of("_Z1" + "x" * 9)) <= 80
    name = f"_ZN2at6native{len('k' * 300)}{'k' * 300}Ev"
    assert len(label_of(name)) == 80


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.000123456, "s", "123 µs"),
        (9.9996e-7, "s", "1.00 µs"),
        (999.9, "s", "1.00 ks"),
        (1.5e-12, "s", "0.00150 ns"),
        (2.65e12, "B/s", "2.65 TB/s"),
        (0, "s", "0 s"),
        (float("nan"), "s", "–"),
        (12.345, "%", "12.3 %"),
        (100.0, "%", "100 %"),
        (16384, "n_tokens/s", "16.4k n_tokens/s"),
        (8, "", "8.00"),
        (-5e-6, "s", "-5.00 µs"),
        (0.004, "B/s", "0.00400 B/s"),
        (1e30, "B/s", "1000000000000 EB/s"),
    ],
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert format_quantity(value, unit) == text
