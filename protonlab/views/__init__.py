"""Views: a profile as a figure or a table. Each returns what it made and shows nothing itself."""

from protonlab.views._bars import bars
from protonlab.views._compiled_table import compiled_table, ptx_difference
from protonlab.views._distribution_table import distribution_table
from protonlab.views._flame import flame
from protonlab.views._heatmap import HeatmapFigure, heatmap
from protonlab.views._overlap import OverlapFigure, overlap_by_tokens
from protonlab.views._pairs import PairsFigure, pairs
from protonlab.views._roofline import RooflineFigure, roofline
from protonlab.views._table import table
from protonlab.views._timeline import TimelineFigure, timeline
from protonlab.views.bar_layout import BarsFigure
from protonlab.views.flame_figure import FlameFigure
from protonlab.views.flame_options import FlameOptions
from protonlab.views.kernel_table import KernelTable
from protonlab.views.page import PLOTLY_MIME, figure_html, figure_of, page_script
from protonlab.views.run_text import run_tree
from protonlab.views.svg import picture_of, themed_picture_of
from protonlab.views.text_tree import TextTree, comparison_tree, profile_tree

__all__ = [
    "PLOTLY_MIME",
    "BarsFigure",
    "FlameFigure",
    "FlameOptions",
    "HeatmapFigure",
    "KernelTable",
    "OverlapFigure",
    "PairsFigure",
    "RooflineFigure",
    "TextTree",
    "TimelineFigure",
    "bars",
    "comparison_tree",
    "compiled_table",
    "distribution_table",
    "figure_html",
    "figure_of",
    "flame",
    "heatmap",
    "overlap_by_tokens",
    "page_script",
    "pairs",
    "picture_of",
    "profile_tree",
    "ptx_difference",
    "roofline",
    "run_tree",
    "table",
    "themed_picture_of",
    "timeline",
]
