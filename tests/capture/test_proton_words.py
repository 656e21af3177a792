"""Proton's words on a session: what is passed on, and what is refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from triton import knobs
from triton.profiler import mode as proton_mode

from protonlab import CaptureError, ProtonLabError, Session
from protonlab.capture import _privileges
from protonlab.capture._failures import explain, explain_modes
from protonlab.capture.modes import MODES, Mode
from protonlab.capture.proton_words import CheckedWords

interpreted = pytest.mark.skipif(not knobs.runtime.interpret, reason="needs the interpreter")


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check words as on a machine with a GPU; nothing starts."""
    monkeypatch.setattr("protonlab.capture.proton_words.interpreting", lambda: False)


def test_modes_are_those_that_proton_describes() -> None:
    described = proton_mode.PCSampling(), proton_mode.Default(), proton_mode.MMA()
    assert {each.name for each in described} <= set(MODES)
    legal = MODES["default"][1]
    knobs_of = {name for name in vars(proton_mode.Default()) if name != "name"}
    assert knobs_of == set(legal)
    tables = {
        "metric_type": proton_mode.metric_types,
        "sampling_strategy": proton_mode.sampling_strategies,
        "granularity": proton_mode.granularities,
        "buffer_strategy": proton_mode.buffer_strategies,
        "buffer_type": proton_mode.buffer_types,
    }
    for knob, table in tables.items():
        assert legal[knob] == tuple(table)


def test_objects_of_protons_are_taken() -> None:
    sampling = proton_mode.PCSampling(interval=500)
    assert Mode.read(sampling) == Mode("pcsampling", {"interval": "500"})
    given = proton_mode.MMA(buffer_size=256)
    assert Mode.read(given).given is given
    assert Mode.read(given).name == "mma"


@pytest.mark.usefixtures("on_gpu")
@pytest.mark.parametrize(
    ("words", "passed"),
    [
        ({}, CheckedWords()),
        ({"backend": None, "mode": None}, CheckedWords()),
        ({"data": "trace", "context": "python"}, CheckedWords("python", "trace")),
        ({"backend": "cupti", "mode": "pcsampling"}, CheckedWords(
            backend="cupti", mode=Mode("pcsampling"))),
        ({"backend": "instrumentation", "mode": "mma"}, CheckedWords(
            backend="instrumentation", mode=Mode("mma"))),
        # Proton would write trees: its default format asks for nothing else.
        ({"data": "trace", "mode": "periodic_flushing"}, CheckedWords(
            data="trace", mode=Mode("periodic_flushing", {"format": "chrome_trace"}))),
    ],
)  # fmt: skip
def test_legal_together(words: dict[str, Any], passed: CheckedWords) -> None:
    assert Session(**words).words == passed


@pytest.mark.usefixtures("on_gpu")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"mode": "pcsampling", "backend": "instrumentation"},
            "mode=pcsampling belongs to backend=cupti or rocprofiler; backend=instrumentation has "
            "mode=default and mode=mma",
        ),
        (
            {"mode": "pcsampling", "backend": "roctracer"},
            "mode=pcsampling belongs to backend=cupti or rocprofiler; backend=roctracer has "
            "mode=periodic_flushing",
        ),
        ({"mode": "mma"}, "mode=mma belongs to backend=instrumentation; say so as well"),
        (
            {"mode": "pcsampling", "data": "trace"},
            "mode=pcsampling counts samples, which have no place on a time axis; use data=tree",
        ),
        (
            {"mode": "periodic_flushing:format=chrome_trace"},
            "mode=periodic_flushing:format=chrome_trace is no format of data=tree; leave format= "
            "out",
        ),
        ({"data": "list"}, "data='list'; use tree or trace"),
        ({"dta": "tree"}, "dta is no word of a session; it has name, include, exclude, record,"),
        ({"view": "flame"}, "view is no word of a session; it has name, include, exclude, record,"),
    ],
)
def test_refused_before_anything_starts(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ProtonLabError) as caught:
        Session(**words)
    assert str(caught.value).startswith(message)


@interpreted
@pytest.mark.parametrize(
    "words", [{"data": "trace"}, {"backend": "cupti"}, {"mode": "pcsampling", "backend": "cupti"}]
)
def test_interpreter_has_a_tree_only(words: dict[str, Any]) -> None:
    asked = " and ".join(f"{name}={words[name]}" for name in ("data", "backend", "mode")
                         if name in words)  # fmt: skip
    with pytest.raises(ProtonLabError) as caught:
        Session(**words)
    assert str(caught.value) == (
        f"{asked} needs a GPU: kernels run on Triton's interpreter here, of which Proton keeps a "
        "tree only; leave the option out"
    )


def test_profile_and_trace_say_where_the_other_is() -> None:
    with Session("t") as session:
        pass
    assert session.result is session.profile
    with pytest.raises(
        CaptureError,
        match=r"session 't' has no trace: it records data=tree, so there is session\.profile",
    ):
        session.trace  # noqa: B018


def test_other_mode_names_the_other_session() -> None:
    assert explain_modes(Mode("pcsampling"), ["session 'first' (no mode)"]) == (
        "Proton measures in one mode at a time: this session asks for mode=pcsampling, and session "
        "'first' (no mode) is still open; stop that one first, or give both the same mode"
    )
    assert "a session that your own code started is still open" in explain_modes(None, [])


def test_no_permission_for_pc_sampling_is_explained() -> None:
    for call in ("Enable", "GetNumStallReasons", "SetConfigurationAttribute"):
        error = RuntimeError(f"[PROTON] Failed to execute cuptiPCSampling{call} with error 35")
        assert explain(error).startswith("CUPTI gave no permission for PC sampling (error 35); set")


@pytest.mark.parametrize(
    ("parameters", "capabilities", "refused"),
    [
        ("RmProfilingAdminOnly: 1", "0000000000000000", True),
        ("RmProfilingAdminOnly: 1", "0000000000200000", False),  # CAP_SYS_ADMIN, bit 21
        ("RmProfilingAdminOnly: 0", "0000000000000000", False),
        ("Other: 1", "0000000000000000", False),
        (None, "0000000000000000", False),
    ],
)
def test_driver_that_keeps_counters_to_administrators(
    parameters: str | None, capabilities: str, refused: bool, tmp_path: Path
) -> None:
    params, status = tmp_path / "params", tmp_path / "status"
    if parameters:
        params.write_text(f"ResmanDebugLevel: 4294967295\n{parameters}\n")
    status.write_text(f"Name:\tpython\nCapEff:\t{capabilities}\n")
    reason = _privileges.why_no_sampling(params, status)
    assert bool(reason) is refused
    if refused:
        assert "NVreg_RestrictProfilingToAdminUsers=0" in reason
        assert "\n" not in reason
