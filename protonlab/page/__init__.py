"""A notebook as one HTML page that needs no network and runs no script but ours."""

from protonlab.page._outputs import without_terminal_codes
from protonlab.page._render import Page, render
from protonlab.views import PLOTLY_MIME

__all__ = ["PLOTLY_MIME", "Page", "render", "without_terminal_codes"]
