"""Small real profiles that ship with protonlab, so that every view opens without a GPU."""

from __future__ import annotations

import gzip
from importlib.resources import files
from typing import Any

from protonlab.errors import ProtonLabError
from protonlab.formats import load, read_profile, read_trace
from protonlab.model import Profile, ProfileInfo, Run, Trace
from protonlab.model.epilogue_sweep import EpilogueSweep
from protonlab.model.manifest import RankManifest, manifest_name

__all__ = [
    "ddp_two_gpus",
    "epilogue_sweep",
    "flatten_sweep",
    "gpt_compiled",
    "gpt_eager",
    "gpt_trace",
    "gpt_train",
    "graph_exclude",
    "moe_sweep",
]

_WHERE = (
    "Recorded on {} NVIDIA H200 on {} with Triton 3.9.0, torch 2.11.0 and driver 580.159; "
    "not measured on this machine."
)


def ddp_two_gpus() -> Run:
    """Data-parallel training on two H200s, one of which is slowed on purpose.

    torchrun, DistributedDataParallel, NCCL over NVLink; rank 1 makes its data with three times the
    matmuls. Twelve steps, which ``protonlab run --steps 12:24`` recorded twice: as profiles, and
    with ``--data trace``. Rank 1 comes last to every collective, and is waited for.

    Returns
    -------
    Run
        Scopes ``train_step`` > ``data``, ``forward``, ``backward``, ``optimizer``; profile, trace
        and manifest of either rank.
    """
    folder = files(__name__).joinpath("ddp_run")

    def part(name: str) -> bytes:
        return folder.joinpath(name).read_bytes()

    ranks = (0, 1)
    return Run(
        "ddp_two_gpus",
        {rank: read_profile(part(f"tree/rank-{rank:05d}.hatchet")) for rank in ranks},
        {rank: RankManifest.parse(part(f"tree/{manifest_name(rank)}")) for rank in ranks},
        {
            rank: read_trace(gzip.decompress(part(f"trace/rank-{rank:05d}.chrome_trace.gz")))
            for rank in ranks
        },
        (_WHERE.format("two", "2026-11-30"),),
    )


def flatten_sweep() -> Profile:
    """Matmuls of `protonlab.kernels` with FLATTEN_LOOPS and without, swept over tokens per expert.

    64 experts, N = K = 5760, bf16 x mxfp4 weights, tokens spread at random, ten launches at each
    size: of the plain Triton kernel with either setting, two frames, in three pipeline stages; and
    of the Gluon engine, whose four launches, one for each row class, are one frame. They overlap,
    so its rate is at least what it says.

    Returns
    -------
    Profile
        One scope ``tokens_per_expert=…`` for each of 1, 2, 4, 8, 16, 32, 64 and 128.
    """
    return _read("flatten_sweep", when="2026-11-30", include="matmul_kernel|gluon_kernel")


def epilogue_sweep() -> EpilogueSweep:
    """Epilogue overlap on against off, 1 to 512 tokens per expert, measured in pairs on an H200.

    128 experts, N = 5760, K = 5760 and 256, our plain Triton kernel and upstream's persistent one.
    ``protonlab sweep`` wrote it; its ``info`` and ``protocol`` say where, when and how.

    Raises
    ------
    ProtonLabError
        If this copy of protonlab was made without it.
    """
    path = files(__name__).joinpath("epilogue_sweep_3.9.0.json.gz")
    if not path.is_file():
        raise ProtonLabError(
            "this copy of protonlab holds no recorded sweep of epilogue overlap; `protonlab sweep` "
            "measures one on a Hopper GPU, and protonlab.load() reads it"
        )
    sweep = load(path.read_bytes())
    assert isinstance(sweep, EpilogueSweep)
    return sweep


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


def gpt_train() -> Profile:
    """Training of a GPT of eight layers, eager, bf16: four steps of 4,096 tokens.

    Returns
    -------
    Profile
        Scopes ``train_step`` (with the metric ``n_tokens``) > ``forward`` (a scope for each layer
        and ``lm_head``), ``backward``, ``optimizer``.
    """
    return _read("gpt_train")


def gpt_eager() -> Profile:
    """Two steps of a smaller GPT, four layers, without an optimizer, recorded with its Python code.

    Returns
    -------
    Profile
        Python frames around the kernels of the forward pass; autograd's have none.
    """
    return _read("gpt_python_context", name="gpt_eager", context="python")


def gpt_compiled() -> Profile:
    """Three steps of the same GPT under ``torch.compile``, which tuned its kernels meanwhile.

    What the tuner tried is counted as work, as it is in every file that Proton wrote itself.

    Returns
    -------
    Profile
        A scope ``step``, in it one for each layer and ``lm_head``.
    """
    return _read("gpt_compiled", tuned=True)


def gpt_trace() -> Trace:
    """Three steps of the same GPT, eager, on a time axis, the first of them after its start.

    Returns
    -------
    Trace
        A CPU thread with the scopes, and the GPU's stream.
    """
    data = _data("gpt_trace_3.9.0.chrome_trace.gz")
    return read_trace(gzip.decompress(data), info=_info("gpt_trace"))


def _data(file: str) -> bytes:
    return files(__name__).joinpath(file).read_bytes()


def _read(file: str, *, name: str = "", **info: Any) -> Profile:
    return read_profile(_data(f"{file}_3.9.0.hatchet"), info=_info(name or file, **info))


def _info(
    name: str,
    *,
    context: str = "shadow",
    include: str | None = None,
    exclude: str | None = None,
    tuned: bool = False,
    when: str = "2026-11-29",
) -> ProfileInfo:
    return ProfileInfo(
        name=name,
        backend="cupti",
        context=context,
        gpu="NVIDIA H200",
        versions={"triton": "3.9.0", "torch": "2.11.0", "driver": "580.159"},
        when=when,
        include=include,
        exclude=exclude,
        tuning=None if tuned else (),
        notes=(_WHERE.format("one", when),),
    )
