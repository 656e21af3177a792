"""Where the two variants of a measurement come from: given once, or made anew by a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from protonlab.errors import ProtonLabError
from protonlab.experiment._variants import Variant, failed, two_variants

Variants = Mapping[str, Callable[[], Any]]


class Maker:
    """Gives the variants, the same ones each time or new ones.

    Parameters
    ----------
    variants
        Two names and callables, or a function without arguments that makes them.

    Attributes
    ----------
    makes_anew
        Whether each call of `make` makes others.

    Raises
    ------
    ProtonLabError
        If it is neither.
    """

    def __init__(self, variants: Variants | Callable[[], Variants]) -> None:
        self._names: tuple[str, str] | None = None
        self.makes_anew = callable(variants) and not isinstance(variants, Mapping)
        if callable(variants) and not isinstance(variants, Mapping):
            self._function = variants
        else:
            given = two_variants(variants)
            self._names = given[0].name, given[1].name
            self._function = lambda: {each.name: each.call for each in given}

    @property
    def names(self) -> tuple[str, str]:
        """Names of A and B, once they were made."""
        assert self._names is not None
        return self._names

    def make(self) -> tuple[Variant, Variant]:
        """Give both variants.

        Raises
        ------
        ProtonLabError
            If the function raises, or does not make exactly two variants of the same names as
            before; CaptureError where it ran out of the GPU's memory.
        """
        try:
            made = self._function()
        except Exception as error:
            failed("the function that makes the variants", error)
        first, second = two_variants(made)
        names = first.name, second.name
        if self._names not in (None, names):
            raise ProtonLabError(
                f"the function that makes the variants made {' and '.join(names)} after "
                f"{' and '.join(self.names)}; let it give the same names in the same order"
            )
        self._names = names
        return first, second
