"""Notebook cells for tests of the exported page, hostile ones among them."""

from __future__ import annotations

from typing import Any

from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

HOSTILE = [
    "<script>pwned = 1</script>seen",
    "<img src=x onerror='pwned = 1'>seen",
    "<img src='https://elsewhere.invalid/p.png'>seen",
    "<svg onload='pwned = 1'><text>seen</text></svg>",
    "<iframe srcdoc='<script>parent.pwned = 1</script>'></iframe>seen",
    "<a href='javascript:pwned = 1'>seen</a>",
    "<style>@import 'https://elsewhere.invalid/x.css';</style>seen",
    "<table class='protonlab-table'><thead><tr><th style='background:url(https://elsewhere.invalid)'>"
    "<script>pwned = 1</script>seen</thead><tbody><tr><td onclick='pwned = 1'>1</table>",
    "<form action='https://elsewhere.invalid'><button>seen</button></form>",
    "</pre></section></main><script>pwned = 1</script>seen",
    "<div class='protonlab-figure'><script type='application/json'>{}</script>seen</div>",
    '<div class="protonlab-figure"><script type="application/json">[pwned = 1]</script>seen</div>',
]


def display_data(**data: str) -> Any:
    """An output; ``text_html`` stands for ``text/html``."""
    return new_output("display_data", {kind.replace("_", "/", 1): v for kind, v in data.items()})


def code(*outputs: Any) -> Any:
    return new_code_cell("1", outputs=list(outputs))


def hostile_cells() -> list[Any]:
    return [
        *(code(display_data(text_html=html)) for html in HOSTILE),
        *(code(new_output("stream", text=html)) for html in HOSTILE),
        *(code(display_data(text_markdown=html)) for html in HOSTILE),
        *(new_markdown_cell(html) for html in HOSTILE),
        code(new_output("error", ename=HOSTILE[0], evalue=HOSTILE[1], traceback=[])),
        code(display_data(**{"image/svg+xml": "<svg onload='pwned = 1'/>"})),
        code(display_data(**{"application/vnd.plotly.v1+json": "pwned = 1", "text/plain": "seen"})),
        new_code_cell(HOSTILE[0]),
    ]
