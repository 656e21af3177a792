"""A trace read for a session: marked by its hook, without what another session's hook wrote.

The session and its hook are real; the trace is written by hand, since only a GPU records one.
"""

from __future__ import annotations

import json

from sample_kernels import add, plain

from protonlab import Session
from protonlab.capture import _reading
from protonlab.capture._part import Part


def launch(name: str, start: float, **metrics: str) -> dict[str, object]:
    return {
        "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 200007, "ts": start, "dur": 2.0,
        "args": {"call_stack": ["ROOT", name], "metrics": metrics},
    }  # fmt: skip


def written(*events: dict[str, object], base: int = 1_000) -> Part:
    document = {"baseTimeNanoseconds": base, "traceEvents": events}
    return Part(json.dumps(document).encode())


def test_launches_are_marked_and_foreign_metrics_dropped() -> None:
    with Session("mine", exclude="plain", record="bytes") as session:
        add()
        plain()
    trace = _reading.trace_of(
        [
            written(
                launch("add_kernel [n=128]", 0.0, bytes="1536", n_tokens="8"),
                launch("plain_kernel", 10.0, bytes="7"),
                launch("at::fill", 20.0, bytes="9"),
            )
        ],
        session._source(),
    )
    kernels = trace.kernels.set_index("name")
    assert kernels["hook"].to_dict() == {
        "add_kernel [n=128]": "kept", "plain_kernel": "filtered", "at::fill": "unseen",
    }  # fmt: skip
    assert trace.events["kernel"].astype(object).tolist()[:2] == ["add_kernel", "plain_kernel"]
    # n_tokens was not recorded by this session's hook, nor anything of a filtered kernel.
    assert trace.events["bytes"].isna().tolist() == [False, True, False]
    assert trace.events["n_tokens"].isna().all()
    assert trace.info.exclude == "plain"
    assert "(1 kept, 1 filtered, 1 unseen)" in trace.summary


def test_phases_are_one_trace_and_marked_alike() -> None:
    with Session("mine", include="add") as session:
        add()
    parts = [
        written(launch("add_kernel [n=128]", 0.0, bytes="1536"), base=1_000),
        written(launch("add_kernel [n=128]", 0.0, bytes="1536"), base=9_000),
        Part(b""),
    ]
    trace = _reading.trace_of(parts, session._source())
    assert trace.events["start_ns"].tolist() == [0, 8_000]
    assert trace.kernels["hook"].tolist() == ["kept"]
    assert trace.kernels["bytes"].tolist() == [3072]
