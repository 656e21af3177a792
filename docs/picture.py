"""Make `picture.png`, which README and the site begin with: ``python docs/picture.py``.

A notebook of two cells, run and exported by `protonlab.export_report` and photographed in Chromium.
What it shows is a recorded profile, so no GPU is needed.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import nbformat
from playwright.sync_api import sync_playwright

import protonlab

CELLS = (
    "import protonlab\n"
    "from protonlab import recorded\n\n"
    "run1 = recorded.moe_sweep()  # what `%%proton run1` left on an H200\n"
    "protonlab.flame(run1)",
    'protonlab.bars(run1, metric="gbyte/s", lines="peak")',
)
WIDTH = 900

with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
    notebook = Path(folder, "picture.ipynb")
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), notebook)
    page = protonlab.export_report(notebook, execute=True)
    browser = playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox"]
    )
    tab = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5)
    tab.goto(page.as_uri())
    tab.wait_for_selector(".protonlab-figure[data-drawn]:nth-of-type(1)")
    tab.wait_for_timeout(2000)
    tab.locator("main").screenshot(path=Path(__file__).with_name("picture.png"))
    browser.close()
