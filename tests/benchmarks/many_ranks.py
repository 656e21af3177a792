"""Profiles of many ranks in many runs, made of real ones: what `archive.py` measures with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import protonlab
from protonlab import Profile
from protonlab.model.frames import FRAME_COLUMNS
from protonlab.model.manifest import RankManifest, manifest_name

HERE = Path(__file__).parents[1] / "profiles"
RECORDED = Path(protonlab.__file__).parent / "recorded"
REAL = (
    HERE / "gpt_train_3.9.0.hatchet",
    HERE / "ddp_rank0_3.9.0.hatchet",
    RECORDED / "moe_sweep_3.9.0.hatchet",
)
SLOWER, SCATTER = 1.1, 0.05


def template(frames: int) -> Profile:
    """One profile of so many frames: the steps of the real ones, each below a scope of its own."""
    parts = [protonlab.load(path) for path in REAL]
    assert all(isinstance(part, Profile) for part in parts)
    first: Any = parts[0]
    tables = [part.frames.astype(dict.fromkeys(_TEXT, object)) for part in parts]
    rows = [tables[0].iloc[:1]]
    count, step = 1, 0
    while count < frames:
        table = tables[step % len(tables)].iloc[: frames - count].copy()
        parent = table["parent_id"].to_numpy() + count
        table["parent_id"] = np.where(table["parent_id"] < 0, 0, parent)
        table["depth"] += 1
        table.iloc[0, table.columns.get_indexer(["name", "label", "kind"])] = [
            *[f"step_{step}"] * 2,
            "scope",
        ]
        rows.append(table)
        count, step = count + len(table), step + 1
    result = pd.concat(rows, ignore_index=True)
    columns = {each.column: each for part in parts for each in part.columns}
    for name in _TEXT:
        result[name] = pd.Categorical(result[name])
    kinds = first.frames[["kind", "hook"]].dtypes
    result = result.astype({"kind": kinds["kind"], "hook": kinds["hook"]})
    for name in columns:
        if result[name].dtype == object:
            result[name] = result[name].astype("Int64" if columns[name].additive else object)
    result.index.name = "frame_id"
    return replace(
        first, frames=result[[*FRAME_COLUMNS, *columns]], columns=tuple(columns.values())
    )


_TEXT = ("name", "kernel", "label", "kind", "hook", "device_type")


def varied(profile: Profile, run: int, rank: int, runs: int) -> Profile:
    """What one rank of one run recorded."""
    rng = np.random.default_rng([run, rank])
    frames = profile.frames.copy()
    slow = frames["name"].astype(str).str.startswith("nvjet_sm90_tst_256x128").to_numpy()
    factor = rng.normal(1, SCATTER, len(frames)) * (1 + 0.002 * rng.normal())
    if run >= 2 * runs // 3:
        factor = np.where(slow, factor * SLOWER, factor)
    if run % 4 == 0 and rank == 3:
        factor = np.where(frames["name"].astype(str).str.contains("nccl"), factor, 1.2 * factor)
    for column in profile.columns:
        if column.additive and column.column != "count":
            values = frames[column.column]
            scaled = values.to_numpy(np.float64, na_value=np.nan) * factor
            frames[column.column] = (
                pd.array(np.round(scaled), dtype="Int64")
                if pd.api.types.is_integer_dtype(values.dtype)
                else scaled
            )
    day = pd.Timestamp("2026-01-01T00:00:00Z") + pd.Timedelta(days=run)
    info = replace(profile.info, name=f"rank {rank}", when=day.isoformat())
    return replace(profile, frames=frames, info=info)


def write_run(folder: Path, profile: Profile, run: int, runs: int, ranks: int) -> Path:
    """Write the folder of one run."""
    folder.mkdir(parents=True)
    for rank in range(ranks):
        own = varied(profile, run, rank, runs)
        name = manifest_name(rank)
        file = name.replace(".json", ".hatchet")
        own.save(folder / file)
        manifest = RankManifest(
            rank=rank,
            world_size=ranks,
            state="complete",
            started=own.info.when,
            files=(file,),
            gpu_uuid=f"GPU-{rank}",
            host=f"node{rank // 8}",
            versions=own.info.versions,
        )
        (folder / name).write_text(json.dumps(manifest.to_dict()))
    return folder
