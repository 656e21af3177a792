"""A notebook as one page: what it shows, what it refuses to run, and what it never asks for."""

from __future__ import annotations

import base64
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from cells import HOSTILE, code, display_data, hostile_cells
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import protonlab
from protonlab import recorded, views
from protonlab.report import ReportOptions

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ"
    "RU5ErkJggg=="
)


def write(path: Path, *cells: Any) -> Path:
    nbformat.write(new_notebook(cells=list(cells)), path)
    return path


def export(path: Path, *cells: Any) -> str:
    """The page of a notebook made of these cells."""
    options = ReportOptions(allow_errors=True)
    return protonlab.export_report(write(path / "a.ipynb", *cells), options=options).read_text()


# ---- what it shows


def test_page_has_title_prose_code_and_text(tmp_path: Path) -> None:
    page = export(
        tmp_path,
        new_markdown_cell("# Two *kernels*\n\n| a | b |\n|---|---|\n| 1 | 2 |"),
        code(new_output("stream", text="one\n"), new_output("stream", text="two\n")),
    )
    assert "<title>Two kernels</title>" in page
    assert '<h1 id="section-1">Two <em>kernels</em></h1>' in page
    assert "<td>1</td>" in page
    assert '<pre class="output">one\ntwo</pre>' in page


@pytest.mark.parametrize("magic", ["proton", "px"])
def test_body_of_a_cell_magic_over_python_is_coloured_as_python(tmp_path: Path, magic: str) -> None:
    page = export(tmp_path, new_code_cell(f"%%{magic} run1\n\nfor x in y:\n    pass"))
    assert '<span class="k">for</span>' in page
    assert re.search(rf"{magic}</span>.* run1.*\n+.*for</span>", page)


def test_terminal_codes_and_overwritten_lines_are_gone(tmp_path: Path) -> None:
    page = export(tmp_path, code(new_output("stream", text="10%\r50%\r100%\n\x1b[31mred\x1b[0m\n")))
    assert '<pre class="output">100%\nred</pre>' in page


def test_failure_is_shown_as_one(tmp_path: Path) -> None:
    error = new_output(
        "error", ename="KeyError", evalue="'x'", traceback=["\x1b[0;31mKeyError: 'x'"]
    )
    assert '<pre class="output error">KeyError: &#39;x&#39;</pre>' in export(tmp_path, code(error))


def test_page_without_a_heading_is_called_as_its_file(tmp_path: Path) -> None:
    page = protonlab.export_report(write(tmp_path / "nightly_run.ipynb", code())).read_text()
    assert "<title>nightly_run</title>" in page


def test_what_nbformat_mends_by_itself_needs_no_warning(tmp_path: Path) -> None:
    twins = [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": text} for text in "xy"]
    bare = {"cell_type": "markdown", "metadata": {}, "source": "z"}
    document = {"cells": [*twins, bare], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(document))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = protonlab.export_report(tmp_path / "a.ipynb").read_text()
    assert all(f"<p>{text}</p>" in page for text in "xyz")


def test_pictures_are_part_of_the_page(tmp_path: Path) -> None:
    cell = new_markdown_cell("![p](attachment:p.png)", attachments={"p.png": {"image/png": PIXEL}})
    page = export(tmp_path, cell, code(display_data(**{"image/png": PIXEL})))
    assert page.count(f'src="data:image/png;base64,{PIXEL}"') == 2


def test_page_without_figures_has_no_script(tmp_path: Path) -> None:
    page = export(tmp_path, code(display_data(text_html="<table><tr><td>1</td></tr></table>")))
    assert "<script" not in page
    assert "script-src 'none'" in page
    assert "<td>1</td>" in page


def test_plotly_is_in_the_page_once(tmp_path: Path) -> None:
    figure = protonlab.bars(recorded.moe_sweep())
    stored = new_output("display_data", figure._repr_mimebundle_())
    # As a living notebook stores it: plotly's JSON inside of HTML.
    live = display_data(text_html=views.figure_html(figure.to_plotly_json()))
    page = export(tmp_path, code(stored), code(live))
    assert page.partition("</main>")[0].count('class="protonlab-figure"') == 2
    assert len(re.findall(r"plotly\.js v\d", page)) == 1
    assert len(page) < 6_000_000


def test_html_around_figures_and_pictures_stays(tmp_path: Path) -> None:
    figure = protonlab.bars(recorded.moe_sweep())
    picture = views.picture_of(figure)
    live = views.figure_html(figure.to_plotly_json(), picture)
    html = f"<div><p>part-one</p>{picture}<p>part-two</p>{live}<p>part-three</p>{live}</div>"
    html += "<b>part-four</b>"
    page = export(tmp_path, code(display_data(text_html=html)))
    main = page.partition("<main>")[2].partition("</main>")[0]
    order = re.findall(
        'part-[a-z]+|class="protonlab-figure"|class="still"|src="data:image/svg', main
    )
    drawn = ['class="protonlab-figure"', 'class="still"', 'src="data:image/svg']
    assert order == [
        "part-one",
        'src="data:image/svg',
        "part-two",
        *drawn,
        "part-three",
        *drawn,
        "part-four",
    ]


def test_figure_widgets_become_figures_and_others_their_text(tmp_path: Path) -> None:
    source = (
        "import ipywidgets, numpy as np, plotly.graph_objects as go\n"
        "figure = go.FigureWidget(go.Bar(y=np.array([3.0, 4.0])))\n"
        "figure.layout.title = 'in /home/ann/secret/x'\n"
        "display(figure, ipywidgets.IntSlider(value=3))"
    )
    notebook = write(tmp_path / "a.ipynb", new_code_cell(source))
    text = protonlab.export_report(notebook, execute=True).read_text()
    main = text.partition("<main>")[2].partition("</main>")[0]
    (found,) = re.findall('"protonlab-figure"><script type="application/json">(.*?)<', main)
    figure = json.loads(found)
    (trace,) = figure["data"]
    assert trace["y"]["dtype"] == "f8"
    assert np.frombuffer(base64.b64decode(trace["y"]["bdata"])).tolist() == [3, 4]
    assert figure["layout"]["title"]["text"] == "in …/x"
    assert '<pre class="output">IntSlider(value=3)</pre>' in main


@pytest.mark.parametrize(
    "model",
    [
        None, {}, {"state": 1}, {"state": {"_widget_data": 1, "_widget_layout": 1}},
        {"state": {"_widget_data": [{}], "_widget_layout": {}}, "buffers": [{"path": []}]},
        {"state": {"_widget_data": [{"y": {"dtype": "int64", "shape": [1]}}], "_widget_layout": {}},
         "buffers": [{"path": ["_widget_data", 0, "y", "buffer"], "data": "AAAA"}]},
    ],
)  # fmt: skip
def test_damaged_widget_state_leaves_the_text(tmp_path: Path, model: Any) -> None:
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "m"}, "text/plain": "twin"}
    cell = code(new_output("display_data", view))
    notebook = new_notebook(cells=[cell])
    state = {"state": {"m": model}, "version_major": 2, "version_minor": 0}
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    nbformat.write(notebook, tmp_path / "a.ipynb")
    text = protonlab.export_report(tmp_path / "a.ipynb").read_text()
    assert '<pre class="output">twin</pre>' in text


