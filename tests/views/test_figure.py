"""The mime bundle of a figure, its static picture, and figures in a page."""

from __future__ import annotations

import copy
import json
import pickle
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from small_profiles import EVIL, hand, kernel, profile

from protonlab.formats import load
from protonlab.formats.embedded import MEASURED_MIME, PROFILES_MIME
from protonlab.model import Profile, compare
from protonlab.views import bars, figure_html, figure_of, flame, page_script, table
from protonlab.views.figure import ProfileFigure
from protonlab.views.page import PLOTLY_MIME, drawing_source, kernel_source

PROFILES = [
    *sorted(Path(__file__).parents[1].glob("profiles/*.hatchet")),
    *sorted(Path(__file__).parents[1].glob("profiles/*.msgpack")),
    *sorted(Path(__file__).parents[2].glob("protonlab/recorded/*.hatchet")),
]


FORMS = {"text/html", "text/plain", PROFILES_MIME, MEASURED_MIME}  # that every view has


def svg_of(html: str) -> ET.Element:
    """The SVG of a static picture; fails when it is not well-formed XML."""
    found = re.search(r"<svg.*</svg>", html, re.DOTALL)
    assert found is not None
    return ET.fromstring(found[0])


def words(svg: ET.Element) -> list[str]:
    return [element.text or "" for element in svg.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("view", [flame, bars])
def test_bundle_outside_of_a_notebook(view: object) -> None:
    bundle = view(hand())._repr_mimebundle_()  # type: ignore[operator]
    assert set(bundle) == {PLOTLY_MIME, "image/svg+xml", *FORMS}
    json.dumps(bundle)
    assert "<script" not in bundle["text/html"]


def test_headless_run_stores_no_widget_and_one_small_output_a_figure() -> None:
    source = (
        "from small_profiles import hand\nfrom protonlab.views import flame, table\n"
        "figure = flame(hand())\nfigure"
    )
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source), nbformat.v4.new_code_cell("table(hand())")]
    )
    resources = {"metadata": {"path": str(Path(__file__).parent)}}
    NotebookClient(notebook, resources=resources, kernel_name="python3").execute()
    (figure,), (shown,) = ([output.data for output in cell.outputs] for cell in notebook.cells)
    assert set(figure) == {PLOTLY_MIME, "image/svg+xml", *FORMS}
    assert set(shown) == FORMS
    assert not notebook.metadata.get("widgets", {})
    assert len(nbformat.writes(notebook)) < 40_000


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda fig: pickle.loads(pickle.dumps(fig))])
def test_copies_are_the_same_figure(copied: object) -> None:
    figure = flame(hand())
    twin = copied(figure)  # type: ignore[operator]
    assert type(twin) is type(figure)
    assert twin._repr_mimebundle_() == figure._repr_mimebundle_()


def test_repr_is_one_plain_line() -> None:
    assert repr(flame(hand())) == (
        "<FlameFigure: hand · time 1.00 µs · CUDA 0 (sm_90, 132 SMs), 7 boxes>"
    )


def test_static_flame_shows_the_boxes_and_their_texts() -> None:
    svg = svg_of(flame(hand())._repr_mimebundle_()["text/html"])
    assert words(svg) == [
        "hand · time 1.00 µs · CUDA 0 (sm_90, 132 SMs)",
        *("hand  100 %", "forward  60.0 %", "backward  40.0 %"),
        *("matmul  45.0 %", "relu  15.0 %", "matmul  30.0 %", "norm  10.0 %"),
    ]
    widths = [
        float(rect.get("width", ""))
        for rect in svg.iter("{http://www.w3.org/2000/svg}rect")
        if rect.get("width") != "100%"
    ]
    # 884 pixels between the margins, less the gap of 0.6 behind each box.
    assert widths == pytest.approx(
        [884 * part - 0.6 for part in (1, 0.6, 0.4, 0.45, 0.15, 0.3, 0.1)], abs=0.06
    )


def test_static_bars_show_labels_and_values() -> None:
    svg = svg_of(bars(hand(), top=2)._repr_mimebundle_()["text/html"])
    assert words(svg) == [
        "hand · kernels by time · CUDA 0 (sm_90, 132 SMs)",
        *("matmul", "relu", "\u00a0750 ns", "\u00a0150 ns"),
        "1 more kernel: top=2.",
    ]


