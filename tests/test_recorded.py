"""The profiles that ship: each opens, says where it was recorded, and is what it is said to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from protonlab import Profile, Run, Trace, recorded

TESTS = Path(__file__).parent
FOLDER = Path(recorded.__file__).parent


@pytest.mark.parametrize(
    "name", [name for name in recorded.__all__ if name not in ("epilogue_sweep", "ddp_two_gpus")]
)
def test_each_says_where_it_was_recorded(name: str) -> None:
    one = getattr(recorded, name)()
    assert isinstance(one, Trace if name == "gpt_trace" else Profile)
    assert one.info.name == name
    assert one.info.gpu == "NVIDIA H200"
    assert one.info.versions == {"triton": "3.9.0", "torch": "2.11.0", "driver": "580.159"}
    assert one.info.when == ("2026-11-30" if name == "flatten_sweep" else "2026-11-29")
    assert f" on {one.info.when} " in one.info.notes[0]
    assert one.info.notes[0].endswith("not measured on this machine.")


def test_the_run_of_two_gpus_says_so_and_who_is_waited_for() -> None:
    run = recorded.ddp_two_gpus()
    assert run.summary == "2 ranks, NVIDIA H200"
    assert run.notes[0].startswith("Recorded on two NVIDIA H200 on 2026-11-30 with Triton 3.9.0")
    assert (run.missing, [manifest.steps for manifest in run.manifests.values()]) == ((), [12, 12])
    for profile, manifest in zip(run.profiles.values(), run.manifests.values(), strict=True):
        assert (len(profile.kernels), profile.repeats.number) == (22, 12)
        assert profile.info.gpu == manifest.gpu_name == "NVIDIA H200"
        assert profile.info.versions == manifest.versions
    assert len({manifest.gpu_uuid for manifest in run.manifests.values()}) == 2
    assert [len(trace.events) for trace in run.traces.values()] == [2532, 2916]
    for stragglers in (run.stragglers(), Run.from_profiles(run.profiles).stragglers()):
        assert (stragglers.ranks, stragglers.known) == ((1,), True)


def test_the_flatten_sweep_has_both_settings_at_each_size() -> None:
    frames = recorded.flatten_sweep().to_dataframe(["count", "bytes", "gbyte/s"])
    scopes = frames[frames["label"].str.startswith("tokens_per_expert=")]
    assert scopes["label"].str.partition("=")[2].astype(int).tolist() == [2**n for n in range(8)]
    for scope in scopes.index:
        kernels = frames[frames["parent_id"] == scope]
        for words in ("persistent, flattened", "persistent, not flattened"):
            one = kernels[kernels["label"].str.contains(words)]
            assert one["count"].tolist() == [10]
            assert (one["bytes"] > 0).all()
        gluon = kernels[kernels["label"].str.startswith("matmul_mxfp4_gluon")]
        assert gluon["count"].tolist() == [40]  # its row classes are one frame
        assert gluon["bytes"].tolist() == one["bytes"].tolist()
        assert (kernels["gbyte/s"].dropna() < 4800).all()  # what an H200's data sheet promises


def test_training_is_four_steps_of_eight_layers() -> None:
    frames = recorded.gpt_train().to_dataframe(["count", "n_tokens"])
    assert frames.loc[1, "n_tokens"] == 4 * 4096
    forward = frames[frames["parent_id"] == 2]
    layers = forward[forward["label"].str.startswith("layer_")]
    assert layers["count"].tolist() == [40] * 8  # ten kernels a step


def test_only_the_compiled_one_cannot_tell_what_was_tuned() -> None:
    assert recorded.gpt_compiled().info.tuning is None
    assert recorded.gpt_train().info.tuning == ()


def test_the_eager_one_shows_python_code_and_no_machinery() -> None:
    kinds = recorded.gpt_eager().frames["kind"]
    assert (kinds == "python").any()
    assert (kinds != "scope").all()


def test_files_are_small_and_those_of_the_tests() -> None:
    paths = [path for path in FOLDER.rglob("*") if path.suffix in (".hatchet", ".gz")]
    assert sum(path.stat().st_size for path in paths) < 3_000_000
    for path in paths:
        twin = TESTS / "profiles" / path.name
        assert not twin.exists() or twin.read_bytes() == path.read_bytes()
