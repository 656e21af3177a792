"""What a living kernel answers when a page asks for more of a figure."""

from __future__ import annotations

import gc
import json
from typing import Any

from protonlab.views.figure import ProfileFigure
from protonlab.views.live import FigureServer

META = {"meta": {"protonlab": {"view": "line"}}}


class Line(ProfileFigure):
    """A line that has one more point between 3 and 4."""

    def refined(self, focus: Any) -> Line | None:
        if focus != {"range": [3, 4]}:
            return None
        return Line(data=[{"type": "scatter", "x": [3, 3.5, 4]}], layout=META)


def line() -> Line:
    return Line(data=[{"type": "scatter", "x": [3, 4]}], layout=META)


def remembered(server: FigureServer, figure: ProfileFigure) -> str:
    shown = json.loads(figure.to_json())
    server.remember(figure, shown)
    return str(shown["layout"]["meta"]["protonlab"]["id"])


def test_a_figure_shows_more_of_a_part() -> None:
    server, figure = FigureServer(), line()
    answer = server.refine({"id": remembered(server, figure), "focus": {"range": [3, 4]}})
    assert answer is not None
    assert answer["data"][0]["x"] == [3, 3.5, 4]
    assert "id" not in json.loads(figure.to_json())["layout"]["meta"]["protonlab"]


def test_what_is_refined_can_be_refined_again() -> None:
    server = FigureServer()
    first = server.refine({"id": remembered(server, line()), "focus": {"range": [3, 4]}})
    assert first is not None
    again = {"id": first["layout"]["meta"]["protonlab"]["id"], "focus": {"range": [3, 4]}}
    assert server.refine(again) is not None


def test_nothing_more_to_show() -> None:
    server, figure = FigureServer(), line()
    known = remembered(server, figure)
    assert server.refine({"id": known, "focus": {"range": [0, 1]}}) is None
    assert server.refine({"id": "of another kernel", "focus": {"range": [3, 4]}}) is None
    assert ProfileFigure().refined(3) is None


def test_only_some_figures_are_kept() -> None:
    server = FigureServer()
    ids = [remembered(server, line()) for _ in range(20)]
    gc.collect()
    assert server.refine({"id": ids[-1], "focus": {"range": [3, 4]}}) is not None
    assert server.refine({"id": ids[0], "focus": {"range": [3, 4]}}) is None


def test_a_figure_that_is_asked_again_and_again_is_kept() -> None:
    server = FigureServer()
    known = {"id": remembered(server, line()), "focus": {"range": [3, 4]}}
    for _ in range(20):
        assert server.refine(known) is not None
        gc.collect()


def test_a_figure_without_our_mark_is_left_alone() -> None:
    shown = {"data": [], "layout": {}}
    FigureServer().remember(line(), shown)
    assert shown == {"data": [], "layout": {}}
