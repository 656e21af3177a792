// A flame graph: zoom, search and keyboard. It is horizontal bars: `base` and `x` say where a box
// begins and how wide it is, `y` its depth, `ids` its frame (below zero: what is folded),
// `customdata` its unescaped label, its share, and its full name where that says more.

const STANDS_BACK = 0.3; // opacity of boxes that a search did not find
const TOOL = `font: inherit; color: inherit; background: none; border: 1px solid #868e96;
  border-radius: 4px; padding: 1px 8px;`;
const TOOLS = `<div style="display: flex; gap: 10px; align-items: center; padding: 6px 8px 0;
    font: 13px system-ui, 'DejaVu Sans', sans-serif">
  <input type="search" placeholder="search (regex)" style="${TOOL} width: 15em"
    aria-label="Search frames by a regular expression"><output></output>
  <button hidden title="Zoom out (Escape)" style="${TOOL} cursor: pointer">↑ whole</button></div>`;

const inside = (outer, box) =>
  box.low >= outer.low && box.high <= outer.high && box.depth >= outer.depth;

class Flame {
  constructor(drawing) {
    this.drawing = drawing;
    this.open(drawing.figure);
    this.whole = this.boxes;
    this.root = this.focus = this.boxes[0]; // the focus fills the width
    drawing.host.insertAdjacentHTML("afterbegin", TOOLS);
    [this.field, this.said, this.back] = drawing.host.firstElementChild.children;
    this.field.oninput = () => this.search(this.field.value);
    this.field.onkeydown = (event) => event.stopPropagation(); // neither for boxes nor the notebook
    this.back.onclick = () => this.zoom(this.root);
    drawing.plot.addEventListener("mousedown", ({ detail }) => (this.presses = detail), true);
    if (drawing.own.search) this.search(drawing.own.search);
  }

  open(figure) {
    this.figure = figure;
    this.boxes = figure.data.flatMap((trace, curve) =>
      trace.meta !== "boxes" ? [] : trace.x.map((width, point) => {
        const [label, aside, name] = trace.customdata[point];
        const [low, id, depth] = [trace.base[point], trace.ids[point], trace.y[point]];
        return { id, curve, point, low, high: low + width, depth, label, aside, name };
      }),
    );
    this.boxes.sort((a, b) => a.depth - b.depth || a.low - b.low);
  }

  zoom(box) {
    if (!box || box.id === this.focus.id) return;
    this.focus = box;
    this.back.hidden = box.id === this.root.id;
    this.drawing.paint();
  }

  // The figure cut to the focus, with texts for the room that each box has now.
  visible() {
    const { figure, boxes, focus } = this;
    const { margin, font, xaxis } = figure.layout;
    const [low, high] = [focus.low, focus.high];
    const scale = (this.drawing.width - margin.l - margin.r) / (high - low);
    pen.font = `${font.size}px ${font.family}`;
    const start = (box) => Math.max(low, box.low);
    const span = (box) => Math.min(high, box.high) - start(box);
    const label = (box) => escapeText(fit(box.label, box.aside, span(box) * scale - TEXT_PADDING));
    const seen = boxes.filter((box) => span(box) > (high - low) * 1e-9); // sums of floats differ
    this.chosen = seen.find((box) => inside(focus, box)) ?? this.root; // what keys point at
    this.shown = figure.data.map((_, curve) => seen.filter((box) => box.curve === curve));
    const data = figure.data.map((trace, curve) => {
      const each = (of) => this.shown[curve].map(of);
      return trace.meta !== "boxes" ? trace : {
        ...trace,
        ...{ base: each(start), x: each(span), y: each((box) => box.depth), ids: undefined },
        ...{ text: each(label), hovertext: each((box) => trace.hovertext[box.point]) },
        marker: {
          ...trace.marker,
          opacity: this.matches ? each((box) => (this.matches(box) ? 1 : STANDS_BACK)) : 1,
          line: { ...trace.marker.line, width: each((box) => (span(box) * scale > NARROW ? 1 : 0)) },
        },
      };
    });
    const cut = { ...xaxis, range: [low, high], fixedrange: true };
    return { data, layout: { ...figure.layout, xaxis: cut, dragmode: false } };
  }

  search(text) {
    this.field.value = text;
    try {
      const pattern = text && new RegExp(text, "i");
      const isFound = (box) => box.id > 0 && (pattern.test(box.label) || pattern.test(box.name));
      this.matches = pattern && isFound;
      this.said.textContent = text && this.found(text);
    } catch {
      this.matches = null;
      this.said.textContent = "no regular expression";
    }
    if (this.drawing.width) this.drawing.paint();
  }

  // What matches takes of the whole; a box on another one that matches counts once.
  found(text) {
    const { own } = this.drawing;
    if (text === own.search) return own.said; // of all frames, also those that are folded
    let [sum, end] = [0, -Infinity];
    const found = this.whole.filter(this.matches).sort((a, b) => a.low - b.low);
    for (const { low, high } of found) {
      sum += Math.max(0, high - Math.max(low, end));
      end = Math.max(high, end);
    }
    const percent = (100 * sum) / (this.root.high - this.root.low);
    const aside = this.whole.some(({ id }) => id < 0) ? ", not counting what is folded" : "";
    return `matched ${percent.toFixed(percent < 99.95 ? 1 : 0)} % of ${own.what}${aside}`;
  }

  listen() {
    const { plot, host, Plotly } = this.drawing;
    for (const name of ["plotly_click", "plotly_doubleclick"]) plot.removeAllListeners(name);
    // The system knows double clicks (not a finger's): plotly takes two quick clicks on two boxes for
    // one, and one for two clicks where drawing the first took long.
    plot.on("plotly_click", ({ points: [at] }) =>
      this.zoom(this.presses > 1 ? this.root : this.shown[at.curveNumber]?.[at.pointNumber]));
    plot.on("plotly_doubleclick", () => this.presses === 1 || this.zoom(this.root));
    host.onkeydown = (event) => this.key(event);
    Object.assign(host, { tabIndex: 0, onblur: () => Plotly.Fx.unhover(plot) });
  }

  key(event) {
    const [first, last] = this.figure.layout.yaxis.range;
    const way = first > last ? 1 : -1;
    const keys = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, way], ArrowUp: [0, -way] };
    if (event.key === "Escape") this.zoom(this.root);
    else if (event.key === "Enter") this.zoom(this.chosen);
    else if (event.key in keys) this.move(...keys[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has its own use for arrows and Escape
  }

  // Points at the next box of the row, or at one deeper or less deep, and says what it is.
  move(across, deeper) {
    const { chosen, boxes, shown } = this;
    const row = boxes.filter((box) => box.depth === chosen.depth + deeper);
    const isOnIt = (box) => inside(chosen, box) || inside(box, chosen);
    const box = (deeper ? row.find(isOnIt) : row[row.indexOf(chosen) + across]) ?? chosen;
    const pointNumber = shown[box.curve].indexOf(box);
    if (pointNumber < 0) return; // outside of the focus
    this.chosen = box;
    this.drawing.Plotly.Fx.hover(this.drawing.plot, [{ curveNumber: box.curve, pointNumber }]);
  }
}

VIEWS.set("flame", Flame);
