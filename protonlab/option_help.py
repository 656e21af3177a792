"""The help of ``%%proton`` and ``%proton``, made from the one option table."""

from __future__ import annotations

import textwrap

from protonlab.capture import OPTIONS


def help_text() -> str:
    """Return what ``%proton --help`` prints."""
    width = max(len(option.name) for option in OPTIONS)
    options = []
    for option in OPTIONS:
        values = f" Values: {', '.join(option.choices)}." if option.choices else ""
        lines = textwrap.wrap(f"{option.help}{values} Example: {option.example}", 72)
        options.append(f"  {option.name:<{width}}  {lines[0]}")
        options += [f"  {'':<{width}}  {line}" for line in lines[1:]]
    return _HELP_TEXT.format(options="\n".join(options))


_HELP_TEXT = """\
Profile the GPU kernels of a cell, or of one statement, and show what ran.

  %%proton [NAME] [OPTION=VALUE ...]     the cell below
  %proton [OPTION=VALUE ...] STATEMENT   one statement; -- ends the options
  p = %proton [OPTION=VALUE ...] STATEMENT

The cell runs as if the line were not there; its profile (a trace, or a run of ranks) is left in
NAME and in _proton. An assigned %proton returns it and shows nothing. Each option may also be
written --OPTION VALUE; quotes hold a value with spaces together, everything else is taken as it
stands.

{options}"""
