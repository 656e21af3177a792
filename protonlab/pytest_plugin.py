"""A gate in tests: ``pytest_plugins = ["protonlab.pytest_plugin"]`` in a conftest.py.

The fixture `protonlab_gate` measures two variants, such as a reference and your kernel, and holds
your kernel's speed by the reference's against what was recorded: the machine's state falls out.

    def test_matmul_keeps_its_speed(protonlab_gate):
        protonlab_gate({"torch": lambda: x @ w.T, "ours": lambda: matmul(x, w)})

``pytest --protonlab-record`` writes a baseline for this GPU into ``protonlab_baselines`` beside the
test's file, to be committed. A plain ``pytest`` fails when the speed has fallen by more than
``--protonlab-threshold`` (3 %), beyond what noise explains. Where only another GPU has a baseline,
the test is skipped. ``--protonlab-markdown PATH`` writes a summary of all gates, or of what was
recorded; pytest's own ``--junit-xml`` has the numbers as properties.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from protonlab.experiment import Gate
    from protonlab.model import VariantComparison

FOLDER = "protonlab_baselines"
_HINT = "record one with pytest --protonlab-record, and commit it"
_NONE = (
    "No gate was judged and no baseline recorded: no test that ran in this process got so far with "
    "protonlab_gate."
)
_GATES = pytest.StashKey[list[Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of gates."""
    group = parser.getgroup("protonlab", "noise-aware gates on the speed of kernels")
    group.addoption(
        "--protonlab-record", action="store_true", help="write baselines instead of judging by them"
    )
    group.addoption(
        "--protonlab-threshold", default="3%", help="slowdown that is allowed (default: 3%%)"
    )
    group.addoption(
        "--protonlab-markdown", type=Path, metavar="PATH", help="write a summary of all gates"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to collect gates."""
    config.stash[_GATES] = []


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print what each gate found, and write the summary."""
    gates: list[Gate] = config.stash[_GATES]
    path = config.getoption("--protonlab-markdown")
    if gates or path is not None:
        terminalreporter.section("protonlab gates")
        for gate in gates:
            terminalreporter.write_line(f"{gate.title}: {gate.summary}")
            for note in gate.notes:
                terminalreporter.write_line(f"  Note: {note}")
        if not gates:
            terminalreporter.write_line(_NONE)
    if path is not None:
        from protonlab.model.writing import write_atomically

        texts = [gate.to_markdown() for gate in gates] or [f"### protonlab gates\n\n{_NONE}\n"]
        write_atomically(["\n".join(texts)], path)


class Gatekeeper:
    """What `protonlab_gate` gives to a test.

    Parameters
    ----------
    name
        Of the test; its baseline is called so.
    folder
        Where baselines are.
    config
        pytest's.
    properties
        Takes the numbers, for JUnit XML.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        config: pytest.Config,
        properties: list[tuple[str, object]],
    ) -> None:
        self._name, self._folder, self._config = _slug(name), folder, config
        self._properties = properties

    def __call__(
        self,
        variants: Mapping[str, Callable[[], Any]],
        *,
        threshold: float | str | None = None,
        name: str = "",
        **options: Any,
    ) -> VariantComparison:
        """Measure two variants, and judge the second by the first against the baseline.

        Parameters
        ----------
        variants
            First what the speed is relative to, then what is judged.
        threshold
            By default ``--protonlab-threshold``.
        name
            Tells several gates of one test apart.
        **options
            Those of `protonlab.compare_variants`.

        Raises
        ------
        RegressionError
            If it became slower.
        ProtonLabError
            If the variants cannot be measured.
        """
        from protonlab.experiment import (
            baseline_of,
            compare_variants,
            judged,
            raise_if_regressed,
        )

        records = self._config.getoption("--protonlab-record")
        stem = ".".join([self._name, *([_slug(name)] if name else [])])
        known = sorted(self._folder.glob(f"{stem}.*.json"))
        if not records and not known:
            pytest.fail(f"there is no baseline {stem} in {self._folder}; {_HINT}", pytrace=False)
        found = compare_variants(variants, **options)
        path = self._folder / f"{stem}.{_slug(found.info.gpu or found.info.backend)}.json"
        if records:
            path.parent.mkdir(parents=True, exist_ok=True)
            found.save(path)
            self._config.stash[_GATES].append(baseline_of(found, path.name))
            return found
        if path not in known:
            others = ", ".join(other.name for other in known)
            pytest.skip(f"no baseline for this GPU, {path.name}, only {others}; {_HINT}")
        allowed = threshold
        if allowed is None:
            allowed = self._config.getoption("--protonlab-threshold")
        gate = judged(path, found, threshold=allowed)
        self._config.stash[_GATES].append(gate)
        for row in gate.rows:  # a comparison's all have a ratio
            for part, value in (("slowdown", row.slowdown), ("low", row.low), ("high", row.high)):
                self._properties.append((f"{row.name}: {part}", f"{value:.6g}"))
        raise_if_regressed(gate)
        return found


@pytest.fixture
def protonlab_gate(request: pytest.FixtureRequest) -> Gatekeeper:
    """Measure two variants and hold their ratio against the recorded one."""
    folder, properties = request.path.parent / FOLDER, request.node.user_properties
    return Gatekeeper(request.node.name, folder, request.config, properties)


def _slug(text: str) -> str:
    return re.sub(r"[^\w]+", "-", text).strip("-").lower()
