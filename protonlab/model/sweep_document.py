"""Writing an EpilogueSweep: one JSON document, or a parquet table of pairs with the rest beside."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from protonlab.errors import ProtonLabError
from protonlab.model.parquet import pyarrow
from protonlab.model.writing import replacing, write_atomically

SWEEP_KEY = "protonlab_epilogue_sweep"
SWEEP_VERSION = 1
SWEEP_METADATA = SWEEP_KEY.encode()


def write_sweep(sweep: Any, path: Path) -> None:
    """Write an `EpilogueSweep` atomically; `EpilogueSweep.save` describes it."""
    check_name(path)
    if path.name.lower().endswith(".parquet"):
        _write_parquet(sweep, path)
    else:
        write_atomically([_json(sweep_document(sweep)), "\n"], path)


def check_name(path: Path) -> None:
    """Check that a file's name says how to save a sweep, before hours are measured.

    Raises
    ------
    ProtonLabError
        If it does not.
    MissingDependencyError
        If it ends in ``.parquet`` and pyarrow is not there.
    """
    name = path.name.lower()
    if name.endswith(".parquet"):
        pyarrow()
    elif not name.removesuffix(".gz").endswith(".json"):
        raise ProtonLabError(
            f"{path}: the name of the file says how to save a sweep; let it end in .json, "
            ".json.gz or .parquet"
        )


def sweep_document(sweep: Any) -> dict[str, Any]:
    """Write as plain values for JSON."""
    cases = list(sweep.comparisons)
    compiled: list[dict[str, Any]] = []
    for case, comparison in sweep.compiled.items():
        # Many sizes run the same two kernels.
        document = comparison.to_document()
        same = next((each for each in compiled if each["compiled"] == document), None)
        if same is None:
            compiled.append({"cases": [dataclasses.astuple(case)], "compiled": document})
        else:
            same["cases"].append(dataclasses.astuple(case))
    return {
        SWEEP_KEY: SWEEP_VERSION,
        "info": dataclasses.asdict(sweep.info),
        "copy_gbyte_s": sweep.copy_gbyte_s,
        "protocol": dict(sweep.protocol),
        "left_out": list(sweep.left_out),
        "cases": [dataclasses.astuple(case) for case in cases],
        "comparisons": [dict(sweep.comparisons[case].document) for case in cases],
        "compiled": compiled,
    }


def _write_parquet(sweep: Any, path: Path) -> None:
    arrow = pyarrow()
    document = sweep_document(sweep)
    for comparison in document["comparisons"]:
        del comparison["pairs"]  # they are the table
    table = arrow.Table.from_pandas(sweep.to_pairs(), preserve_index=False)
    table = table.replace_schema_metadata({SWEEP_METADATA: _json(document).encode()})
    with replacing(path) as file:
        arrow.parquet.write_table(table, file)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
