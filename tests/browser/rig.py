"""A real JupyterLab and a real Chromium for tests: start, open, run all, click, look.

Everything runs on loopback, with its own configuration and data folders, and is stopped by the
context manager that started it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import nbformat
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Playwright

from protonlab.views import figure_html, page_script
from protonlab.views.page import PLOTLY_MIME

Theme = Literal["light", "dark"]

PROJECT = Path(__file__).parent.parent.parent
SCREENSHOTS = PROJECT / "screenshots"
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Who waits for what will come loses nothing by patience; a machine may be busy.
_START_S, _RUN_S, _PATIENCE_S = 120, 240, 60
# Whether each figure is drawn, and stays so: fitting, another width or theme draws it again.
_SETTLED = """async () => {
    const drawings = () => [...document.querySelectorAll(".protonlab-figure")]
        .map((host) => host.protonlab?.drawn);
    const before = drawings();
    await Promise.all(before);
    for (const _ of "12") await new Promise(requestAnimationFrame);
    return drawings().every((drawn, at) => drawn === before[at]);
}"""


@contextmanager
def chromium(playwright: Playwright, executable: str) -> Iterator[Browser]:
    """Headless Chromium with a fresh profile."""
    browser = playwright.chromium.launch(
        executable_path=executable, headless=True, args=list(_FLAGS)
    )
    try:
        yield browser
    finally:
        browser.close()


# JupyterLab complains so when a kernel is stopped while it asks the kernel's debugger something.
_OF_JUPYTERLAB = "Canceled future for debug_request message before replies were done"


@dataclass
class Tab:
    """A page that remembers what went wrong in it and where it tried to connect to."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    received: list[int] = field(default_factory=list)  # bytes of each message from a kernel

    def __post_init__(self) -> None:
        self.page.set_default_timeout(1000 * _PATIENCE_S)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._on_frame))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _on_frame(self, payload: str | bytes) -> None:
        self.received.append(len(payload))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and _OF_JUPYTERLAB not in message.text:
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def wait_for_figures(self, count: int) -> None:
        """Wait until so many plotly figures show bars."""
        self.page.wait_for_function(
            """count => [...document.querySelectorAll(".js-plotly-plot")]
                .filter((plot) => plot.querySelector(".bars path")).length === count""",
            arg=count,
        )
        self.settle()

    def settle(self) -> None:
        """Wait until all figures are drawn, with what listens to clicks and keys."""
        self.page.wait_for_function(_SETTLED)

    def eventually(self, read: Callable[[], Any], expected: Any) -> None:
        """Look again and again until what is read is as expected; else fail with what it was."""
        deadline = time.monotonic() + _PATIENCE_S
        while (seen := read()) != expected and time.monotonic() < deadline:
            self.page.wait_for_timeout(20)
        assert seen == expected, f"{seen!r}, and not {expected!r}"

    def show(self, path: Path, *figures: Any) -> None:
        """Write figures into a page and open it, without a network."""
        bundles = [figure._repr_mimebundle_() for figure in figures]
        body = "".join(figure_html(each[PLOTLY_MIME], each["text/html"]) for each in bundles)
        style = "<style>body { background: Canvas; color-scheme: light dark }</style>"
        head = f'<!doctype html><meta charset="utf-8">{style}'
        path.write_text(f"{head}<body>{body}{page_script(body)}</body>", "utf-8")
        self.page.context.set_offline(True)
        self.page.context.route("http*://**", lambda route: route.abort())
        self.page.goto(path.as_uri())

    def screenshot(self, name: str, selector: str | Locator | None = None) -> Path:
        """Save a picture of the page or of one element under ``screenshots/``."""
        SCREENSHOTS.mkdir(exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        if selector is None:
            self.page.screenshot(path=path)
        else:
            part = self.page.locator(selector) if isinstance(selector, str) else selector
            part.first.screenshot(path=path)
        return path

    def set_theme(self, theme: Theme) -> None:
        """Switch JupyterLab's theme and wait until the page has it."""
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})",
            f"JupyterLab {theme.capitalize()}",
        )
        wanted = "true" if theme == "light" else "false"
        self.page.wait_for_selector(f"body[data-jp-theme-light='{wanted}']", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")
        self.settle()


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab.

    Parameters
    ----------
    url
        Where it listens, on loopback.
    folder
        Where its notebooks lie.
    """

    url: str
    folder: Path

    def write(self, name: str, cells: Sequence[str]) -> None:
        """Write a notebook of code cells."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, self.folder / name)

    def open(self, tab: Tab, name: str) -> None:
        """Open a notebook and wait until its kernel is idle."""
        tab.page.goto(f"{self.url}/lab/tree/{name}?reset")
        tab.page.wait_for_selector("text=/Python 3.*\\| Idle/", timeout=_START_S * 1000)

    def open_in_notebook(self, tab: Tab, name: str) -> None:
        """Open a notebook in Jupyter Notebook 7, which the same server brings."""
        tab.page.goto(f"{self.url}/notebooks/{name}")
        tab.page.wait_for_function(
            """() => {
                const { sessionContext } = window.jupyterapp?.shell.currentWidget ?? {};
                return sessionContext?.session?.kernel?.status === "idle";
            }""",
            timeout=_START_S * 1000,
        )

    def run_all(self, tab: Tab) -> None:
        """Run all cells and wait for the last one to finish."""
        tab.page.evaluate(
            "window.jupyterapp.commands.execute('notebook:run-all-cells')",
        )
        tab.page.wait_for_function(
            """() => {
                const cells = [...document.querySelectorAll(".jp-CodeCell")];
                const prompts = cells.map((cell) =>
                    cell.querySelector(".jp-InputPrompt").textContent);
                return cells.length > 0 && prompts.every((text) => /\\[\\d+\\]/.test(text));
            }""",
            timeout=_RUN_S * 1000,
        )

    def save(self, tab: Tab) -> None:
        """Save the notebook, and wait until it is stored."""
        tab.page.evaluate("window.jupyterapp.shell.currentWidget.context.save()")

    def stop_kernels(self, tab: Tab) -> None:
        """Shut down every kernel, as a person does who leaves for the day."""
        tab.page.evaluate(
            """async () => {
                const { sessions } = window.jupyterapp.serviceManager;
                await sessions.shutdownAll();
            }"""
        )


@contextmanager
def jupyterlab(folder: Path) -> Iterator[Lab]:
    """Start JupyterLab on a free port of loopback.

    Parameters
    ----------
    folder
        An empty folder; notebooks, configuration, data and log go there.
    """
    notebooks = folder / "notebooks"
    notebooks.mkdir()
    private = {
        f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")
    }
    environment = {
        **os.environ,
        **private,
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH")))),
    }
    quiet = folder / "settings" / "@jupyterlab" / "apputils-extension"
    quiet.mkdir(parents=True)
    (quiet / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    port = _free_port()
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        *(f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token="),
        *("--ServerApp.password=", "--LabApp.expose_app_in_browser=True"),
        "--JupyterNotebookApp.expose_app_in_browser=True",
        *("--LabApp.extension_manager=readonly", f"--notebook-dir={notebooks}"),
        f"--LabApp.workspaces_dir={folder / 'workspaces'}",
        f"--LabApp.user_settings_dir={folder / 'settings'}",
    ]
    log = folder / "jupyterlab.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, server, log)
        yield Lab(url, notebooks)
    finally:
        server.terminate()  # JupyterLab ends its kernels
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, 9)
            server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/api", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start at {url}:\n{log.read_text()[-3000:]}")
