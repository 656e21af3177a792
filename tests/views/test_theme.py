"""Colours: contrast for reading, and differences that survive colour blindness."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from protonlab.views.theme import DARK_TWINS, HOVER, INK, MUTED, PAGE, ROLES, TEXT

# Viénot, Brettel and Mollon (1999), on linear RGB.
SIMULATION = {
    "protanopia": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deuteranopia": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}


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


def test_contrast_of_black_on_white() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("role", ROLES)
def test_text_on_each_box_can_be_read(role: str, mode: str) -> None:
    assert contrast(getattr(INK, mode), getattr(ROLES[role].fill, mode)) >= 4.5


@pytest.mark.parametrize("colour", [TEXT, MUTED])
def test_text_on_the_page_can_be_read(colour: object) -> None:
    for mode, page in zip(("light", "dark"), PAGE, strict=True):
        assert contrast(getattr(colour, mode), page) >= 4.5
        assert contrast(getattr(colour, mode), getattr(HOVER, mode)) >= 4.5


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("vision", ["normal", *SIMULATION])
def test_kernels_differ_for_every_eye(vision: str, mode: str) -> None:
    matrix = np.array(SIMULATION.get(vision, np.eye(3)))
    fills = {
        name: lab(matrix @ linear(getattr(ROLES[name].fill, mode)))
        for name in ("scope", "kernel", "filtered", "unseen")
    }
    for one, other in itertools.combinations(fills, 2):
        assert np.linalg.norm(fills[one] - fills[other]) > 12, (one, other)


def test_each_light_colour_has_one_dark_twin() -> None:
    # Two roles with one light colour could not get two dark ones.
    fills = [role.fill.light for role in ROLES.values()]
    assert len(set(fills)) == len(fills)
    assert set(fills) <= set(DARK_TWINS)
