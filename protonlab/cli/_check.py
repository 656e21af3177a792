"""``protonlab check``: a gate for continuous integration."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Literal

import click

from protonlab.cli._usage import typed_wrongly
from protonlab.errors import MetricError, ProtonLabError
from protonlab.model.sentences import cleaned_lines

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_SUMMARY = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog="""\b
What to record, and how:
  two variants at once  protonlab.compare_variants({"old": f, "new": g})
  a cell or a script    %%proton run1 repeat=20, Session.repeats(20)
and then .save("baseline.json"), run1.save("baseline.hatchet").

Exit codes: 0 nothing regressed, 1 something did or cannot be judged, 2 typed
wrongly.
"""
)
@click.argument("baseline", type=_FILE)
@click.argument("candidate", type=_FILE, required=False)
@click.option(
    "-t", "--threshold", default="3%", show_default=True, help="Slowdown that is allowed."
)
@click.option("-m", "--metric", help="For profiles: a time or a rate.  [default: time/us]")
@click.option("--include", metavar="REGEX", help="For profiles: judge these kernels, too.")
@click.option("--absolute", is_flag=True, help="For comparisons: judge each variant by itself.")
@click.option("--any-outputs", is_flag=True, help="For comparisons: their outputs may differ.")
@click.option(
    "--markdown",
    type=_SUMMARY,
    metavar="PATH",
    help="Write a summary to this file; $GITHUB_STEP_SUMMARY is added to.",
)
@click.option("--junit", type=_SUMMARY, metavar="PATH", help="Write JUnit XML to this file.")
@click.pass_context
def check(
    context: click.Context,
    baseline: Path,
    candidate: Path | None,
    threshold: str,
    metric: str | None,
    include: str | None,
    absolute: bool,
    any_outputs: bool,
    markdown: Path | None,
    junit: Path | None,
) -> None:
    """Fail when something became slower, beyond what noise explains.

    It fails when the 95 % interval of the slowdown lies wholly beyond the
    threshold. BASELINE and CANDIDATE are two saved profiles that were repeated,
    or two saved comparisons of the same variants. A saved comparison alone
    holds both: its second variant is judged against its first. It also fails
    when the outputs of two variants differ, and did not in the baseline.
    """
    from protonlab.experiment import judged
    from protonlab.experiment._check import check_options, read_measured
    from protonlab.experiment._gate_summaries import write_markdown
    from protonlab.model.filters import compile_pattern
    from protonlab.model.thresholds import threshold_of
    from protonlab.model.writing import write_atomically

    with typed_wrongly():
        threshold_of(threshold)
        compile_pattern(include, "--include")
        _check_targets(baseline, candidate, markdown=markdown, junit=junit)
    outputs: Literal["any", "equal"] = "any" if any_outputs else "equal"
    before = read_measured(baseline, "baseline")
    after = None if candidate is None else read_measured(candidate, "candidate")
    with typed_wrongly():
        check_options(
            before, after, metric=metric, include=include, absolute=absolute, outputs=outputs
        )
    with typed_wrongly(MetricError) if metric is not None else nullcontext():
        gate = judged(
            before,
            after,
            threshold=threshold,
            metric=metric,
            include=include,
            absolute=absolute,
            outputs=outputs,
        )
    click.echo(cleaned_lines(str(gate)))  # whatever comes of the summaries
    if markdown is not None:
        write_markdown([gate.to_markdown()], markdown)
    if junit is not None:
        write_atomically([gate.to_junit()], junit)
    if not gate.passed:
        context.exit(1)


def _check_targets(*taken: Path | None, **targets: Path | None) -> None:
    """Refuse a summary that has no folder, or would replace what is judged, or another summary."""
    used = {each.resolve() for each in taken if each is not None}
    for name, path in targets.items():
        if path is None:
            continue
        where = path.resolve()
        if not where.parent.is_dir():
            raise ProtonLabError(f"--{name} {path}: there is no folder {path.parent}")
        if where in used:
            raise ProtonLabError(f"--{name} {path}: that is another of these files; name a new one")
        used.add(where)
