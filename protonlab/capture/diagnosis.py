"""What recording and showing need, looked at one by one: `doctor`."""

from __future__ import annotations

import html
import os
import platform
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version

from protonlab.capture import _checks
from protonlab.capture._checks import Check, Findings
from protonlab.capture._trial import findings_in

_WIDTH = 80
_STATE, _NAME = 9, 17  # columns of the text


@dataclass(frozen=True)
class Diagnosis:
    """What `doctor` found; shows itself as text or as a table on a page.

    Parameters
    ----------
    title
        Versions of protonlab and Python.
    checks
        One line each.
    """

    title: str
    checks: tuple[Check, ...]

    @property
    def can_record(self) -> bool:
        """Whether a session records here, on a GPU or on the interpreter."""
        needed = [check for check in self.checks if check.name in ("recording", "interpreter")]
        return all(check.state != "missing" for check in needed)

    def __str__(self) -> str:
        return "\n".join([self.title, *(line for check in self.checks for line in _lines(check))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{check.state}</td><td>{html.escape(check.name)}</td>"
            f'<td style="text-align: left">{html.escape(check.finding)}</td>'
            f'<td style="text-align: left">{html.escape(check.next_step)}</td></tr>'
            for check in self.checks
        )
        heads = "".join(f"<th>{head}</th>" for head in ("state", "what", "finding", "next step"))
        return (
            f"<div>{html.escape(self.title)}</div>"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        )


def _lines(check: Check) -> Iterator[str]:
    """Text of a check within 80 columns."""
    head = check.state.ljust(_STATE) + check.name.ljust(_NAME)
    indent = " " * (_STATE + _NAME)
    yield from textwrap.wrap(check.finding, _WIDTH, initial_indent=head, subsequent_indent=indent)
    if check.next_step:
        yield from textwrap.wrap(
            check.next_step, _WIDTH, initial_indent=f"{indent}→ ", subsequent_indent=f"{indent}  "
        )


def doctor(*, timeout_s: float = 90) -> Diagnosis:
    """Look at everything that recording and showing need, and try to record.

    The trial runs in a process of its own: what this one records is not disturbed, and a crash
    there is a finding here. It takes a few seconds. Names of devices and versions are all that the
    diagnosis holds of this machine, so it can be pasted into a report.

    Parameters
    ----------
    timeout_s
        Seconds to wait for the trial.

    Examples
    --------
    >>> protonlab.doctor()  # doctest: +SKIP
    """
    findings, ended = _tried(timeout_s)
    return Diagnosis(
        f"protonlab {version('protonlab')}, Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}",
        (
            _checks.gpu(findings),
            _checks.torch(findings),
            _checks.triton(findings),
            _checks.interpreter(findings),
            _checks.cupti(findings),
            _checks.recording(findings, ended),
            _checks.features(findings),
            _checks.other_profilers(),
            _checks.clocks(findings),
            _checks.shown_in(),
            _checks.packages(),
        ),
    )


def _tried(timeout_s: float) -> tuple[Findings, str]:
    """Run a trial in its own process; its findings, and how it ended where it did not end well."""
    paths = os.pathsep.join(filter(None, sys.path))  # it sees the packages that this process sees
    command = [sys.executable, "-m", "protonlab.capture._trial"]
    try:
        trial = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return findings_in(_text(error.stdout)), f"did not end within {timeout_s:g} s"
    except OSError as error:
        return {}, f"did not start: {error.strerror}"
    output = findings_in(_text(trial.stdout))
    if trial.returncode < 0:
        return output, f"ended by signal {signal.Signals(-trial.returncode).name}"
    if trial.returncode:
        last = _text(trial.stderr).strip().rpartition("\n")[2]
        return output, f"failed: {last}"
    return output, ""


def _text(output: bytes | str | None) -> str:
    return output if isinstance(output, str) else (output or b"").decode(errors="replace")
