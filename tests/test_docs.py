"""The documentation's sources: every public name has its place, and what is shown can be typed.

Sphinx itself holds links and directives when it builds the site (`make docs`), and runs the guides.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

import protonlab

PROJECT = Path(__file__).parent.parent
DOCS = PROJECT / "docs"
PAGES = [PROJECT / "README.md", *sorted(DOCS.rglob("*.md"))]


def documented() -> set[str]:
    """Public names that the reference has, each where it is read in full."""
    text = "\n".join(path.read_text() for path in (DOCS / "reference").glob("*.md"))
    return {*re.findall(r"^\.\. auto\w+:: protonlab\.(\w+)$", text, re.MULTILINE)}


def test_reference_has_every_public_name() -> None:
    missing = {*protonlab.__all__} - documented() - {"__version__"}
    assert not missing, "give each a line in docs/reference/"


def test_reference_has_no_name_that_went_away() -> None:
    assert documented() - {*protonlab.__all__} == {"kernels"}  # a module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_code_can_be_typed(page: Path) -> None:
    blocks = re.findall(r"^```(?:python|\{code-cell\} ipython3)\n(.*?)^```", page.read_text(),
                        re.MULTILINE | re.DOTALL)  # fmt: skip
    for block in blocks:
        ast.parse(TransformerManager().transform_cell(re.sub(r"^:tags:.*\n", "", block)))


def test_readme_shows_a_picture_that_is_there() -> None:
    (name,) = re.findall(r"^!\[[^]]+\]\((.+)\)$", PAGES[0].read_text(), re.MULTILINE)
    assert (PROJECT / name).read_bytes().startswith(b"\x89PNG")
    assert (PROJECT / name).stat().st_size < 300_000


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_outside_of_the_site_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (PROJECT / name).read_text())
    assert [link for link in links if not (PROJECT / link).exists()] == []


def test_guides_answer_what_people_ask() -> None:
    listed = re.search(r"maxdepth: 1\n(.*?)```", (DOCS / "how-to/index.md").read_text(), re.DOTALL)
    assert listed is not None
    assert set(listed[1].split()) == {path.stem for path in (DOCS / "how-to").glob("*.md")} - {
        "index"
    }
