"""From an executed notebook to its page: scrubbed, with its profiles, written in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, from_dict

from protonlab.errors import ProfileFormatError
from protonlab.formats.embedded import (
    MAX_EMBEDDED_FRAMES,
    PROFILES_MIME,
    Embedded,
    block_of,
    carried_by,
    measured_by,
    names_of,
    pack,
    unpack,
)
from protonlab.model.evidence import Evidence
from protonlab.page import Page, render
from protonlab.report._options import ReportOptions
from protonlab.report._scrubbing import Scrubber
from protonlab.report._target import write_text
from protonlab.report._widgets import with_figures

_MOST_BYTES = 2**28  # of one profile's document; an output that unpacks to more is no profile
_STRIPPED = "The profiles behind the figures were left out (--strip-data)."


def write_page(
    notebook: NotebookNode,
    target: Path,
    *,
    folder: Path,
    title: str | None = None,
    options: ReportOptions | None = None,
) -> None:
    """Write the page, whole or not at all.

    Parameters
    ----------
    notebook
        The notebook with its outputs; it is not changed.
    target
        The page.
    folder
        Where the notebook lies.
    title
        Title of the page.
    options
        What the page shows and holds.
    """
    options = options or ReportOptions()
    scrubber = None if options.keep_paths else Scrubber(folder)
    profiles = list(_profiles(notebook))
    notebook = with_figures(notebook)
    if scrubber is not None:
        profiles = [_scrubbed(each, scrubber) for each in profiles]
        notebook = _scrubbed_notebook(notebook, scrubber)
        title = scrubber.text(title) if title else title
    named = dict(zip(names_of([each.name for each in profiles]), profiles, strict=True))
    held = {name: each.packed for name, each in named.items() if each.packed}
    page = Page(
        title=title or "",
        name=target.stem,
        show_code=options.show_code,
        evidence=_measured(notebook),
        notes=list(_notes(named, options, scrubber)),
        data=block_of(held) if held and options.embed_data else "",
        is_stripped=not options.embed_data,
    )
    write_text(render(notebook, page), target)


def _profiles(notebook: NotebookNode) -> Iterator[Embedded]:
    """Find the profiles that outputs carry, each once, in the order of the page."""
    seen = set()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            for each in carried_by(output.get("data", {})):
                if each not in seen:
                    seen.add(each)
                    yield each


def _scrubbed(embedded: Embedded, scrubber: Scrubber) -> Embedded:
    """Scrub a profile's document as text: it may be too deep to be read as JSON."""
    try:
        text = unpack(embedded.packed, source="a profile", max_bytes=_MOST_BYTES).decode()
    except (ProfileFormatError, UnicodeDecodeError):
        text = ""
    packed = pack(scrubber.text(text)) if text else ""
    return Embedded(scrubber.text(embedded.name), embedded.frames, packed)


def _scrubbed_notebook(notebook: NotebookNode, scrubber: Scrubber) -> NotebookNode:
    cells = []
    for cell in notebook.cells:
        clean = cell.copy()
        clean.source = scrubber.text(cell.source)
        if cell.cell_type == "code":
            whole = map(_without_profiles, _joined(cell.outputs))
            clean.outputs = [scrubber.tree(output) for output in whole]
        cells.append(clean)
    return _node({**notebook, "cells": cells})


def _joined(outputs: Iterable[NotebookNode]) -> Iterator[NotebookNode]:
    """Join what a stream wrote in pieces: a path may begin in one and end in the next."""
    for stream, group in groupby(outputs, lambda output: output.get("name")):
        pieces = list(group)
        if stream:
            pieces = [_node({**pieces[0], "text": "".join(each.text for each in pieces)})]
        yield from pieces


def _without_profiles(output: NotebookNode) -> NotebookNode:
    if "data" not in output:
        return output
    data = {kind: value for kind, value in output.data.items() if kind != PROFILES_MIME}
    return _node({**output, "data": data})


def _node(values: dict[str, Any]) -> NotebookNode:
    node: NotebookNode = from_dict(values)  # type: ignore[no-untyped-call]
    return node


def _measured(notebook: NotebookNode) -> list[Evidence]:
    """How what the outputs show was measured, each once."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    found = (each for output in outputs for each in measured_by(output.get("data", {})))
    return list(dict.fromkeys(found))


def _notes(
    named: dict[str, Embedded], options: ReportOptions, scrubber: Scrubber | None
) -> Iterator[str]:
    held = [name for name, each in named.items() if each.packed]
    if held and options.embed_data:
        yield (
            "This page holds the profiles behind its figures: protonlab.load of this file gives a "
            f"dict with {', '.join(repr(name) for name in held)}."
        )
    elif held:
        yield _STRIPPED
    large = [name for name, each in named.items() if not each.packed]
    if large:
        yield (
            f"Too large to travel with their figures (more than {MAX_EMBEDDED_FRAMES:,} frames): "
            f"{', '.join(large)}; share them with Profile.save."
        )
    if scrubber is not None:
        yield scrubber.note
