"""The backend without a GPU launches kernels as the compiled path does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from sample_kernels import BLOCK, add, add_kernel, answers, plain_kernel, told, told_kernel
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpretedFunction, InterpreterError

import protonlab
from protonlab import ProtonLabError, Session

pytestmark = pytest.mark.skipif(
    not triton.knobs.runtime.interpret, reason="kernels are compiled: this tests the interpreter"
)


def test_metadata_function_gets_what_the_compiled_path_gives() -> None:
    x = torch.zeros(BLOCK)
    answers.queue[:], answers.calls[:] = [], []
    with Session():
        told_kernel[lambda meta: (meta["n"] // meta["SIZE"], 1)](x, n=BLOCK, num_warps=8)
    ((grid, metadata, args),) = answers.calls
    assert grid == (1, 1)
    assert (metadata.name, metadata.num_warps, metadata.num_stages) == ("told_kernel", 8, 3)
    assert list(args) == ["x_ptr", "n", "SIZE"]
    assert args["x_ptr"] is x
    assert (args["n"], args["SIZE"]) == (BLOCK, 64)


def test_kernels_run_on_a_device_called_cpu() -> None:
    with Session() as session:
        told({"n": 1})
    kernel = session.profile.frames.iloc[-1]
    assert (kernel["device_type"], kernel["device_id"]) == ("CPU", 0)
    assert str(session.profile.devices[0]) == "interpreter, CPU"
    assert session.profile.info.gpu == ""
    assert protonlab.device() == "cpu"


def test_tritons_launch_is_put_back() -> None:
    original = InterpretedFunction.run
    first, second = Session().start(), Session().start()
    assert InterpretedFunction.run is not original
    first.stop()
    assert InterpretedFunction.run is not original
    second.stop()
    assert InterpretedFunction.run is original


@pytest.mark.parametrize("session", [True, False])
def test_wrong_arguments_fail_as_without_a_session(session: bool) -> None:
    with Session() if session else pytest.MonkeyPatch.context(), pytest.raises(TypeError):
        add_kernel[(1,)](torch.zeros(1))


class Interrupted:
    """A shape in whose reading the user interrupts: Triton's own is read through Python, too."""

    def __len__(self) -> int:
        raise KeyboardInterrupt

    def __getitem__(self, at: int) -> int:
        raise KeyboardInterrupt


def test_interrupt_stays_one_while_numpy_reads_a_shape() -> None:
    value = interpreter.TensorHandle(np.ones(1, np.float32), tl.float32)
    with pytest.raises(KeyboardInterrupt):
        interpreter.interpreter_builder.create_splat(SimpleNamespace(shape=Interrupted()), value)


@triton.jit
def failing_kernel(x_ptr):  # noqa: ANN001, ANN201
    tl.static_assert(False, "on purpose")


def test_kernel_that_fails_is_not_counted() -> None:
    with Session() as session:
        with pytest.raises(InterpreterError, match="on purpose"):
            failing_kernel[(1,)](torch.zeros(1))
        told({"n": 1})
    assert session.profile.kernels["name"].tolist() == ["told_kernel"]


@triton.jit
def float8_kernel(x_ptr):  # noqa: ANN001, ANN201
    tl.store(x_ptr, tl.load(x_ptr) + tl.load(x_ptr))


def test_refused_launch_raises_protonlabs_own_error() -> None:
    with Session(), pytest.raises(ProtonLabError, match="no fadd for fp8e5"):
        float8_kernel[(1,)](torch.ones(1).to(torch.float8_e5m2))


@triton.autotune(
    configs=[triton.Config({"SIZE": 16}, num_warps=2), triton.Config({"SIZE": 32})], key=["n"]
)
@triton.jit(launch_metadata=lambda grid, metadata, args: {"size": args["SIZE"]})
def tuned_kernel(x_ptr, n, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


def test_autotuned_kernel_takes_its_first_configuration_and_says_so_once() -> None:
    x = torch.zeros(64)

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(64, meta["SIZE"]),)

    with Session() as session:
        with pytest.warns(UserWarning, match="autotuned") as caught:
            tuned_kernel[grid](x, 64)
        tuned_kernel[grid](x, 64)
    (warning,) = caught
    assert "tuned_kernel is autotuned over 2 configurations" in str(warning.message)
    assert "takes the first, SIZE: 16" in str(warning.message)
    assert session.profile.info.notes == (str(warning.message),)
    assert x.tolist() == [2.0] * 64
    (kernel,) = session.profile.kernels.to_dict("records")
    assert (kernel["name"], kernel["count"], kernel["size"]) == ("tuned_kernel", 2, 32)
    assert len(tuned_kernel.configs) == 2


