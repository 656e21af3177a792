"""A gate in tests: ``pytest_plugins = ["protonlab.pytest_plugin"]`` in a conftest.py.

The fixture `protonlab_gate` measures two variants, such as a reference and your kernel, and holds
your kernel's speed by the reference's against what was recorded: the machine's state falls out.

    def test_matmul_keeps_its_speed(protonlab_gate):
        protonlab_gate({"torch": lambda: x @ w.T, "ours": lambda: matmul(x, w)})

``pytest --protonlab-record`` writes a baseline for this GPU into ``protonlab_baselines`` beside the
test's file, to be committed; it is called by module, class, function, parameters and GPU. A plain
``pytest`` fails when the speed has fallen by more than ``--protonlab-threshold`` (3 %), beyond what
noise explains. Where only another GPU has a baseline, the test is skipped. ``--protonlab-markdown
PATH`` writes a summary of all gates, or of what was recorded; pytest's own ``--junit-xml`` has the
numbers as properties. With pytest-xdist tests take turns to measure on a device, and the summary is
one of all workers.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Callable, Generator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from protonlab.errors import ProtonLabError

if TYPE_CHECKING:
    from protonlab.experiment import Gate
    from protonlab.model import VariantComparison

FOLDER = "protonlab_baselines"
_THRESHOLD = "3%"
_HINT = "record one with pytest --protonlab-record, and commit it"
_NONE = "No gate was judged and no baseline recorded: no test came so far with protonlab_gate."
_OLDER = (
    "{} was named by an older protonlab, without module and class, and is not read; delete it when "
    "no test needs it."
)
_GATES = pytest.StashKey[list[Any]]()
_CARRIED = "protonlab_gates"
_ASKED = pytest.StashKey[dict[str, "Gatekeeper"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of gates."""
    group = parser.getgroup("protonlab", "noise-aware gates on the speed of kernels")
    group.addoption(
        "--protonlab-record", action="store_true", help="write baselines instead of judging by them"
    )
    group.addoption(
        "--protonlab-threshold", default=_THRESHOLD, help="slowdown that is allowed (default: 3%%)"
    )
    group.addoption(
        "--protonlab-markdown",
        type=Path,
        metavar="PATH",
        help="write a summary of all gates; $GITHUB_STEP_SUMMARY is added to",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to collect gates.

    Raises
    ------
    pytest.UsageError
        If an option is not legal: before any test runs.
    """
    threshold, path = map(config.getoption, ("--protonlab-threshold", "--protonlab-markdown"))
    if threshold != _THRESHOLD:  # which needs no import
        from protonlab.model.thresholds import threshold_of

        try:
            threshold_of(threshold)
        except ProtonLabError as error:
            raise pytest.UsageError(f"--protonlab-threshold: {error}") from None
    if path is not None and not path.resolve().parent.is_dir():
        raise pytest.UsageError(f"--protonlab-markdown: no folder {path.parent} for {path.name}")
    if path is not None and path.is_dir():
        raise pytest.UsageError(f"--protonlab-markdown: {path} is a folder; give a file's name")
    config.stash[_ASKED] = {}
    config.pluginmanager.register(_Summary(path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test's report carry what its gates found, also from a worker of pytest-xdist."""
    report = yield
    gates = item.stash.get(_GATES, [])
    setattr(report, _CARRIED, [json.dumps(dataclasses.asdict(gate)) for gate in gates])
    gates.clear()
    return report


class _Summary:
    """What all gates found, wherever their tests ran.

    Parameters
    ----------
    path
        Where to write it as Markdown.
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self._gates = path, list[Any]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what a report carries."""
        self._gates += map(_gate, getattr(report, _CARRIED, ()))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what each gate found, and write the summary."""
        if self._gates or self._path is not None:
            terminalreporter.section("protonlab gates")
            for gate in self._gates:
                terminalreporter.write_line(f"{gate.title}: {gate.summary}")
                for note in gate.notes:
                    terminalreporter.write_line(f"  Note: {note}")
            if not self._gates:
                terminalreporter.write_line(_NONE)
        if self._path is not None:
            from protonlab.experiment._gate_summaries import write_markdown

            texts = [gate.to_markdown() for gate in self._gates]
            write_markdown(texts or [f"### protonlab gates\n\n{_NONE}\n"], self._path)


def _gate(document: str) -> Gate:
    from protonlab.experiment._gate import Gate, Judged

    values = json.loads(document)
    rows = tuple(Judged(**row) for row in values.pop("rows"))
    return Gate(**values | {"rows": rows, "notes": tuple(values["notes"])})


class Gatekeeper:
    """What `protonlab_gate` gives to a test.

    Parameters
    ----------
    test
        Which one; its baselines are called after it and lie beside it, and it takes the numbers,
        for JUnit XML.
    """

    def __init__(self, test: pytest.Item) -> None:
        self._test, self._config = test, test.config
        self._folder = test.path.parent / FOLDER
        self._gates = test.stash.setdefault(_GATES, [])
        self._claimed: set[str] = set()

    def __call__(
        self,
        variants: Mapping[str, Callable[[], Any]],
        *,
        threshold: float | str | None = None,
        name: str = "",
        outputs: Literal["equal", "any"] = "equal",
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
        outputs
            ``"equal"``: fails where outputs differ, unless they did in the baseline, too; no
            baseline of such is recorded. ``"any"``: they may differ, such as by random numbers.
        **options
            Those of `protonlab.compare_variants`.

        Raises
        ------
        RegressionError
            If it became slower, or its outputs differ.
        ProtonLabError
            If the variants cannot be measured.
        """
        __tracebackhide__ = True  # a test fails at its own line
        try:
            return self._measured(variants, threshold, name, outputs, options)
        except ProtonLabError as error:
            raise error.with_traceback(None) from error.__cause__

    def _measured(
        self, variants: Any, threshold: Any, name: str, outputs: Any, options: Any
    ) -> VariantComparison:
        from protonlab.experiment import (
            baseline_of,
            compare_variants,
            judged,
            raise_if_regressed,
        )
        from protonlab.experiment._alone import alone_on_device
        from protonlab.experiment._baseline_names import baseline_stem, baselines, older_stem, slug
        from protonlab.experiment._check import check_outputs
        from protonlab.model.thresholds import threshold_of

        records, allowed = map(
            self._config.getoption, ("--protonlab-record", "--protonlab-threshold")
        )
        if threshold is not None:
            allowed = threshold
        threshold_of(allowed)
        check_outputs(outputs)
        stem = baseline_stem(*_described(self._test), name)
        self._claim(stem)
        known = baselines(self._folder, stem)
        older = baselines(self._folder, older_stem(self._test.name, name))
        if not records and not known:
            pytest.fail(self._no_baseline(stem, older), pytrace=False)
        with alone_on_device() if hasattr(self._config, "workerinput") else nullcontext():
            found = compare_variants(variants, **options)
        path = self._folder / f"{stem}.{slug(found.info.gpu or found.info.backend)}.json"
        notes = tuple(map(_OLDER.format, [each.name for each in older]))
        if records:
            gate = baseline_of(found, path.name, outputs=outputs)
            gate = dataclasses.replace(gate, notes=(*gate.notes, *notes))
            self._gates.append(gate)
            raise_if_regressed(gate)
            path.parent.mkdir(parents=True, exist_ok=True)
            found.save(path)
            return found
        if path not in known:
            others = ", ".join(other.name for other in known)
            pytest.skip(f"no baseline for this GPU, {path.name}, only {others}; {_HINT}")
        gate = judged(path, found, threshold=allowed, outputs=outputs)
        title = f"{gate.title}, {path.name}"
        gate = dataclasses.replace(gate, title=title, notes=(*gate.notes, *notes))
        self._gates.append(gate)
        for row in gate.rows:  # a comparison's all have a ratio
            for part, value in (("slowdown", row.slowdown), ("low", row.low), ("high", row.high)):
                self._test.user_properties.append((f"{row.name}: {part}", f"{value:.6g}"))
        raise_if_regressed(gate)
        return found

    def _claim(self, stem: str) -> None:
        """Let no two gates of one run have one baseline; a test that is run again may."""
        key = str(self._folder / stem).casefold()
        other = self._config.stash[_ASKED].setdefault(key, self)
        if key in self._claimed:
            pytest.fail(
                f"two gates of this test are called {stem}, and would have one baseline; tell them "
                'apart: protonlab_gate(..., name="...")',
                pytrace=False,
            )
        if other._test.nodeid != self._test.nodeid:
            pytest.fail(
                f"{other._test.nodeid} has a gate called {stem}, too, and both would have one "
                "baseline; rename one of the tests",
                pytrace=False,
            )
        self._claimed.add(key)

    def _no_baseline(self, stem: str, older: list[Path]) -> str:
        from protonlab.experiment._baseline_names import renamed

        text = f"there is no baseline {stem} in {self._folder}; {_HINT}"
        if not older:
            return text
        moves = (
            f"  git mv {shlex.quote(str(each))} {shlex.quote(str(renamed(each, stem)))}"
            for each in older
        )
        return "\n".join(
            [
                text,
                "What lies there is named without module and class, as protonlab did before, and "
                "tests that share the rest of their name wrote over each other's. If this test "
                "wrote it last:",
                *moves,
            ]
        )


@pytest.fixture
def protonlab_gate(request: pytest.FixtureRequest) -> Gatekeeper:
    """Measure two variants and hold their ratio against the recorded one."""
    return Gatekeeper(request.node)


def _described(test: pytest.Item) -> tuple[list[str], str | None]:
    """Name module, classes and function of a test, and its parameters."""
    function = getattr(test, "originalname", None) or test.name
    classes = [each.name for each in test.listchain() if isinstance(each, pytest.Class)]
    rest = test.name.removeprefix(function)
    return [test.path.stem, *classes, function], rest[1:-1] if rest else None
