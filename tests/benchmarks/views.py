"""How fast flame graphs are made and drawn, as ratios to plotly's own icicle in the same browser.

    python tests/benchmarks/views.py [--repeats 5] [--json PATH]

Building: from a seeded profile of 1.01 million frames (fan-out 10/10/10/10/100) that nothing has
been computed of yet, to a figure. Medians in milliseconds, and of processor time, which says more
where the machine has other things to do.

Drawing: the same boxes as a figure of protonlab and as a ``go.Icicle`` with the same names, colours
and hover texts, in fresh pages of one Chromium, in turn: from parsed JSON to the painted page, then
from the call that a click makes to the painted page. A click on an icicle also runs an animation of
750 ms; it is left out. Three profiles: the million frames; a training step of 1,804 frames; the
recorded training step of a GPT.

Size: an exported page with the flame graph, bars and table of each, less plotly.js.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import time
from bisect import bisect_right
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Browser, sync_playwright
from plotly.offline import get_plotlyjs

import protonlab
from protonlab.model import Device, Profile, ProfileInfo
from protonlab.model.frames import KINDS, MetricColumn, categorical
from protonlab.page import render
from protonlab.views.page import drawing_source

MILLION, TRAINING = (10, 10, 10, 10, 100), (3, 24, 4, 5)
RECORDED = Path(__file__).parents[1] / "profiles" / "gpt_train_3.9.0.hatchet"
COLUMNS = (
    MetricColumn("count", "count", "", True),
    MetricColumn("time_ns", "time (ns)", "ns", True),
    MetricColumn("bytes", "bytes", "", True),
    MetricColumn("flops16", "flops16", "", True),
)
H200 = Device("CUDA", 0, "90", 132, 1_980_000.0, 3_201_000.0, 6_016)

PAGE = """<!doctype html><meta charset="utf-8"><body style="margin: 0">
<div id="host" class="protonlab-figure" style="width: 1100px"></div>
<script>{plotly}</script><script type="module">
{module}
const frame = () => new Promise((done) => requestAnimationFrame(done));
const painted = async () => {{ await frame(); await frame(); }};
const timed = async (act) => {{
  await painted();
  const start = performance.now();
  await act();
  await painted();
  return performance.now() - start;
}};
globalThis.protonlab_draws = async (figure, target) => {{
  const host = document.getElementById("host");
  let drawing;
  const draw = async () => {{
    drawing = new Drawing(host, Plotly, figure);
    await drawing.drawn;
  }};
  const zoom = (id) => async () => {{
    drawing.view.zoom(drawing.view.boxes.find((box) => box.id === id));
    await drawing.drawn;
  }};
  return [await timed(draw), await timed(zoom(target)), await timed(zoom(0))];
}};
globalThis.icicle_draws = async (figure, target) => [
  await timed(() => Plotly.newPlot("host", figure.data, figure.layout)),
  await timed(() => Plotly.restyle("host", {{ level: [String(target)] }})),
  await timed(() => Plotly.restyle("host", {{ level: ["0"] }})),
];
</script>"""


def tree(fan_out: tuple[int, ...], sigma: float, seed: int = 0) -> pd.DataFrame:
    """A frame table: scopes, and kernels as leaves whose times are log-normal."""
    rng = np.random.default_rng(seed)
    sizes = [1]  # frames of a subtree, from the leaves up
    for children in reversed(fan_out):
        sizes.append(1 + children * sizes[-1])
    sizes.reverse()
    count = sizes[0]
    parent, depth = np.full(count, -1), np.zeros(count, dtype=np.int64)
    above = np.zeros(1, dtype=np.int64)
    for level, children in enumerate(fan_out, start=1):
        rows = above[:, None] + 1 + np.arange(children) * sizes[level]
        parent[rows], depth[rows] = above[:, None], level
        above = rows.ravel()
    leaf = depth == len(fan_out)
    names = [f"layer_{n}" for n in range(50)] + [
        f"_p_matmul_bf16xmxfp4 [M={n}]" for n in range(2000)
    ]
    number = np.where(leaf, 50 + rng.integers(0, 2000, count), rng.integers(0, 50, count))
    kinds = np.where(leaf, KINDS.index("kernel"), KINDS.index("scope"))
    kinds[0] = KINDS.index("root")

    def recorded(values: Any) -> Any:
        return pd.arrays.IntegerArray(np.asarray(values).astype(np.int64), ~leaf)

    return pd.DataFrame(
        {
            "parent_id": parent,
            "depth": depth,
            "name": categorical(number, names),
            "kernel": categorical(np.full(count, -1), []),
            "label": categorical(number, names),
            "kind": categorical(kinds, KINDS),
            "hook": categorical(np.full(count, -1), ["kept"]),
            "device_type": categorical(np.where(leaf, 0, -1), ["CUDA"]),
            "device_id": recorded(np.zeros(count)),
            "count": recorded(rng.integers(1, 50, count)),
            "time_ns": recorded(1000 * rng.lognormal(3, sigma, count)),
            "bytes": recorded(rng.integers(0, 1 << 30, count)),
            "flops16": np.where(leaf, rng.integers(0, 1 << 40, count).astype(np.float64), np.nan),
        },
        index=pd.RangeIndex(count, name="frame_id"),
    )


def fresh(frames: pd.DataFrame, name: str) -> Profile:
    """A profile that nothing has been computed of."""
    return Profile(frames, COLUMNS, (H200,), ProfileInfo(name=name))


def building(repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds from a million frames to a figure, by what is asked for."""
    frames = tree(MILLION, 1.0)
    forms: dict[str, Callable[[Profile], Any]] = {
        "flame": protonlab.flame,
        "flame, color='gbyte/s'": lambda profile: protonlab.flame(profile, color="gbyte/s"),
        "flame, search='matmul'": lambda profile: protonlab.flame(profile, search="matmul"),
        "flame, inverted": lambda profile: protonlab.flame(profile, inverted=True),
    }
    protonlab.flame(fresh(tree(TRAINING, 1.5), "warm up"))
    times: dict[str, list[tuple[float, float]]] = {form: [] for form in forms}
    for _ in range(repeats):
        for form, make in forms.items():
            profile = fresh(frames, "million")
            start, worked = time.perf_counter(), time.process_time()
            make(profile)
            times[form].append((time.perf_counter() - start, time.process_time() - worked))
    return {
        form: {
            name: 1000 * statistics.median(column)
            for name, column in zip(("wall", "processor"), zip(*rows, strict=True), strict=True)
        }
        for form, rows in times.items()
    }


