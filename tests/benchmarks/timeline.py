"""Time from a trace of 200,000 events to a figure, and of drawing and zooming it in Chromium.

    python tests/benchmarks/timeline.py [--events 200000] [--repeats 5] [--chromium PATH]

The trace is the recorded GPT training step, repeated on the time axis until it has so many events,
as Triton 3.9 would write it. Each repeat runs in the same process: reading the file (beside
``json.loads`` and ``orjson.loads`` of the same bytes, for scale), building the figure, writing its
JSON. Then a page with the figure, as it is exported, is opened in headless Chromium: first drawing,
a zoom to 1/20 of the time, a step to the side, and the way back, each until the next frame is
painted. Medians; the last lines are JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from playwright.sync_api import sync_playwright

import protonlab
from protonlab.model.frames import FloatArray
from protonlab.views import figure_html, page_script
from protonlab.views.page import PLOTLY_MIME

sys.path.insert(0, str(Path(__file__).parents[1] / "browser"))
from rig import chromium  # the tests' own Chromium, with the same flags

RECORDED = Path(__file__).parents[1] / "profiles" / "gpt_trace_3.9.0.chrome_trace.gz"
DRAW = """async () => {
    const host = document.querySelector(".protonlab-figure").protonlab;
    const start = performance.now();
    host.Plotly.purge(host.plot);
    host.paint();
    await host.drawn;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - start;
}"""
# Plotly's own part of a zoom, and until the texts and boxes of the new part are there.
ZOOM = """async (range) => {
    const host = document.querySelector(".protonlab-figure").protonlab;
    const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const start = performance.now();
    const before = host.drawn;
    await host.Plotly.relayout(host.plot, { "xaxis.range": range });
    await frame();
    const moved = performance.now() - start;
    while (host.drawn === before) await new Promise((done) => setTimeout(done, 5));
    await host.drawn;
    await frame();
    return [moved, performance.now() - start];
}"""


def write_trace(path: Path, events: int) -> None:
    """Repeat the recorded trace until it has so many events."""
    document = json.loads(gzip.decompress(RECORDED.read_bytes()))
    named = [each for each in document["traceEvents"] if each["ph"] == "M"]
    timed = [each for each in document["traceEvents"] if each["ph"] != "M"]
    span = max(each["ts"] + each.get("dur", 0) for each in timed) + 10
    repeated = (
        each | {"ts": round(each["ts"] + turn * span, 3)}
        for turn in range(events // len(timed) + 1)
        for each in timed
    )
    document["traceEvents"] = [
        *named,
        *(each for each, _ in zip(repeated, range(events - len(named)), strict=False)),
    ]
    path.write_text(json.dumps(document, separators=(",", ":")))


def timed(work: Callable[[], Any], repeats: int) -> tuple[FloatArray, Any]:
    """Median seconds: of the clock, and of the processor, which others' work does not lengthen."""
    seconds, processor = [], []
    for _ in range(repeats):
        start, begin = time.perf_counter(), time.process_time()
        result = work()
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - begin)
    return np.array([statistics.median(seconds), statistics.median(processor)]), result


def in_browser(page_path: Path, executable: str, repeats: int) -> dict[str, float]:
    """Median milliseconds of drawing, zooming and moving."""
    found: dict[str, list[float]] = {}
    with sync_playwright() as playwright, chromium(playwright, executable) as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.goto(page_path.as_uri())
        page.wait_for_selector(".bars path", state="attached")
        page.wait_for_timeout(1000)
        low, high = page.evaluate(
            "document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range"
        )
        part = (high - low) / 20
        for _ in range(repeats):
            found.setdefault("first drawing", []).append(page.evaluate(DRAW))
            for name, range_ in (
                ("zoom in", [low + 9 * part, low + 10 * part]),
                ("move aside", [low + 9.5 * part, low + 10.5 * part]),
                ("zoom out", [low, high]),
            ):
                moved, done = page.evaluate(ZOOM, range_)
                found.setdefault(f"{name}, plotly", []).append(moved)
                found.setdefault(f"{name}, finer", []).append(done)
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        write_trace(path, options.events)
        data = path.read_bytes()
        protonlab.timeline(protonlab.load(RECORDED))  # type: ignore[arg-type]  # imports
        read, trace = timed(lambda: protonlab.load(path), options.repeats)
        built, figure = timed(lambda: protonlab.timeline(trace), options.repeats)
        written, text = timed(figure.to_json, options.repeats)
        scale = {
            "json.loads": timed(lambda: json.loads(data), options.repeats)[0][1],
            "orjson.loads": timed(lambda: orjson.loads(data), options.repeats)[0][1],
        }
        bundle = figure._repr_mimebundle_()
        page = Path(folder) / "page.html"
        body = figure_html(bundle[PLOTLY_MIME], bundle["text/html"])
        page.write_text(f'<meta charset="utf-8"><body>{body}{page_script(body)}', "utf-8")
        drawn = in_browser(page, options.chromium, options.repeats)
    boxes = {
        meta: sum(len(trace.x) for trace in figure.data if trace.meta == meta)
        for meta in ("boxes", "detail")
    }
    result = {
        "events": options.events,
        "file MB": round(len(data) / 1e6, 1),
        "seconds, of the processor": {
            name: np.round(seconds, 3).tolist()
            for name, seconds in (
                ("read", read),
                ("figure", built),
                ("file to figure", read + built),
                ("figure's JSON", written),
            )
        },
        "read / json.loads": round(read[1] / scale["json.loads"], 2),
        "read / orjson.loads": round(read[1] / scale["orjson.loads"], 2),
        "boxes": boxes,
        "figure JSON MB": round(len(text) / 1e6, 2),
        "browser ms": {name: round(value) for name, value in drawn.items()},
        "versions": {name: version(name) for name in ("plotly", "pandas", "msgspec", "numpy")}
        | {"python": platform.python_version()},
        "repeats": options.repeats,
        "cpus": os.cpu_count(),
        "load_average": os.getloadavg(),
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
