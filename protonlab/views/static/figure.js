// Draws protonlab's figures with plotly.js: theme, zoom of a flame graph, keyboard.
//
// A figure stands in a page as <div class="protonlab-figure"> with plotly's JSON and a picture. It is
// drawn in place of the picture as soon as the page can have plotly.js (`watch`): in a notebook from
// a living kernel (kernel.js), in an exported page from the page itself. What protonlab adds to the
// JSON stands in `layout.meta.protonlab`: the view's name; for each light colour its dark twin; what
// `config` of plotly differs; and the `id` under which a living kernel knows more of the figure.

const CONFIG = { displaylogo: false, doubleClick: false, modeBarButtons: [["toImage"]] };
const TEXT_PADDING = 10; // pixels of a box that its text cannot use
const NARROW = 3; // a box narrower than this, in pixels, has no edge: it would be nothing but edge
const MIN_TEXT = 24; // a box with less room than this, in pixels, stays empty
const FIGURES = "div.protonlab-figure";
const TALLEST = 900; // a higher figure scrolls
const PAUSE = 200; // milliseconds without a move before the kernel is asked for more
// Functions (id, focus) -> a figure's JSON or null, one for each living kernel of the page.
const kernels = (globalThis.protonlabKernels ??= new Set());

const darkMedia = globalThis.matchMedia?.("(prefers-color-scheme: dark)");

function isDark() {
  const { jpThemeLight } = document.body.dataset; // JupyterLab's; other pages follow the system
  return jpThemeLight === undefined ? (darkMedia?.matches ?? false) : jpThemeLight === "false";
}

function followTheme() {
  const repaint = () => document.querySelectorAll(FIGURES).forEach((host) => host.protonlab?.paint());
  const ofTheme = { attributeFilter: ["data-jp-theme-light"] };
  new MutationObserver(repaint).observe(document.body, ofTheme);
  darkMedia?.addEventListener("change", repaint);
}

// A copy of a figure's JSON with each of our light colours replaced; a person's own colours stay.
function recolour(value, twins, key = "") {
  if (typeof value === "string") return key.endsWith("color") ? (twins[value] ?? value) : value;
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const isData = typeof value[0] !== "object" && !key.endsWith("color");
    return isData ? value : value.map((item) => recolour(item, twins, key));
  }
  const twin = ([name, item]) => [name, recolour(item, twins, name)];
  return Object.fromEntries(Object.entries(value).map(twin));
}

const pen = globalThis.document?.createElement("canvas").getContext("2d");

// Plotly reads a little HTML and TeX in texts; a name has neither.
const escapeText = (text) => text.replace(/[&<>$]/g, (mark) => `&#${mark.charCodeAt(0)};`);

function fit(label, aside, room) {
  if (room < MIN_TEXT) return "";
  const width = (text) => pen.measureText(text).width;
  const both = `${label}  ${aside}`;
  if (width(both) <= room) return both;
  if (width(label) <= room) return label;
  let count = Math.floor((label.length * room) / width(label));
  while (count > 2 && width(`${label.slice(0, count)}…`) > room) count -= 1;
  return count > 2 ? `${label.slice(0, count)}…` : "";
}

class Drawing {
  constructor(host, Plotly, figure) {
    Object.assign(this, { host, Plotly, figure, width: 0 });
    this.own = figure.layout.meta?.protonlab ?? {};
    this.config = { ...CONFIG, ...this.own.config };
    const views = { flame: Flame, timeline: Timeline }; // the latter stands in timeline.js
    this.flame = this.own.view in views ? new views[this.own.view](this) : null;
    this.plot = document.createElement("div");
    host.replaceChildren(this.plot);
    Object.assign(host.style, { maxHeight: `${TALLEST}px`, overflowY: "auto" });
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  resize() {
    const width = this.host.clientWidth;
    if (width === 0 || width === this.width) return; // a hidden tab is drawn when it is shown
    this.width = width;
    this.paint();
  }

  paint() {
    const { data, layout } = this.flame ? this.flame.visible() : this.figure;
    const twins = isDark() ? (this.own.dark ?? {}) : {};
    const drawn = recolour({ data, layout: { ...layout, width: this.width } }, twins);
    this.drawn = this.Plotly.react(this.plot, drawn.data, drawn.layout, this.config);
    this.drawn.then(() => (this.flame ?? this).listen());
  }

  listen() {
    if (!this.own.id) return;
    this.plot.removeAllListeners("plotly_relayout");
    this.plot.on("plotly_relayout", () => this.follow());
  }

  // A part was zoomed to: show what the kernel knows of it.
  follow() {
    const range = [...this.plot.layout.xaxis.range];
    const isThere = () => range.every((end, at) => end === this.plot.layout.xaxis.range[at]);
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      const refined = await this.ask({ range });
      if (!refined || !isThere()) return;
      this.figure = refined;
      this.paint();
    }, PAUSE);
  }

  // What a living kernel answers to a focus: a figure's JSON, or null when there is nothing more.
  async ask(focus) {
    if (!this.own.id) return null;
    const answers = await Promise.all([...kernels].map((ask) => ask(this.own.id, focus)));
    return answers.find(Boolean) ?? null;
  }
}

