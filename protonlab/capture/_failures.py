"""Why Proton could not record, as one sentence with the next step."""

from __future__ import annotations

from collections.abc import Sequence

from protonlab.errors import ProtonLabError

FINALIZED = (
    "the session was finalized while it was being recorded; leave proton.finalize() out of the "
    "cell, or give it the id of your own session"
)


def explain_disabled(*, command_line: bool) -> str:
    """One sentence on why `start` was ignored."""
    if command_line:
        return (
            "this process runs under the proton command, which does the profiling; start it with "
            "plain python to record here"
        )
    return (
        "profiling is switched off by TRITON_PROTON_DISABLE; unset it, restart the kernel and run "
        "the cell again"
    )


def explain_modes(mode: object, beside: Sequence[str]) -> str:
    """One sentence on why a session cannot start beside others of another mode."""
    wanted = f"mode={mode}" if mode else "no mode"
    others = " and ".join(beside) or "a session that your own code started"
    return (
        f"Proton measures in one mode at a time: this session asks for {wanted}, and {others} is "
        "still open; stop that one first, or give both the same mode"
    )


# A piece of Proton's message -> what to do about it.
_CAUSES = (
    (
        "0 active drivers",
        "Triton found no GPU driver; to record on Triton's interpreter instead, restart the "
        "kernel and load protonlab first (%load_ext protonlab), or for a script set "
        "TRITON_INTERPRET=1",
    ),
    (
        "cuptiSubscribe with error 39",
        "another profiler holds CUPTI (torch.profiler ran in this process, or it runs under "
        "nsys or ncu); restart the kernel and record before using the other one",
    ),
    (
        "cuptiSubscribe with error 35",
        "CUPTI gave no permission (error 35); allow profiling for all users with the driver "
        "option NVreg_RestrictProfilingToAdminUsers=0, or run as administrator",
    ),
    *(
        (
            f"cuptiPCSampling{call} with error 35",
            "CUPTI gave no permission for PC sampling (error 35); set the driver option "
            "NVreg_RestrictProfilingToAdminUsers=0, run as administrator (in a container with "
            "--cap-add=SYS_ADMIN), or leave mode=pcsampling out",
        )
        for call in ("Enable", "GetNumStallReasons", "SetConfigurationAttribute", "Start")
    ),
    (
        "cuptiSubscribe with error 2",
        "CUPTI cannot be used on this platform (error 2: no permission or no support, as in some "
        "containers and virtual machines); allow profiling for the container "
        "(--cap-add=SYS_ADMIN) or use another machine",
    ),
    (
        "Cannot find CPU scope event for kernel launch event id",
        "another thread was inside of a scope of Proton's when the session stopped, and Proton "
        "writes no trace then; stop the session when the scopes of all threads have ended",
    ),
    ("Session has not been initialized", FINALIZED),
    *(
        (
            f"object has no attribute '{method}'",
            "something stands in the place of a chain of Triton's launch hooks, which Proton adds "
            "its own to; in place of knobs.runtime.launch_enter_hook = f, write "
            "knobs.runtime.launch_enter_hook.add(f)",
        )
        for method in ("add", "remove")
    ),
)


def explain(error: Exception) -> str:
    """One sentence about a failure of Proton's, with the next step."""
    if isinstance(error, ProtonLabError):
        return str(error)
    text = str(error)
    for piece, sentence in _CAUSES:
        position = text.find(piece)
        # "error 2" is not "error 24".
        if position >= 0 and not text[position + len(piece) :][:1].isdigit():
            return sentence
    reason = " ".join(text.split()) or type(error).__name__
    return f"Proton could not record: {reason}; protonlab needs Triton's Proton and a free CUPTI"
