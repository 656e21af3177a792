"""Two compiled variants of one kernel, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from protonlab.model.assembly import ALWAYS_SHOWN, CLASSES, Passage, code_of, passages

RESOURCES, LOOPS, CONSTANTS = "resources", "loops", "constexprs"
ARGUMENTS, OPTIONS = "arguments", "options"
PTX, SASS = "PTX instructions", "SASS instructions"
GROUPS = (RESOURCES, LOOPS, CONSTANTS, ARGUMENTS, OPTIONS, PTX, SASS)
FLATTENED, SPECIALIZED = "loops to flatten", "loops to warp specialize"
SPLIT = "loops split over warp groups"
_COUNTS = (PTX, SASS)


@dataclass(frozen=True)
class CompiledVariant:
    """What is known of one compiled kernel.

    Parameters
    ----------
    name
        Of the variant.
    kernel
        The compiled kernel's name.
    target
        What it was compiled for, such as ``"cuda:90"``.
    facts
        Group -> what -> value. Groups are those of `GROUPS`; a group that could not be read is
        missing. Instructions are counted by class, as written in the code, not as executed.
    ptx
        The PTX text; empty where it was not kept.
    notes
        What could not be read, in sentences.
    """

    name: str
    kernel: str
    target: str
    facts: Mapping[str, Mapping[str, Any]]
    ptx: str = ""
    notes: tuple[str, ...] = ()

    def fact(self, group: str, what: str) -> Any:
        """One value; None where it is not known, 0 for a class without instructions."""
        values = self.facts.get(group)
        if values is None:
            return None
        return values.get(what, 0 if group in _COUNTS else None)


@dataclass(frozen=True)
class CompiledComparison:
    """Two compiled variants of one kernel side by side; `compare_compiled` makes one.

    Parameters
    ----------
    a, b
        The variants, in the order in which they were given.
    """

    a: CompiledVariant
    b: CompiledVariant

    @property
    def names(self) -> tuple[str, str]:
        """Names of the variants."""
        return self.a.name, self.b.name

    @property
    def kernel(self) -> str:
        """Name of the compiled kernel, or of both where they are two."""
        if self.a.kernel == self.b.kernel:
            return self.a.kernel
        return f"{self.a.kernel} and {self.b.kernel}"

    @property
    def differences(self) -> pd.DataFrame:
        """Rows of `to_dataframe` that differ."""
        table = self.to_dataframe()
        return table[table["differs"]].reset_index(drop=True)

    @property
    def passages(self) -> list[Passage]:
        """Both PTX texts side by side; nothing where one was not kept."""
        return passages(self.a.ptx, self.b.ptx) if self.a.ptx and self.b.ptx else []

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know, in sentences."""
        notes = [*self._moved_along(), *dict.fromkeys((*self.a.notes, *self.b.notes))]
        if self.a.target != self.b.target:
            notes.append(f"Compiled for {self.a.target} and {self.b.target}.")
        return tuple(notes)

    @property
    def summary(self) -> str:
        """One line: which constexprs and options differ, and what became of the resources.

        Examples
        --------
        >>> compiled.summary  # doctest: +SKIP
        'matmul_kernel: FLATTEN_LOOPS True / False; registers a thread 125 / 118'
        """
        table = self.differences
        shown = table[table["group"].isin((CONSTANTS, OPTIONS, RESOURCES))]
        first, second = (shown[f"value_{which}"] for which in "ab")
        parts = [
            f"{what} {one} / {other}"
            for what, one, other in zip(shown["what"], first, second, strict=True)
        ]
        return f"{self.kernel}: {'; '.join(parts) if parts else 'nothing differs'}"

    def to_dataframe(self) -> pd.DataFrame:
        """Everything that is known.

        Returns
        -------
        pandas.DataFrame
            ``group``, ``what``, ``value_a``, ``value_b`` (None where not known), ``differs``.
        """
        rows = [
            (group, what, one, other, one != other)
            for group in GROUPS
            for what in self._whats(group)
            for one, other in [(self.a.fact(group, what), self.b.fact(group, what))]
        ]
        return pd.DataFrame(rows, columns=["group", "what", "value_a", "value_b", "differs"])

    def to_display(self) -> pd.DataFrame:
        """Rows for a person: resources, what differs, and the classes looked for first."""
        table = self.to_dataframe()
        keep = table["differs"] | (table["group"] == RESOURCES) | (table["group"] == LOOPS)
        counted = table["group"].isin(_COUNTS)
        keep |= counted & table["what"].isin(ALWAYS_SHOWN)
        keep |= counted & (table["what"] == "mma") & (table["value_a"] != 0)
        return table[keep].reset_index(drop=True)

    def __str__(self) -> str:
        table = self.to_display()
        table = table.drop(columns="differs").rename(
            columns={"value_a": self.a.name, "value_b": self.b.name}
        )
        text = table.to_string(index=False, na_rep="-")
        return "\n".join([f"{self.kernel}, compiled for {self.a.target}", text, *self.notes])

    def to_document(self) -> dict[str, Any]:
        """Write as plain values for JSON."""
        return {
            side: {
                "name": each.name,
                "kernel": each.kernel,
                "target": each.target,
                "facts": {group: dict(values) for group, values in each.facts.items()},
                "ptx": each.ptx,
                "notes": list(each.notes),
            }
            for side, each in (("a", self.a), ("b", self.b))
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> CompiledComparison:
        """Read what `to_document` wrote."""
        one, other = (
            CompiledVariant(**{**document[side], "notes": tuple(document[side]["notes"])})
            for side in "ab"
        )
        return cls(one, other)

    def without_ptx(self) -> CompiledComparison:
        """Drop the PTX texts, which are most of its size."""
        return CompiledComparison(replace(self.a, ptx=""), replace(self.b, ptx=""))

    def without_debug(self) -> CompiledComparison:
        """Drop what is no code from the PTX texts."""
        one, other = (replace(each, ptx=code_of(each.ptx)) for each in (self.a, self.b))
        return CompiledComparison(one, other)

    def _whats(self, group: str) -> list[str]:
        found = {*self.a.facts.get(group, {}), *self.b.facts.get(group, {})}
        if group not in _COUNTS:
            ours = list(self.a.facts.get(group, {}))
            return [*ours, *(what for what in self.b.facts.get(group, {}) if what not in ours)]
        if not found:
            return []
        return [name for name in CLASSES if name in found or name in ALWAYS_SHOWN]

    def _moved_along(self) -> Iterator[str]:
        """Say when a switch that flattens loops moves warp specialisation, too."""

        def moved(what: str) -> bool:
            return bool(self.a.fact(LOOPS, what) != self.b.fact(LOOPS, what))

        if not moved(FLATTENED):
            return
        if moved(SPECIALIZED):
            told = "The switch that flattens loops also moves warp specialisation"
            if self.a.fact(LOOPS, SPLIT) == 0 == self.b.fact(LOOPS, SPLIT):
                yield f"{told}: it asks for it, but the compiler split no loop over warp groups."
            else:
                yield f"{told}, so a difference in time is not of flattening alone."
        else:
            yield "The switch that flattens loops leaves warp specialisation as it is."
