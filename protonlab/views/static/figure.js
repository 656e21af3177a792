// Draws protonlab's figures with plotly.js; zoom, search and keyboard of a flame graph.
//
// A figure stands in a page as <div class="protonlab-figure"> with plotly's JSON and a picture. It is
// drawn in place of the picture as soon as the page can have plotly.js (`watch`): in a notebook from
// a living kernel (kernel.js), in an exported page from the page itself. What protonlab adds to the
// JSON stands in `layout.meta.protonlab`: the view's name; for each light colour its dark twin; what
// `config` of plotly differs; and the `id` under which a living kernel knows more of the figure.

const CONFIG = { displaylogo: false, doubleClick: false, modeBarButtons: [["toImage"]] };
const NARROW = 3; // a box narrower than this, in pixels, has no edge: it would be nothing but edge
const FIGURES = "div.protonlab-figure";
const TALLEST = 900; // a higher figure scrolls
const STANDS_BACK = 0.3; // opacity of boxes that a search did not find
// Functions (id, focus) -> a figure's JSON or null, one for each living kernel of the page.
const kernels = (globalThis.protonlabKernels ??= new Set());

class Drawing {
  constructor(host, Plotly, figure) {
    Object.assign(this, { host, Plotly, figure, width: 0 });
    this.own = figure.layout.meta?.protonlab ?? {};
    this.config = { ...CONFIG, ...this.own.config };
    this.plot = document.createElement("div");
    host.replaceChildren(this.plot);
    Object.assign(host.style, { maxHeight: `${TALLEST}px`, overflowY: "auto" });
    const views = { flame: Flame, timeline: Timeline }; // the latter stands in timeline.js
    this.view = this.own.view in views ? new views[this.own.view](this) : null;
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
    const { data, layout } = this.view ? this.view.visible() : this.figure;
    const twins = isDark() ? (this.own.dark ?? {}) : {};
    const drawn = recolour({ data, layout: { ...layout, width: this.width } }, twins);
    this.host.style.color = drawn.layout.font?.color ?? "";
    this.drawn = this.Plotly.react(this.plot, drawn.data, drawn.layout, this.config);
    this.drawn.then(() => (this.view ?? this).listen());
  }

  listen() {
    this.plot.removeAllListeners("plotly_click");
    this.plot.on("plotly_click", ({ points: [at] }) => findInFlame(this.host, at.customdata?.[0]));
  }

  // What a living kernel answers to a focus: a figure's JSON, or null when there is nothing more.
  async ask(focus, id = this.own.id) {
    if (!id) return null;
    const answers = await Promise.all([...kernels].map((ask) => ask(id, focus)));
    return answers.find(Boolean) ?? null;
  }
}