def as_icicle(figure: dict[str, Any]) -> dict[str, Any]:
    """The same boxes as plotly's icicle would be asked to draw them, root on top."""
    boxes = sorted(
        (
            (row, base, width, ident, text[0], hover, trace["marker"]["color"])
            for trace in figure["data"]
            for row, base, width, ident, text, hover in zip(
                *(trace[name] for name in ("y", "base", "x", "ids", "customdata", "hovertext")),
                strict=True,
            )
        ),
        key=lambda box: box[:2],
    )
    ids = [str(box[3]) for box in boxes]
    starts: dict[int, list[tuple[float, str]]] = {}
    parents = []
    for (row, base, *_), ident in zip(boxes, ids, strict=True):
        starts.setdefault(row, []).append((base, ident))
        above = starts.get(row - 1, [])
        parents.append(
            above[bisect_right(above, base, key=lambda place: place[0]) - 1][1] if above else ""
        )
    trace = go.Icicle(
        ids=ids,
        parents=parents,
        labels=[box[4] for box in boxes],
        # It draws nothing when sums of floats exceed a parent, so deeper boxes give way a little.
        values=[box[2] * (1 - 1e-9 * box[0]) for box in boxes],
        branchvalues="total",
        sort=False,
        tiling={"orientation": "v"},
        hovertext=[box[5] for box in boxes],
        hoverinfo="text",
        marker={"colors": [box[6] for box in boxes]},
        pathbar={"visible": False},
    )
    layout = figure["layout"]
    same = {name: layout[name] for name in ("height", "margin", "font", "title")} | {"width": 1100}
    return dict(json.loads(go.Figure(trace, same).to_json()))


