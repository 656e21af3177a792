"""The same ``%%proton`` cell on one H200, recorded under Triton 3.6 and 3.9 (torch 2.11).

Three steps of two scopes in a Jupyter kernel, ``exclude=attention.*``, saved by `Profile.save`.
"""

from pathlib import Path

import pandas as pd

import protonlab

PROFILES = Path(__file__).parent.parent / "profiles"


def cell(version: str) -> protonlab.Profile:
    profile = protonlab.load(PROFILES / f"cell_{version}.hatchet")
    assert profile.info.versions["triton"] == version
    assert (profile.info.gpu, profile.info.backend) == ("NVIDIA H200", "cupti")
    return profile


def test_the_same_columns_for_the_same_kernels() -> None:
    old, new = (cell(version).kernels.set_index("name") for version in ("3.6.0", "3.9.0"))
    measured = ["time_ns"]
    pd.testing.assert_frame_equal(
        old.drop(columns=measured).sort_index(), new.drop(columns=measured).sort_index()
    )
    assert (old["time_ns"] / new["time_ns"].reindex(old.index)).between(0.8, 1.25).all()


def test_what_the_filter_did() -> None:
    for version in ("3.6.0", "3.9.0"):
        profile = cell(version)
        assert profile.info.launches == {
            "add_kernel": (6, 6), "plain_kernel": (3, 3), "attention_kernel": (3, 0),
        }  # fmt: skip
        kernels = profile.kernels.set_index("name")
        assert kernels.loc["attention_kernel", ["hook", "count"]].tolist() == ["filtered", 3]
        assert kernels.loc["attention_kernel", ["bytes", "n_tokens"]].isna().all()
        assert kernels.loc["add_kernel [n=16777216]", "n_tokens"] == 3 * 16384
        assert kernels.loc["add_kernel [n=16777216]", "bytes"] == 3 * 12 * 16777216
        scopes = profile.frames[profile.frames["kind"] == "scope"]
        assert scopes.set_index("name")["loss"].dropna().to_dict() == {"mlp": 1.5}
