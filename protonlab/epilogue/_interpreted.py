"""Both settings of the switch on Triton's interpreter: whether they compute the same, and right.

Times there mean nothing, so none are taken. It runs in a process of its own, because Triton reads
TRITON_INTERPRET once, while it is imported.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from protonlab.errors import ProtonLabError

_CODE = """
import json
from protonlab.capture import enable_interpreter
enable_interpreter()  # with its arithmetic corrected
import torch
from protonlab.kernels import MXFP4Weight, Routing, dequantize, matmul, pack, quantize_mxfp4
torch.manual_seed(0)
w = quantize_mxfp4(torch.randn(4, 256, 256))
sizes = [3, 0, 9, 1]
x = torch.randn(sum(sizes), 256).to(torch.bfloat16)
parts = [
    rows.double() @ dequantize(MXFP4Weight(codes, scales), torch.float64).T
    for rows, codes, scales in zip(x.split(sizes), w.codes, w.scales)
]
wanted = torch.cat(parts)
ys = [
    matmul(x, pack(w), routing=Routing(sizes), overlap_epilogue=on, engine="triton")
    for on in (True, False)
]
off = [float((y.double() - wanted).norm() / wanted.norm()) for y in ys]
print(json.dumps({"on": off[0], "off": off[1], "same": torch.equal(*ys)}))
"""


async def interpreted_check() -> str:
    """Compute a small matmul with either setting on the interpreter, and say how right it is.

    Errors are relative, in the Frobenius norm, against float64; rounding to bfloat16 alone gives
    about 2e-3.

    Raises
    ------
    ProtonLabError
        If that process fails; the message holds its last line.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _CODE),
        env={**os.environ, "TRITON_INTERPRET": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, problem = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        last = (problem.decode(errors="replace").strip().splitlines() or ["no reason given"])[-1]
        raise ProtonLabError(f"the interpreter's process failed: {last}")
    found = json.loads(out.decode().splitlines()[-1])
    same = "give the same bits" if found["same"] else "differ in some bits"
    return (
        f"On Triton's interpreter, 4 experts, N = K = 256: on and off {same}; their error against "
        f"float64 is {found['on']:.1e} and {found['off']:.1e}. Times there mean nothing, so none "
        "are shown."
    )
