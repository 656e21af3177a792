"""Figures as image files: SVG without anything else, other formats with what they need."""

from __future__ import annotations

import importlib.util
import io
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from small_profiles import hand

from protonlab.errors import MissingDependencyError, ProtonLabError
from protonlab.views import bars, flame

HAS_KALEIDO = importlib.util.find_spec("kaleido") is not None


@pytest.mark.parametrize("view", [flame, bars])
@pytest.mark.parametrize("name", ["a.svg", "a.SVG"])
def test_svg_needs_no_browser(view: Any, name: str, tmp_path: Path) -> None:
    view(hand()).write_image(tmp_path / name)
    root = ET.fromstring((tmp_path / name).read_text("utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "matmul" in (tmp_path / name).read_text("utf-8")


def test_the_format_may_be_given() -> None:
    into = io.BytesIO()
    bars(hand()).write_image(into, format="svg")
    assert into.getvalue() == bars(hand()).to_image("svg")


def test_svg_has_what_a_person_changed() -> None:
    figure = bars(hand())
    figure.update_layout(title_text="mine")
    assert b">mine</text>" in figure.to_image("svg")


@pytest.mark.skipif(HAS_KALEIDO, reason="Kaleido is here")
def test_png_without_kaleido_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MissingDependencyError, match=r"pip install kaleido.*'figure\.svg'"):
        bars(hand()).write_image(tmp_path / "a.png")
    with pytest.raises(MissingDependencyError, match="a png needs Kaleido"):
        bars(hand()).to_image()
    assert not list(tmp_path.iterdir())


@pytest.mark.browser
@pytest.mark.skipif(not HAS_KALEIDO, reason="needs Kaleido")
def test_png_through_kaleido(
    tmp_path: Path, browser_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", browser_path)
    bars(hand()).write_image(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(not HAS_KALEIDO, reason="needs Kaleido")
def test_no_browser_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProtonLabError, match=r"Kaleido could not draw a png.*install one"):
        bars(hand()).write_image(tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("a.gif", {}, "format='gif'; use one of: svg, png, pdf, jpg, jpeg, webp"),
        ("a", {}, "'a' names no format; end it in .svg or .png, or give format="),
        ("a.svg", {"width": 100}, "width: an SVG of protonlab's is 900 pixels wide"),
        ("none/a.svg", {}, "cannot write the image none/a.svg: No such file"),
    ],
)
def test_errors(
    file: str, options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProtonLabError, match=message):
        bars(hand()).write_image(file, **options)
    assert not list(tmp_path.iterdir())