def test_static_picture_of_nothing_is_a_sentence() -> None:
    assert words(svg_of(flame(profile())._repr_mimebundle_()["text/html"]))[-1] == (
        "No kernel was recorded."
    )


@pytest.mark.parametrize("view", [flame, bars])
def test_static_picture_holds_no_tag_of_a_name(view: object) -> None:
    figure = view(profile(kernel(EVIL, 10), name=EVIL))  # type: ignore[operator]
    html = figure._repr_mimebundle_()["text/html"]
    tags = {element.tag.rpartition("}")[2] for element in svg_of(html).iter()}
    assert tags <= {"svg", "rect", "text", "title"}


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_recorded_profile(path: Path) -> None:
    recorded = load(path)
    for figure in (flame(recorded), bars(recorded)):
        bundle = figure._repr_mimebundle_()
        assert figure.data
        svg_of(bundle["text/html"])
        assert len(json.dumps(bundle)) < 250_000
    shown = flame(recorded).data
    total = recorded.inclusive["time_ns"].iloc[0]
    assert max(max(trace.x) for trace in shown) == total
    assert table(recorded).rows


class Scripts(HTMLParser):
    """Contents of the script elements of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = tag == "script"
        if self.inside:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "script"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found[-1] += data


def test_json_in_a_page_cannot_end_its_script() -> None:
    figure = {"data": [{"name": "</script><script>alert(1)</script><!--"}], "layout": {}}
    html = figure_html(figure)
    assert "<!--" not in html
    (found,) = Scripts(html).found
    assert json.loads(found) == figure


def test_figure_of_a_stored_output() -> None:
    figure = {"data": [], "layout": {"title": {"text": "a</script>b"}}}
    assert figure_of({PLOTLY_MIME: figure, "text/html": "<svg/>"}) == figure
    assert figure_of({"text/html": figure_html(figure, "<svg/>")}) == figure
    assert figure_of({"text/html": "<b>x</b>", "text/plain": "x"}) is None


def test_page_script_holds_plotly_once_and_loads_nothing() -> None:
    script = page_script(figure_html(json.loads(flame(hand()).to_json())))
    assert script.count("<script") == 2
    assert "src=" not in re.sub(r"<script>.*?</script>", "", script, count=1, flags=re.DOTALL)


def test_the_es_module_of_a_flame_graph_stays_small() -> None:
    assert len(drawing_source(["flame"]).splitlines()) < 250


@pytest.mark.parametrize(
    ("made", "classes"),
    [
        ([flame], {"Drawing", "Flame"}),
        ([bars], {"Drawing", "FittedDrawing", "Marking"}),
        ([flame, bars], {"Drawing", "Flame", "FittedDrawing", "Marking"}),
        ([], {"Drawing"}),
    ],
)
def test_a_page_has_the_code_of_its_own_views(
    made: list[Callable[[Profile], ProfileFigure]], classes: set[str]
) -> None:
    named = profile(kernel('k "view":"timeline"', 5))  # a name is no view
    figures = [figure_html(json.loads(view(named).to_json())) for view in made]
    module = page_script("".join(figures)).rpartition('<script type="module">')[2]
    assert set(re.findall(r"^class (\w+)", module, re.MULTILINE)) == classes


def test_a_page_with_notes_has_the_code_that_fits_them() -> None:
    noted = flame(compare(hand(), hand()))
    module = page_script(figure_html(json.loads(noted.to_json())))
    assert "class FittedDrawing" in module


def test_a_living_kernel_brings_the_code_of_all_views() -> None:
    classes = re.findall(r"^class (\w+)", kernel_source(), re.MULTILINE)
    assert sorted(classes) == [
        "Drawing", "FittedDrawing", "Flame", "Marking", "RefinedFlame", "Timeline",
    ]  # fmt: skip


def test_parts_of_a_module_declare_each_name_once() -> None:
    declared = re.findall(
        r"^(?:export )?(?:async )?(?:const|let|class|function)\*? +(?:\[(.*?)\]|\{(.*?)\}|(\w+))",
        kernel_source(),
        re.MULTILINE,
    )
    names = [name.strip() for group in declared for name in ",".join(group).split(",") if name]
    assert {"TRIES", "PAUSE", "Marking"} <= {*names}
    assert [name for name, count in Counter(names).items() if count > 1] == []
