// Draws figures with plotly.js. Each is a <div class="protonlab-figure"> with plotly's JSON and a
// picture, and is drawn in place of the picture as soon as the page can have plotly.js. What is ours
// in the JSON is `layout.meta.protonlab`: the `view`; for each light colour its `dark` twin; what
// differs in plotly's `config`.

const CONFIG = { displaylogo: false, doubleClick: false, modeBarButtons: [["toImage"]] };
const NOTES = "notes"; // name of the annotation with the sentences below
const [SCROLLED, MOST] = [900, 1200]; // pixels: how high a part a page shows of what is higher
const ONE_ROW = 34; // pixels that a legend has room for anyway
const SLACK = 8; // pixels
const FIGURES = "div.protonlab-figure";
const VIEWS = new Map(); // name -> class that says what is visible of a figure, and listens

class Drawing {
  constructor(host, Plotly, figure) {
    const own = figure.layout.meta?.protonlab ?? {};
    const plot = document.createElement("div");
    Object.assign(this, { host, Plotly, figure, own, plot, width: 0, more: 0, left: 0 });
    host.replaceChildren(plot);
    host.style.overflowY = "auto";
    const View = figure.data.some(({ meta }) => meta) && VIEWS.get(own.view);
    this.view = View ? new View(this) : null; // without boxes it is a sentence
    new ResizeObserver(() => [0, this.width].includes(host.clientWidth) || this.paint()).observe(host);
    this.paint();
  }

  // What the notes and the legend really take is known once plotly drew them: then it draws again.
  paint(again = 2) {
    this.width = this.host.clientWidth || this.width;
    if (!this.width) return; // a hidden tab is drawn when it is shown
    const { data, layout } = this.view?.visible() ?? this.figure;
    const twins = isDark() ? (this.own.dark ?? {}) : {};
    const drawn = recolour({ data, layout: this.fitted({ ...layout, width: this.width }) }, twins);
    this.host.style.color = drawn.layout.font?.color ?? "";
    this.host.style.maxHeight = drawn.layout.height > MOST ? `${SCROLLED}px` : "";
    const config = { ...CONFIG, ...this.own.config };
    const plotted = this.Plotly.react(this.plot, { ...drawn, config });
    this.drawn = plotted.then(() =>
      again && this.fits(drawn.layout) === false ? this.paint(again - 1) : this.view?.listen(),
    );
    return this.drawn;
  }

  // The layout with room for the legend that this page makes of it, and notes at its left edge.
  fitted(layout) {
    const { margin, legend, annotations } = layout;
    const height = layout.height + this.more;
    const isTop = legend?.yanchor === "top";
    return {
      ...layout,
      height,
      margin: { ...margin, b: margin?.b + this.more },
      legend: isTop ? { ...legend, y: (legend.y * layout.height + this.more) / height } : legend,
      annotations: annotations?.map((note) =>
        note.name === NOTES ? { ...note, xshift: note.xshift + this.left } : note,
      ),
    };
  }

  // Whether they fit, as they were drawn; remembers by how much they do not.
  fits({ height, legend, title, annotations }) {
    const drawn = this.plot.querySelector(".legend .bg")?.getBBox().height;
    const room = legend?.yanchor === "top" ? legend.y * height : ONE_ROW;
    const lacks = drawn > room || (legend?.yanchor === "top" && drawn < room - SLACK) ? drawn - room : 0;
    const notes = annotations?.find(({ name }) => name === NOTES);
    const edge = this.plot._fullLayout?._size?.l + notes?.xshift;
    const off = notes && Number.isFinite(edge) ? (title?.pad?.l ?? 0) - edge : 0;
    this.more += lacks;
    this.left += off;
    return !lacks && Math.abs(off) < 1;
  }
}

// Draw each figure of the page, also those that come later.
function watch(getPlotly) {
  const waiting = `${FIGURES}:not([data-drawn])`;
  const draw = async () => {
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
  const all = () => document.querySelectorAll(FIGURES);
  if (!globalThis.protonlabTheme) followTheme(() => all().forEach((host) => host.protonlab?.paint()));
  globalThis.protonlabTheme = true; // another kernel's figures follow, too
  const observer = new MutationObserver(tryToDraw);
  observer.observe(document.body, { childList: true, subtree: true });
  tryToDraw();
  return () => observer.disconnect();
}
