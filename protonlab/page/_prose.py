"""Markdown and foreign HTML as harmless HTML, and the headings of a page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup
from nbformat import NotebookNode

_SHARE = re.compile(r"width: [\d.]+%")
_HEADING_ID = re.compile(r"section-\d+")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(frozen=True)
class Heading:
    """A heading of the page, for its table of contents."""

    anchor: str
    text: str
    level: int


@dataclass
class Contents:
    """Renders markdown cells one after the other and collects their headings."""

    headings: list[Heading] = field(default_factory=list)

    def prose(self, cell: NotebookNode) -> Markup:
        """Render a markdown cell; pictures that are attached to it become part of it."""
        text = cell.source
        for name, bundle in cell.get("attachments", {}).items():
            for kind, content in bundle.items():
                text = text.replace(f"attachment:{name}", f"data:{kind};base64,{content}")
        markdown = _markdown()
        tokens = markdown.parse(text)
        for token, inline in pairwise(tokens):
            if token.type == "heading_open":
                anchor = f"section-{len(self.headings) + 1}"
                token.attrSet("id", anchor)
                words = clean(markdown.renderer.render([inline], markdown.options, {})).striptags()
                self.headings.append(Heading(anchor, words, int(token.tag[1:])))
        return clean(markdown.renderer.render(tokens, markdown.options, {}))

    @property
    def title(self) -> str | None:
        """The first heading of the first level."""
        return next((each.text for each in self.headings if each.level == 1), None)

    @property
    def listed(self) -> list[Heading]:
        """Headings of a table of contents; none where a reader sees all of them anyway."""
        below = [each for each in self.headings if each.level in (2, 3)]
        return below if len(below) > 1 else []


def prose(text: str) -> Markup:
    """Render markdown that is an output; its headings are not the page's."""
    return clean(_markdown().render(text))


def clean(html: str) -> Markup:
    """Take out scripts, styles, frames, forms, event handlers, and pictures from elsewhere.

    The marks of our own tables stay, and the page's own copy of their script finds them.
    """
    return Markup(
        nh3.clean(
            html,
            attributes=nh3.ALLOWED_ATTRIBUTES
            | {"i": {"style"}, "*": {"title"}}
            | {name: {"id"} for name in _HEADINGS},
            allowed_classes={
                "table": {"protonlab-table"},
                "td": {"share", "words"},
                "th": {"words"},
                "i": {"more", "less"},
                "p": {"protonlab-note"},
            },
            url_schemes={"http", "https", "mailto", "data"},
            attribute_filter=_keep_attribute,
        )
    )


def _keep_attribute(tag: str, attribute: str, value: str) -> str | None:
    """Keep links for a person to click, pictures that are in the page itself, and bars."""
    wanted = {
        "href": not value.startswith("data:"),
        "src": value.startswith("data:image/"),
        "style": _SHARE.fullmatch(value) is not None,
        "id": _HEADING_ID.fullmatch(value) is not None,
    }
    return value if wanted.get(attribute, True) else None


def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")