# ---- what it refuses


def test_nothing_hostile_is_left(tmp_path: Path) -> None:
    broken = code(display_data(**{"image/png": '"><script>pwned = 1</script>'}))
    page = export(tmp_path, *hostile_cells(), broken)
    main = page.partition("<main>")[2].partition("</main>")[0]
    tags = set(re.findall(r"<([a-zA-Z]+)", main))
    own = {"section", "div", "pre", "span", "img"}
    assert tags <= own | {"p", "a", "table", "thead", "tbody", "tr", "th", "td"}
    assert not re.search(r"<[^>]*(?:onerror|onload|javascript:|elsewhere\.invalid)", page)
    assert page.count("seen") >= 3 * len(HOSTILE)


# ---- what can go wrong


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "there is no notebook .*; in that folder lie b.ipynb"),
        ("", "it is not JSON .*Give an .ipynb that Jupyter saved"),
        ("[1, 2]", "it is JSON without cells.*Give an .ipynb"),
        ('{"nbformat": 4', "it is not JSON .Expecting ',' delimiter: line 1"),
        (
            '{"nbformat": 4, "nbformat_minor": 5, "cells": 3}',
            "is not a notebook that Jupyter would",
        ),
        (b"\xff\xfe\x00", "it is not text.*Give an .ipynb"),
    ],
)
def test_what_is_no_notebook_is_said_so(tmp_path: Path, content: str | bytes, says: str) -> None:
    path = tmp_path / "a.ipynb"
    path.with_name("b.ipynb").touch()
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(protonlab.ProtonLabError, match=says) as caught:
        protonlab.export_report(path)
    assert str(path) in str(caught.value)
    assert not path.with_suffix(".html").exists()


# ---- running the notebook


def test_notebook_runs_in_its_own_folder_with_this_python(tmp_path: Path) -> None:
    notebook = write(
        tmp_path / "a.ipynb",
        new_code_cell("import os, sys, protonlab\nprint(os.getcwd(), sys.executable)"),
    )
    before = notebook.read_bytes()
    options = ReportOptions(keep_paths=True)
    page = protonlab.export_report(notebook, tmp_path / "b.html", execute=True, options=options)
    assert f"{tmp_path} {sys.executable}" in page.read_text()
    assert notebook.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ipynb", "b.html"]


def test_failing_cell_raises_and_the_page_shows_it(tmp_path: Path) -> None:
    notebook = write(
        tmp_path / "a.ipynb",
        new_code_cell("print('before')\n1 / 0"),
        new_code_cell("print('after')"),
    )
    with pytest.raises(protonlab.ProtonLabError, match=r"cell \[1\] raised ZeroDivi") as caught:
        protonlab.export_report(notebook, execute=True)
    page = tmp_path / "a.html"
    assert str(page) in str(caught.value)
    assert '<pre class="output">before</pre>' in page.read_text()
    assert '<pre class="output error">' in page.read_text()
    assert '<pre class="output">after</pre>' not in page.read_text()


def test_cell_that_never_ends_is_stopped_and_says_so(tmp_path: Path) -> None:
    notebook = write(
        tmp_path / "a.ipynb",
        new_markdown_cell("# A"),
        new_code_cell(""),
        new_code_cell("1"),
        new_code_cell("import time\ntime.sleep(600)"),
    )
    with pytest.raises(protonlab.ProtonLabError, match=r"cell \[2\] did not finish within 3 s;"):
        protonlab.export_report(notebook, execute=True, timeout=3)
    assert "CellTimeoutError: cell [2] did not finish" in (tmp_path / "a.html").read_text()


def test_kernel_that_dies_is_said_so(tmp_path: Path) -> None:
    notebook = write(tmp_path / "a.ipynb", new_code_cell("import os\nos._exit(1)"))
    with pytest.raises(protonlab.ProtonLabError, match=r"the kernel died in cell \[1\]"):
        protonlab.export_report(notebook, execute=True)
    assert "the kernel died in cell [1]" in (tmp_path / "a.html").read_text()