def drawing(browser: Browser, profile: Profile, repeats: int) -> dict[str, Any]:
    """Ratios of our drawing to the icicle's for one profile."""
    flame = json.loads(protonlab.flame(profile).to_json())
    forms = {"protonlab": flame, "icicle": as_icicle(flame)}
    widest = max(
        (width, ident)
        for trace in flame["data"]
        for row, width, ident in zip(trace["y"], trace["x"], trace["ids"], strict=True)
        if ident > 0 and width < flame["layout"]["xaxis"]["range"][1]
    )[1]
    page = PAGE.format(plotly=get_plotlyjs(), module=drawing_source(["flame"]))
    times: dict[str, list[list[float]]] = {name: [] for name in forms}
    for _ in range(repeats):
        for name, figure in forms.items():
            tab = browser.new_page(viewport={"width": 1200, "height": 900})
            tab.set_content(page)
            tab.wait_for_function("Boolean(globalThis.icicle_draws)")
            times[name].append(
                tab.evaluate(
                    f"([figure, target]) => {name}_draws(figure, target)", [figure, widest]
                )
            )
            tab.close()
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)]
        for name, rows in times.items()
    }
    steps = ("first drawing", "click to zoom", "and back")
    return {
        "boxes": sum(len(trace["x"]) for trace in flame["data"]),
        "ratio": {
            step: ours / theirs
            for step, ours, theirs in zip(
                steps, medians["protonlab"], medians["icicle"], strict=True
            )
        },
        "ms": {name: dict(zip(steps, row, strict=True)) for name, row in medians.items()},
    }


def page_bytes(profile: Profile) -> int:
    """Bytes of an exported page with three views, less plotly.js."""
    views = (protonlab.flame(profile), protonlab.bars(profile), protonlab.table(profile))
    cells = [
        new_code_cell("1", outputs=[new_output("display_data", view._repr_mimebundle_())])
        for view in views
    ]
    page = render(new_notebook(cells=cells))
    return len(page.encode()) - len(get_plotlyjs().encode())


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    result: dict[str, Any] = {
        **{"repeats": given.repeats, "cpus": os.cpu_count(), "load_average": os.getloadavg()},
        "versions": {name: version(name) for name in ("plotly", "pandas", "numpy")}
        | {"python": platform.python_version()},
        "building_ms": building(given.repeats),
        "drawing": {},
        "page_bytes": {},
    }
    recorded = protonlab.load(RECORDED)
    assert isinstance(recorded, Profile)
    profiles = {
        "1,010,000 frames": fresh(tree(MILLION, 1.0), "million"),
        "training step": fresh(tree(TRAINING, 1.5), "training"),
        "recorded GPT": recorded,
    }
    for form, median in result["building_ms"].items():
        wall, processor = median["wall"], median["processor"]
        print(f"build, 1.01 million frames, {form}: {wall:.0f} ms, processor {processor:.0f} ms")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        result["versions"]["chromium"] = browser.version
        for name, profile in profiles.items():
            drawn = result["drawing"][name] = drawing(browser, profile, given.repeats)
            size = result["page_bytes"][name] = page_bytes(profile)
            ratios = ", ".join(f"{step} {ratio:.2f}" for step, ratio in drawn["ratio"].items())
            print(f"{name}, {drawn['boxes']} boxes, times what go.Icicle takes: {ratios}")
            print(f"    page without plotly.js: {size / 1e6:.2f} MB")
        browser.close()
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
