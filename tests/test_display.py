"""How a profile shows itself: its summary word for word, and where which view appears."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from variant_builders import comparison, noisy

from protonlab.display import _views as display
from protonlab.display import comparison_views, show, show_comparison, show_variants, summary
from protonlab.errors import MetricError
from protonlab.formats import load
from protonlab.front_end import HEADLESS
from protonlab.model import Comparison, Profile, ProfileInfo, compare
from protonlab.model.tuning import TuningTrial
from protonlab.views import flame

H200 = {"arch": "90", "num_sms": 132, "clock_rate": 1980000, "memory_clock_rate": 3201000,
        "bus_width": 6144}  # fmt: skip


def profile_of(
    kernels: Mapping[str, tuple[int, int]], info: ProfileInfo, device: str = "CUDA"
) -> Profile:
    """Build a profile from kernel names -> (launches, ns)."""
    children = [
        {
            "frame": {"name": name, "type": "function"},
            "metrics": {"count": count, "time (ns)": ns, "device_id": "0", "device_type": device},
            "children": [],
        }
        for name, (count, ns) in kernels.items()
    ]
    metrics = {"count": 0, "time (ns)": 0}
    root = {"frame": {"name": "ROOT", "type": "function"}, "metrics": metrics, "children": children}
    return load(json.dumps([root, {device: {"0": H200}}]).encode(), info=info)


THREE = {"_p_matmul": (3, 600), "clear": (1, 300), "at::add": (2, 100)}


def three_states(**info: Any) -> Profile:
    launches = {"_p_matmul": (3, 3), "clear": (1, 0)}
    given = ProfileInfo(name="run1", gpu="NVIDIA H200", launches=launches, **info)
    return profile_of(THREE, given).with_hook({}, {"_p_matmul"}, {"clear"})


def test_kept_filtered_and_unseen_with_their_shares() -> None:
    assert summary(three_states(include="_p_.*")).lines == (
        "run1: 1 kernel kept (3 launches, 60.0 %), 1 kernel filtered (1 launch, 30.0 %), "
        "1 kernel unseen (2 launches, 10.0 %) of 1.00 µs GPU time · NVIDIA H200",
    )


def test_many_launches() -> None:
    kernels = {"a": (1000, 3000), "b": (2000, 1000)}
    info = ProfileInfo(name="run1", gpu="NVIDIA H200")
    profile = profile_of(kernels, info).with_hook({}, {"a", "b"}, set())
    assert summary(profile).lines == (
        "run1: 2 kernels kept (3,000 launches, 100 %) of 4.00 µs GPU time · NVIDIA H200",
    )


def test_time_on_the_interpreter_is_not_called_gpu_time() -> None:
    profile = profile_of({"a": (1, 2000)}, ProfileInfo(name="run1"), "CPU").with_hook({}, {"a"}, [])
    assert summary(profile).lines == (
        "run1: 1 kernel kept (1 launch, 100 %) of 2.00 µs · interpreter, CPU",
    )


def test_file_that_no_hook_of_ours_recorded() -> None:
    assert summary(profile_of(THREE, ProfileInfo(gpu="NVIDIA H200"))).lines == (
        "profile: 3 kernels (6 launches) of 1.00 µs GPU time · NVIDIA H200",
        "This file cannot tell what autotuning launched; if any ran, it is counted as work",
    )


def test_autotuning_is_named() -> None:
    trials = tuple(TuningTrial("triton", "matmul", f"M: {m}", 0.5, m == 16) for m in (16, 32))
    info = ProfileInfo(name="run1", gpu="NVIDIA H200", tuning=trials)
    assert summary(profile_of({"a": (1, 100)}, info)).lines == (
        "run1: 1 kernel (1 launch) of 100 ns GPU time · NVIDIA H200",
        "Autotuning tried 2 configurations of matmul; the profile's .tuning lists them, and what "
        "they launched is left out",
    )


def test_scope_metrics_are_said_to_be_sums() -> None:
    kernel = {
        "frame": {"name": "a", "type": "function"},
        "metrics": {"count": 1, "time (ns)": 5, "n": 7, "device_id": "0", "device_type": "CUDA"},
        "children": [],
    }
    scope = {
        "frame": {"name": "layer", "type": "function"},
        "metrics": {"loss": 1.5, "power (W)": 3, "cpu_time (ns)(exc)": 9},
        "children": [kernel],
    }
    root = {"frame": {"name": "ROOT", "type": "function"}, "metrics": {}, "children": [scope]}
    lines = summary(load(json.dumps([root, {"CUDA": {"0": H200}}]).encode())).lines
    assert lines[-1] == "Scopes recorded loss, power; Proton adds up the entries of a scope"


def test_no_kernel() -> None:
    note = "The metadata of a failed."
    assert summary(profile_of({}, ProfileInfo(name="run1", notes=(note,)))).lines == (
        "run1: no kernel was launched",
        note,
    )


def test_notes_follow() -> None:
    assert summary(three_states(notes=("First.", "Second."))).lines[1:] == ("First.", "Second.")


def test_nothing_matched_lists_the_names_seen() -> None:
    names = [f"k{number:02}" for number in range(14)]
    info = ProfileInfo(
        name="run1", include="x", exclude="y", launches={name: (1, 0) for name in names}
    )
    profile = profile_of(dict.fromkeys(names, (1, 100)), info).with_hook({}, set(), names)
    assert summary(profile).lines == (
        "run1: no kernel kept, 14 kernels filtered (14 launches, 100 %) of 1.40 µs GPU time · "
        "CUDA 0 (sm_90, 132 SMs)",
        "No kernel passed include=x exclude=y. Patterns are anchored at the start of the compiled "
        "name (re.match); begin with .* to match anywhere. Names seen: k00, k01, k02, k03, k04, "
        "k05, k06, k07, k08, k09, k10, k11 and 2 more",
    )


def test_exclude_alone_that_left_out_everything() -> None:
    info = ProfileInfo(name="run1", exclude="k", launches={"k1": (1, 0)})
    profile = profile_of({"k1": (1, 100)}, info).with_hook({}, set(), ["k1"])
    assert summary(profile).lines[1:] == (
        "exclude=k leaves out every compiled name that was seen: k1. Patterns match from the start "
        "of a name (re.match)",
    )


def test_nothing_that_triton_launched() -> None:
    info = ProfileInfo(name="run1", include="x")
    profile = profile_of({"gemm": (1, 100)}, info).with_hook({}, set(), set())
    assert summary(profile).lines[1:] == (
        "The filter had nothing to match: only kernels that Triton launches pass it, and these "
        "came from elsewhere: gemm",
    )


def test_summary_is_escaped_on_a_page() -> None:
    info = ProfileInfo(name="<script>", include="x")
    shown = summary(profile_of({"<b>&": (1, 100)}, info).with_hook({}, set(), set()))
    page = shown._repr_html_()
    assert page.count("<div>") == 2
    assert "<script>" not in page
    assert "<b>" not in page
    assert "<script>" in repr(shown)


def test_plain_python_gets_text(capsys: pytest.CaptureFixture[str]) -> None:
    show(three_states())
    out = capsys.readouterr().out
    assert out.startswith("run1: 1 kernel kept")
    assert out.count("_p_matmul") == 1  # the table, once, for all three views


def test_flame_alone_is_the_tree_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    show(three_states(notes=("A note.",)), view=("flame",))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[3:]] == ["ROOT", "_p_matmul", "clear", "at::add"]
    assert lines[1] == "A note."
    assert lines[4].endswith("├─ _p_matmul")


def test_view_without_anything_is_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    show(three_states(), view=())
    assert capsys.readouterr().out.count("\n") == 1


def test_unknown_metric_raises_before_anything_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(MetricError, match="'n_tokens' is not a metric of this profile"):
        show(three_states(), metrics=["n_tokens"])
    assert capsys.readouterr().out == ""


def test_representation_is_one_short_line() -> None:
    text = repr(three_states())
    assert text.startswith("<Profile 'run1': 3 kernels, 6 launches")
    assert "\n" not in text
    assert len(text) < 100


def compared() -> Comparison:
    after = {"_p_matmul": (3, 300), "clear": (1, 300), "at::add": (2, 100)}
    return compare(profile_of(THREE, ProfileInfo()), profile_of(after, ProfileInfo()))


def test_comparison_in_plain_python_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_comparison(compared())
    out = capsys.readouterr().out
    assert out.startswith("time 1.00 µs before, 700 ns after: 30.0 % less time")
    assert compared().rule in out
    assert out.count("_p_matmul") == out.count("1 changed, 2 unchanged") == 1


@pytest.mark.parametrize(
    ("metric", "kinds"),
    [
        ("time", ["Summary", "FlameFigure", "BarsFigure", "KernelTable"]),
        ("avg_time/us", ["Summary", "BarsFigure", "KernelTable"]),
    ],
)
def test_comparison_in_a_notebook(
    metric: str, kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[object] = []
    monkeypatch.setattr(display, "display", shown.append)
    monkeypatch.setattr(display, "front_end", lambda: HEADLESS)
    profiles = compared()
    show_comparison(compare(profiles.before, profiles.after, metric=metric))
    assert [type(each).__name__ for each in shown] == kinds


def test_views_of_a_comparison_leave_out_what_its_summary_says() -> None:
    found = compared()
    summary, drawn, bars, kernels = comparison_views(found)
    told = repr(summary).splitlines()
    assert told == [found.summary, *found.notes, found.rule]
    assert [note.text for note in drawn.layout.annotations] == [
        "Each frame is as wide as the larger of its two values.",
    ]
    assert list(bars.layout.annotations) == []
    assert kernels.note == ""
    alone = flame(found)
    assert alone.layout.height - drawn.layout.height == 17 * (
        alone.layout.annotations[0].text.count("<br>")
    )
    assert alone.layout.margin.b - drawn.layout.margin.b == (
        alone.layout.height - drawn.layout.height
    )


def test_comparison_of_nothing_is_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = profile_of({}, ProfileInfo())
    show_comparison(compare(nothing, nothing))
    assert "kernels: none" in capsys.readouterr().out


def test_variants_in_a_notebook_and_in_plain_python(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = comparison(*noisy(12, 0.9))
    show_variants(found)
    assert capsys.readouterr().out == f"{found!r}\n"
    shown: list[object] = []
    monkeypatch.setattr(display, "display", shown.append)
    monkeypatch.setattr(display, "front_end", lambda: HEADLESS)
    show_variants(found)
    assert [type(each).__name__ for each in shown] == ["InWords", "PairsFigure"]
    assert html_of(shown[0]) == found._repr_html_()
    show_variants(found.first(0))
    assert [type(each).__name__ for each in shown[2:]] == ["InWords"]


def html_of(shown: Any) -> str:
    text: str = shown._repr_html_()
    return text


def test_a_word_is_no_metric_for_bars(capsys: pytest.CaptureFixture[str]) -> None:
    show(three_states(), metrics=["util_bound", "count"])
    assert "util_bound" in capsys.readouterr().out


SHELL = """\
import sys
from IPython.core.interactiveshell import InteractiveShell
run = InteractiveShell.instance().run_cell
run("import sys, protonlab", store_history=True)
print(sorted({"pandas", "plotly", "torch", "triton", "numpy"} & set(sys.modules)))
run("protonlab.load(sys.argv[1])", store_history=True)
run("protonlab.load(sys.argv[1]);", store_history=True)
run("import importlib; importlib.reload(protonlab)", store_history=True)
run("protonlab.load(sys.argv[1])", store_history=True)
"""


def test_import_in_a_running_shell_makes_profiles_show_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    path = tmp_path / "profile.hatchet"
    three_states().save(path)
    ran = subprocess.run(
        [sys.executable, "-c", SHELL, str(path)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("[]\n")  # nothing heavy before there is a profile
    assert ran.stdout.count("run1: 1 kernel kept (3 launches, 60.0 %)") == 2, ran.stdout
    assert "Error" not in ran.stdout + ran.stderr
