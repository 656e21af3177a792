// A timeline: boxes in rows over time. Plotly zooms and pans; this fits texts to the room that boxes
// then have, shows detail where little of the time is seen, asks a living kernel for more of it, and
// knows the way back.

const PAUSE = 200; // milliseconds without a move before the kernel is asked for more
const PATIENT = 500; // milliseconds for the kernel, before what the page knows itself is shown
const LANE_NAMES = 170; // pixels, until plotly has measured them
// Of a trace that is not to be seen but to stay in the legend, which has no place for empty ones.
const NOTHING = { base: [null], x: [null], y: [null], text: [""], customdata: [["", ""]] };
const KEYS = { ArrowLeft: [-0.25, 1], ArrowRight: [0.25, 1], ArrowUp: [0, 0.5], ArrowDown: [0, 2] };

class Timeline {
  constructor(drawing) {
    Object.assign(this, { drawing, whole: drawing.figure, range: null }); // null: all of the time
  }

  // The figure with texts for the range, and either the overview or its detail.
  visible() {
    const { figure, width, plot } = this.drawing;
    const { xaxis, font, meta } = figure.layout;
    const [low, high] = this.range ?? xaxis.range;
    const room = plot?._fullLayout?.xaxis?._length ?? width - LANE_NAMES;
    const scale = room / (high - low);
    const isNear = high - low < (meta?.protonlab?.detail ?? 0);
    pen.font = `${font.size}px ${font.family}`;
    const data = figure.data.map((trace) => {
      if (trace.meta !== "boxes" && trace.meta !== "detail") return trace;
      const isShown = meta?.protonlab?.detail ? isNear === (trace.meta === "detail") : true;
      if (!isShown) return { ...trace, ...NOTHING, hovertext: [""], visible: trace.meta === "boxes" };
      const texts = trace.customdata.map(([label, aside], at) => {
        const [left, wide] = [trace.base[at], trace.x[at]];
        const isSeen = left < high && left + wide > low;
        return isSeen ? escapeText(fit(label, aside, wide * scale - TEXT_PADDING)) : "";
      });
      const edges = trace.x.map((wide) => (wide * scale > NARROW ? 1 : 0));
      const line = { ...trace.marker.line, width: edges };
      return { ...trace, visible: true, text: texts, marker: { ...trace.marker, line } };
    });
    const layout = { ...figure.layout, xaxis: { ...xaxis, range: [low, high] } };
    return { data, layout };
  }

  listen() {
    const { plot, host } = this.drawing;
    for (const name of ["plotly_relayout", "plotly_doubleclick"]) plot.removeAllListeners(name);
    plot.on("plotly_relayout", () => this.follow());
    plot.on("plotly_doubleclick", () => this.show(null, this.whole));
    host.onkeydown = (event) => this.key(event);
    host.tabIndex = 0;
  }

  show(range, figure) {
    clearTimeout(this.timer);
    Object.assign(this, { range });
    this.drawing.figure = figure;
    this.drawing.paint();
  }

  // A person moved: when they rest, draw what is seen as finely as may be.
  follow() {
    const range = [...this.drawing.plot.layout.xaxis.range];
    const before = this.range ?? this.whole.layout.xaxis.range;
    if (range.every((end, at) => end === before[at])) return;
    clearTimeout(this.timer);
    this.range = range;
    this.timer = setTimeout(async () => {
      const isThere = () => this.range === range;
      const alone = setTimeout(() => isThere() && this.show(range, this.whole), PATIENT);
      const refined = await askKernels(this.drawing.own.id, { range });
      clearTimeout(alone);
      if (isThere()) this.show(range, refined ?? this.whole);
    }, PAUSE);
  }

  key(event) {
    if (event.key === "Escape") this.show(null, this.whole);
    else if (event.key in KEYS) {
      const [step, times] = KEYS[event.key];
      const [least, most] = this.whole.layout.xaxis.range;
      const [low, high] = this.drawing.plot.layout.xaxis.range;
      const half = (Math.min((high - low) * times, most - least) / 2);
      const middle = (low + high) / 2 + (high - low) * step;
      const at = Math.min(Math.max(middle, least + half), most - half);
      this.drawing.Plotly.relayout(this.drawing.plot, { "xaxis.range": [at - half, at + half] });
    } else return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has its own use for arrows and Escape
  }
}

VIEWS.set("timeline", Timeline);