def represent(specialization: Any) -> str:
    size = specialization.constants["SIZE"]
    return f"copy_{specialization.signature['x_ptr'].lstrip('*')}_{size}"


@triton.jit(repr=represent)
def copy_kernel(x_ptr, out_ptr, SIZE: tl.constexpr):  # noqa: ANN001, ANN201
    offs = tl.arange(0, SIZE)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


def test_repr_gives_the_compiled_name() -> None:
    x = torch.ones(16)
    with Session(include="copy_fp32") as session:
        copy_kernel[(1,)](x, x, SIZE=16)
    assert session.profile.info.launches == {"copy_fp32_16": (1, 1)}


def test_launch_from_a_pre_run_hook() -> None:
    def before(*args: Any, **kwargs: Any) -> None:
        add_kernel[(1,)](torch.zeros(4), torch.zeros(4), torch.zeros(4), 4, SIZE=4)

    told_kernel.add_pre_run_hook(before)
    try:
        with Session() as session:
            told({"n": 1}, {"n": 1})
    finally:
        told_kernel.pre_run_hooks.remove(before)
    assert session.problem is None
    assert session.profile.info.launches == {"told_kernel": (2, 2), "add_kernel": (2, 2)}


def python(code: str, **environment: str) -> list[str]:
    inherited = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=inherited | {"PYTHONPATH": str(Path(__file__).parents[2])} | environment,
    )
    return result.stdout.splitlines()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_enable_interpreter_before_triton() -> None:
    message, switch, device = python(
        "from protonlab import capture; print(capture.enable_interpreter());"
        "import os; print(os.environ['TRITON_INTERPRET']); print(capture.device())"
    )
    assert message.startswith("no GPU driver: Triton kernels run in its interpreter on the CPU")
    assert (switch, device) == ("1", "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_enable_interpreter_after_triton() -> None:
    message, switch, problem = python(
        "import triton; from protonlab import capture; print(capture.enable_interpreter());"
        "import os; print(os.environ.get('TRITON_INTERPRET'))\n"
        "with capture.Session() as session: pass\n"
        "print(session.problem)"
    )
    assert message.endswith("restart the kernel, load protonlab first")
    assert switch == "None"
    assert "restart the kernel and load protonlab first" in problem


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_interpreter_switched_on_too_late() -> None:
    problem, ran = python(
        "import triton, os; os.environ['TRITON_INTERPRET'] = '1'\n"
        "from protonlab.capture import Session\n"
        "with Session() as session: pass\n"
        "print(session.problem); print('the body ran')"
    )
    assert problem.startswith("Triton was imported before its interpreter was switched on")
    assert ran == "the body ran"


def test_interpreter_that_the_user_switched_on() -> None:
    (message,) = python(
        "import os, sys; from types import SimpleNamespace as N\n"
        "sys.modules['torch'] = N(cuda=N(is_available=lambda: True))\n"
        "from protonlab.capture import _platform\n"
        "print(_platform.enable_interpreter())",
        TRITON_INTERPRET="1",
    )
    assert message.startswith("TRITON_INTERPRET is set: Triton kernels run in its interpreter")


def test_importing_the_package_loads_no_triton() -> None:
    code = (
        "import sys, protonlab.capture as c; c.OPTIONS; c.device(); dir(c);"
        "print('triton' in sys.modules)"
    )
    assert python(code) == ["False"]


def test_threads_do_not_disturb_each_other() -> None:
    """Triton's interpreter keeps its place in the grid for the whole process."""
    wrong = []

    def work() -> None:
        for _ in range(15):
            if add()[1] != 2:
                wrong.append(1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with Session() as session:
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert session.profile.info.launches == {"add_kernel": (45, 45)}
    assert session.profile.kernels["count"].tolist() == [45]
    assert session.profile.info.notes == ()


def test_a_missing_argument_is_the_users_error_alone() -> None:
    with Session(), pytest.raises(TypeError) as caught:
        plain_kernel[(1,)](torch.zeros(4))
    assert caught.value.__context__ is None