// A click on a kernel of another view marks it in the nearest flame graph that has it.
function findInFlame(host, label) {
  const away = ({ drawing }) =>
    Math.abs(drawing.host.getBoundingClientRect().top - host.getBoundingClientRect().top);
  const [flame] = [...document.querySelectorAll(FIGURES)]
    .map((other) => other.protonlab?.view)
    .filter((view) => view instanceof Flame && view.boxes.some((box) => box.label === label))
    .sort((a, b) => away(a) - away(b));
  flame?.search(`^${label.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
  flame?.drawing.host.scrollIntoView({ behavior: "smooth", block: "nearest" });
}

const inside = (outer, box) =>
  box.low >= outer.low && box.high <= outer.high && box.depth >= outer.depth;

// A flame graph is horizontal bars: `base` and `x` say where a box begins and how wide it is, `y` its
// depth, `ids` its frame (below zero: what is folded), `customdata` its unescaped label, its share,
// and its full name where that says more.
class Flame {
  constructor(drawing) {
    this.drawing = drawing;
    this.parts = []; // the whole, and within it what the kernel has told of smaller and smaller parts
    this.open(drawing.figure, 0);
    this.root = this.focus = this.chosen = this.boxes[0]; // what fills the width, what keys point at
    if (!this.root) return;
    Object.assign(this, toolsOf(this)); // field, said, back: tools.js
    if (drawing.own.search) this.search(drawing.own.search);
  }

  get boxes() { return this.parts.at(-1).boxes; }

  open(figure, depth) {
    const boxes = figure.data.flatMap((trace, curve) =>
      trace.meta !== "boxes" ? [] : trace.x.map((width, point) => {
        const [label, , name] = trace.customdata[point];
        const [low, id] = [trace.base[point], trace.ids[point]];
        return { id, curve, point, low, high: low + width, depth: trace.y[point], label, name };
      }),
    );
    boxes.sort((a, b) => a.depth - b.depth || a.low - b.low);
    this.parts.push({ figure, depth, boxes });
  }

  async zoom(box) {
    if (!box || box.id === this.focus.id) return;
    while (this.parts.length > 1 && box.depth < this.parts.at(-1).depth) this.parts.pop();
    this.show(box);
    if (!this.boxes.some((other) => other.id < 0 && inside(box, other))) return;
    const { id } = this.parts.at(-1).figure.layout.meta.protonlab;
    const refined = await this.drawing.ask(box.id, id);
    if (!refined || this.focus !== box) return;
    this.open(refined, box.depth);
    this.show(box);
  }

  show(box) {
    this.focus = box;
    this.chosen = this.boxes.find((other) => inside(box, other)) ?? this.root;
    this.back.hidden = box.id === this.root.id;
    this.drawing.paint();
  }

  // The figure cut to the focus, with texts for the room that each box has now.
  visible() {
    const { width } = this.drawing;
    const { figure, boxes } = this.parts.at(-1);
    if (!this.root) return figure;
    const { margin, font } = figure.layout;
    const { low, high } = this.focus;
    const scale = (width - margin.l - margin.r) / (high - low);
    pen.font = `${font.size}px ${font.family}`;
    const emptied = ({ marker, ...trace }) => ({
      ...trace,
      ...{ base: [], x: [], y: [], text: [], hovertext: [], ids: undefined },
      marker: { ...marker, opacity: this.pattern ? [] : 1, line: { ...marker.line, width: [] } },
    });
    const data = figure.data.map((trace) => (trace.meta === "boxes" ? emptied(trace) : trace));
    this.shown = data.map(() => []);
    for (const box of boxes) {
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
      if (this.pattern) to.marker.opacity.push(this.matches(box) ? 1 : STANDS_BACK);
      this.shown[box.curve].push(box);
    }
    const xaxis = { ...figure.layout.xaxis, range: [low, high], fixedrange: true };
    return { data, layout: { ...figure.layout, xaxis, dragmode: false } };
  }

  search(text) {
    this.field.value = text;
    try {
      this.pattern = text ? new RegExp(text, "i") : null;
      this.said.textContent = text ? this.found(text) : "";
    } catch {
      this.pattern = null;
      this.said.textContent = "no regular expression";
    }
    if (this.drawing.width) this.drawing.paint();
  }

  matches({ id, label, name }) {
    return id > 0 && (this.pattern.test(label) || this.pattern.test(name));
  }

  // What matches takes of the whole; a box on another one that matches counts once.
  found(text) {
    const { own } = this.drawing;
    if (text === own.search) return own.said; // of all frames, also those that are folded
    const { boxes } = this.parts[0];
    let [sum, end] = [0, -Infinity];
    for (const { low, high } of boxes.filter((box) => this.matches(box)).sort((a, b) => a.low - b.low)) {
      if (high > end) sum += high - Math.max(low, end);
      end = Math.max(end, high);
    }
    const percent = (100 * sum) / (this.root.high - this.root.low);
    const aside = boxes.some(({ id }) => id < 0) ? ", not counting what is folded" : "";
    return `matched ${percent.toFixed(percent < 99.95 ? 1 : 0)} % of ${own.what}${aside}`;
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
    const [first, last] = this.drawing.figure.layout.yaxis.range;
    const [up, down] = first > last ? ["ArrowUp", "ArrowDown"] : ["ArrowDown", "ArrowUp"];
    const moves = {
      ArrowRight: () => row[row.indexOf(chosen) + 1],
      ArrowLeft: () => row[row.indexOf(chosen) - 1],
      [up]: () => boxes.find((box) => box.depth === chosen.depth - 1 && inside(box, chosen)),
      [down]: () => boxes.find((box) => box.depth === chosen.depth + 1 && inside(chosen, box)),
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
  const repaint = () => document.querySelectorAll(FIGURES).forEach((host) => host.protonlab?.paint());
  if (!globalThis.protonlabTheme) followTheme(repaint);
  globalThis.protonlabTheme = true; // another kernel's figures follow, too
  const observer = new MutationObserver(tryToDraw);
  observer.observe(document.body, { childList: true, subtree: true });
  tryToDraw();
  return () => observer.disconnect();
}
