"""Writing a VariantComparison as one JSON document, profiles and all."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from protonlab.errors import ProtonLabError
from protonlab.model.document import document
from protonlab.model.writing import write_atomically

VARIANTS_KEY = "protonlab_variants"
VARIANTS_VERSION = 1


def write_variants(comparison: Any, path: Path) -> None:
    """Write a `VariantComparison` atomically; `VariantComparison.save` describes it."""
    if not path.name.lower().removesuffix(".gz").endswith(".json"):
        raise ProtonLabError(
            f"{path}: a VariantComparison is saved as JSON; let the name end in .json or .json.gz"
        )
    write_atomically(variants_document(comparison), path)


def variants_document(comparison: Any) -> Iterator[str]:
    """Write a `VariantComparison` as pieces of a JSON document."""
    pairs = {
        name: [None if value != value else value for value in column.tolist()]
        for name, column in comparison.pairs.items()
    }
    head = {
        VARIANTS_KEY: VARIANTS_VERSION,
        "names": comparison.names,
        "metric": dataclasses.asdict(comparison.metric),
        "protocol": dict(comparison.protocol),
        "info": dataclasses.asdict(comparison.info),
        "outputs_equal": comparison.outputs_equal,
        "outputs": comparison.outputs,
        "notes": comparison.notes,
        "pairs": pairs,
    }
    text = json.dumps(head, indent=1, allow_nan=False)
    if comparison.profiles is None:
        yield text + "\n"
        return
    yield text.removesuffix("\n}") + ',\n "profiles": [\n'
    first, second = comparison.profiles
    yield from document(first)
    yield ","
    yield from document(second)
    yield " ]\n}\n"
