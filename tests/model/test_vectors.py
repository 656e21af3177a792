"""A number of one kernel and a vector of another under one name: neither takes the other away."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from builders import document, frame, kernel

import protonlab
from protonlab import MetricError, Profile, Run
from protonlab.formats import read_profile
from protonlab.model.merging import merged

DENSE = kernel("dense", 100, n_tokens=64)
MOE = kernel("moe", 300, n_tokens=[10, 20, 34])


def mixed() -> Profile:
    return read_profile(document(frame("layer", MOE, DENSE), kernel("plain", 100)))


def values(table: pd.DataFrame, column: str) -> dict[str, object]:
    """Name -> value, of what has one."""
    known = table[table[column].notna()]
    return dict(zip(known["name"].astype(str), known[column].tolist(), strict=True))


def test_numbers_stay_a_metric_beside_vectors() -> None:
    profile = mixed()
    assert values(profile.kernels, "n_tokens") == {"dense": 64}
    assert "n_tokens/s" in profile.metrics
    rates = profile.to_dataframe("n_tokens/s")
    assert values(rates, "n_tokens/s") == pytest.approx(
        {"ROOT": 64 / 500e-9, "layer": 64 / 400e-9, "dense": 64 / 100e-9}
    )
    assert "n_tokens" in str(protonlab.table(profile, metrics=["n_tokens"]))


def test_vectors_stand_in_a_column_of_the_frames_that_a_note_names() -> None:
    profile = mixed()
    assert values(profile.frames, "n_tokens_vector") == {"moe": (10, 20, 34)}
    assert profile.info.notes == (
        "n_tokens of moe is a vector, which has no sum, so n_tokens is missing there: "
        "profile.frames['n_tokens_vector'] holds it",
    )


def test_floats_and_vectors_alone_stay_what_they_are() -> None:
    rates = read_profile(document(kernel("a", 1, x=0.5), kernel("b", 1, x=[0.5, 1.5])))
    assert values(rates.kernels, "x") == {"a": 0.5}
    alone = read_profile(document(MOE))
    assert values(alone.frames, "n_tokens") == {"moe": (10, 20, 34)}
    assert alone.info.notes == ()


@pytest.mark.parametrize("ending", ["hatchet", "parquet"])
@pytest.mark.parametrize("include", [None, "moe", "dense"])
def test_a_saved_profile_comes_back(tmp_path: Path, ending: str, include: str | None) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'protonlab[parquet]'")
    profile = mixed() if include is None else mixed().filter(include=include)
    profile.save(tmp_path / f"p.{ending}")
    back = protonlab.load(tmp_path / f"p.{ending}")
    assert isinstance(back, Profile)
    pd.testing.assert_frame_equal(back.frames, profile.frames, check_categorical=False)
    assert (back.columns, back.info) == (profile.columns, profile.info)


def test_the_hook_keeps_its_own_vectors_and_drops_those_of_others() -> None:
    own = {"moe": ["n_tokens"], "dense": ["n_tokens"]}
    kept = mixed().with_hook({}, ["moe", "dense"], [], own)
    assert values(kept.frames, "n_tokens_vector") == {"moe": (10, 20, 34)}
    other = mixed().with_hook({}, ["moe", "dense"], [], own | {"moe": []})
    assert values(other.frames, "n_tokens_vector") == {}


def test_parts_and_ranks_that_each_hold_one_of_both() -> None:
    parts = [read_profile(document(each)) for each in (DENSE, MOE, frame("s", DENSE, MOE))]
    whole = merged(list(enumerate(parts)))
    assert values(whole.kernels, "n_tokens") == {"dense": 128}
    assert set(whole.frames["n_tokens_vector"].dropna()) == {(10, 20, 34)}
    assert whole.repeats is not None
    assert values(whole.repeat(0).kernels, "n_tokens") == {"dense": 64}
    run = Run.from_profiles(dict(enumerate(parts)))
    by_rank = run.by_rank("n_tokens").set_index("name")
    assert by_rank.loc["dense", [0, 2]].tolist() == [64, 64]
    assert by_rank.loc["moe", "ranks"] == 0


def test_a_rate_of_vectors_says_why_it_is_none() -> None:
    with pytest.raises(MetricError) as caught:
        read_profile(document(MOE)).metric("n_tokens/s")
    assert str(caught.value) == (
        "'n_tokens/s' has no value here: n_tokens is a vector, text, or a property, which cannot "
        "be summed. profile.frames holds what each frame recorded"
    )
    with pytest.raises(MetricError) as caught:
        read_profile(document(MOE)).metric("n_token/s")
    assert "Did you mean" not in str(caught.value)
