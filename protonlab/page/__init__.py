"""A notebook as one HTML page that needs no network and runs no script but ours."""

from protonlab.page._evidence import Evidence
from protonlab.page._render import Page, render

__all__ = ["Evidence", "Page", "render"]
