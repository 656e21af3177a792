"""Colours: contrast for reading, and differences that survive colour blindness."""

from __future__ import annotations

import itertools
import math
import re
from importlib import resources

import numpy as np
import pytest

from protonlab.views import theme
from protonlab.views.theme import DARK_TWINS, HOVER, INK, MUTED, PAGE, ROLES, TEXT

# Viénot, Brettel and Mollon (1999), on linear RGB.
SIMULATION = {
    "protanopia": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deuteranopia": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}
VISIONS = ["normal", *SIMULATION]
MODES = ["light", "dark"]


def linear(colour: str) -> np.ndarray:
    """Linear RGB of ``#rrggbb``."""
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Contrast ratio as WCAG 2 defines it."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear RGB, D65."""
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    scaled = np.clip(np.array(matrix) @ rgb / [0.95047, 1, 1.08883], 1e-9, None)
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def seen(role: str, vision: str, mode: str) -> np.ndarray:
    """A role's fill as an eye sees it, in L*a*b*."""
    matrix = np.array(SIMULATION.get(vision, np.eye(3)))
    return lab(matrix @ linear(getattr(ROLES[role].fill, mode)))


def test_contrast_of_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("role", ROLES)
def test_text_on_each_box_can_be_read(role: str, mode: str) -> None:
    look = ROLES[role]
    assert contrast(getattr(INK, mode), getattr(look.fill, mode)) >= 4.5
    assert (look.pattern != "") == (look.hatch is not None)
    if look.hatch is not None:
        assert contrast(getattr(INK, mode), getattr(look.hatch, mode)) >= 4.5


@pytest.mark.parametrize("colour", [TEXT, MUTED, theme.REFERENCE])
def test_text_on_the_page_can_be_read(colour: object) -> None:
    for mode, page in zip(MODES, PAGE, strict=True):
        assert contrast(getattr(colour, mode), page) >= 4.5
        assert contrast(getattr(colour, mode), getattr(HOVER, mode)) >= 4.5


@pytest.mark.parametrize("page", [*PAGE, "#111418"])  # the last is that of an exported page
def test_text_on_the_bars_of_a_table_can_be_read(page: str) -> None:
    css = (resources.files("protonlab.views") / "static" / "table.css").read_text("utf-8")
    bars = re.findall(r"share i[^}]*rgba\((\d+), (\d+), (\d+), ([\d.]+)\)", css)
    assert len(bars) == 2
    text = TEXT.light if page == PAGE[0] else TEXT.dark
    ground = np.array([int(page[i : i + 2], 16) for i in (1, 3, 5)])
    for *bar, part in bars:
        mixed = np.array(list(map(int, bar))) * float(part) + ground * (1 - float(part))
        assert contrast(text, "#" + "".join(f"{round(value):02x}" for value in mixed)) >= 4.5


@pytest.mark.parametrize(
    "colour", [theme.REFERENCE, theme.WHISKER, theme.OUTLINE, theme.FIRST, theme.SECOND]
)
def test_lines_on_the_page_can_be_seen(colour: object) -> None:
    for mode, page in zip(MODES, PAGE, strict=True):
        assert contrast(getattr(colour, mode), page) >= 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize(
    "roles",
    [("scope", "kernel", "filtered", "unseen"), tuple(theme.LIBRARIES), tuple(theme.PARTS)],
    ids=["kinds", "libraries", "parts"],
)
def test_fills_differ_for_every_eye(roles: tuple[str, ...], vision: str, mode: str) -> None:
    for one, other in itertools.combinations(roles, 2):
        distance = np.linalg.norm(seen(one, vision, mode) - seen(other, vision, mode))
        assert distance > 12, (one, other)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("vision", VISIONS)
def test_slower_faster_and_gone_differ_for_every_eye(vision: str, mode: str) -> None:
    for one, other in itertools.combinations(("slower_most", "faster_most", "removed"), 2):
        distance = np.linalg.norm(seen(one, vision, mode) - seen(other, vision, mode))
        assert distance > 12, (one, other)
    for steps in (("", "_more", "_most"),):
        for which in ("slower", "faster"):
            away = [
                float(np.linalg.norm(seen(which + step, vision, mode) - middle))
                for middle in [seen("unchanged", vision, mode)]
                for step in steps
            ]
            assert away == sorted(away)
            assert away[0] > 4


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("vision", VISIONS)
def test_steps_of_the_scale_go_one_way_in_lightness(vision: str, mode: str) -> None:
    lightness = [float(seen(role, vision, mode)[0]) for role in theme.SCALE]
    steps = np.diff(lightness)
    assert (steps < -4).all() if mode == "light" else (steps > 2).all()


@pytest.mark.parametrize(
    ("change", "ratio", "role"),
    [
        ("added", math.nan, "added"),
        ("removed", math.nan, "removed"),
        ("unchanged", 1.5, "unchanged"),
        ("changed", 1.1, "slower"),
        ("changed", 1.5, "slower_more"),
        ("changed", 1.51, "slower_most"),
        ("changed", math.inf, "slower_most"),
        ("changed", 0.95, "faster"),
        ("changed", 0.8, "faster_more"),
        ("changed", 0.5, "faster_most"),
        ("changed", 0.0, "faster_most"),
    ],
)
def test_role_of_a_difference(change: str, ratio: float, role: str) -> None:
    assert theme.role_of_difference(change, ratio) == role
    assert role in theme.DIFFERENCES


def test_role_of_a_step() -> None:
    assert [theme.role_of_step(part) for part in (0, 0.16, 0.17, 0.99, 1)] == [
        "step_0", "step_0", "step_1", "step_5", "step_5",
    ]  # fmt: skip


def test_each_light_colour_has_one_dark_twin() -> None:
    # Two roles with one light colour could not get two dark ones.
    fills = {(role.fill.light, role.fill.dark) for role in ROLES.values()}
    assert len({light for light, _ in fills}) == len(fills)
    assert fills <= set(DARK_TWINS.items())