// A flame graph is horizontal bars: `base` and `x` say where a box begins and how wide it is, `y`
// its depth, `customdata` its unescaped label and its share. Search will join `focus` here.
class Flame {
  constructor(drawing) {
    this.drawing = drawing;
    this.boxes = drawing.figure.data.flatMap((trace, curve) =>
      trace.meta !== "boxes" ? []
        : trace.x.map((width, point) => {
            const low = trace.base[point];
            return { curve, point, low, high: low + width, depth: trace.y[point] };
          }),
    );
    this.boxes.sort((a, b) => a.depth - b.depth || a.low - b.low);
    this.root = this.boxes[0];
    this.focus = this.chosen = this.root; // what fills the width; what the keyboard points at
  }

  zoom(box) {
    if (!box || box === this.focus) return;
    this.focus = this.chosen = box;
    this.drawing.paint();
  }

  // The figure cut to the focus, with texts for the room that each box has now.
  visible() {
    const { figure, width } = this.drawing;
    if (!this.root) return figure;
    const { margin, font } = figure.layout;
    const { low, high } = this.focus;
    const scale = (width - margin.l - margin.r) / (high - low);
    pen.font = `${font.size}px ${font.family}`;
    const emptied = (trace) => ({
      ...trace,
      ...{ base: [], x: [], y: [], text: [], hovertext: [] },
      marker: { ...trace.marker, line: { ...trace.marker.line, width: [] } },
    });
    const data = figure.data.map((trace) => (trace.meta === "boxes" ? emptied(trace) : trace));
    this.shown = data.map(() => []);
    for (const box of this.boxes) {
      const left = Math.max(low, box.low);
      const span = Math.min(high, box.high) - left;
      if (span <= (high - low) * 1e-9) continue; // outside; sums of floats may leave a trace
      const [from, to] = [figure.data[box.curve], data[box.curve]];
      const [label, aside] = from.customdata[box.point];
      to.base.push(left);
      to.x.push(span);
      to.y.push(box.depth);
      to.text.push(escapeText(fit(label, aside, span * scale - TEXT_PADDING)));
      to.hovertext.push(from.hovertext[box.point]);
      to.marker.line.width.push(span * scale > NARROW ? 1 : 0);
      this.shown[box.curve].push(box);
    }
    const xaxis = { ...figure.layout.xaxis, range: [low, high], fixedrange: true };
    return { data, layout: { ...figure.layout, xaxis, dragmode: false } };
  }

  listen() {
    const { plot, host, Plotly } = this.drawing;
    for (const name of ["plotly_click", "plotly_doubleclick"]) plot.removeAllListeners(name);
    plot.on("plotly_click", ({ points: [at], event }) => {
      const isSecond = event.detail > 1; // of a double click, which goes back
      if (!isSecond) this.zoom(this.shown[at.curveNumber]?.[at.pointNumber]);
    });
    plot.on("plotly_doubleclick", () => this.zoom(this.root));
    host.onkeydown = (event) => this.key(event);
    host.onblur = () => Plotly.Fx.unhover(plot);
    host.tabIndex = 0;
  }

  key(event) {
    const { chosen, boxes } = this;
    const row = boxes.filter((box) => box.depth === chosen.depth);
    const holds = (outer, inner) => outer.low <= inner.low && outer.high >= inner.high;
    const moves = {
      ArrowRight: () => row[row.indexOf(chosen) + 1],
      ArrowLeft: () => row[row.indexOf(chosen) - 1],
      ArrowUp: () => boxes.find((box) => box.depth === chosen.depth - 1 && holds(box, chosen)),
      ArrowDown: () => boxes.find((box) => box.depth === chosen.depth + 1 && holds(chosen, box)),
    };
    if (event.key === "Escape") this.zoom(this.root);
    else if (event.key === "Enter") this.zoom(chosen);
    else if (event.key in moves) this.point(moves[event.key]() ?? chosen);
    else return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has its own use for arrows and Escape
  }

  point(box) {
    const pointNumber = this.shown[box.curve].indexOf(box);
    if (pointNumber < 0) return; // outside of the focus
    this.chosen = box;
    this.drawing.Plotly.Fx.hover(this.drawing.plot, [{ curveNumber: box.curve, pointNumber }]);
  }
}

// Draw each figure of the page, also those that come later.
function watch(getPlotly) {
  const draw = async () => {
    const waiting = `${FIGURES}:not([data-drawn])`;
    if (!document.querySelector(waiting)) return;
    const Plotly = await getPlotly();
    for (const host of document.querySelectorAll(waiting)) {
      const source = host.querySelector(":scope > script[type='application/json']");
      host.dataset.drawn = "";
      if (source) host.protonlab = new Drawing(host, Plotly, JSON.parse(source.textContent));
    }
  };
  const tryToDraw = () =>
    draw().catch((error) => console.warn(`protonlab: ${error.message}; figures stay pictures`));
  if (!globalThis.protonlabTheme) followTheme();
  globalThis.protonlabTheme = true; // another kernel's figures follow, too
  const observer = new MutationObserver(tryToDraw);
  observer.observe(document.body, { childList: true, subtree: true });
  tryToDraw();
  return () => observer.disconnect();
}
