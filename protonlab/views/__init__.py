"""Views: a profile as a figure or a table. Each returns what it made and shows nothing itself."""

from protonlab.views._bars import bars
from protonlab.views._flame import FlameFigure, flame
from protonlab.views._table import KernelTable, table
from protonlab.views.bar_layout import BarsFigure
from protonlab.views.page import figure_html, figure_of, page_script

__all__ = [
    "BarsFigure",
    "FlameFigure",
    "KernelTable",
    "bars",
    "figure_html",
    "figure_of",
    "flame",
    "page_script",
    "table",
]
