// Draws figures with plotly.js: each <div class="protonlab-figure"> has plotly's JSON and a picture,
// whose place the figure takes. Ours in the JSON is `layout.meta.protonlab`: the `view`; for each
// light colour its `dark` twin; what differs in plotly's `config`.

const CONFIG = { displaylogo: false, doubleClick: false, modeBarButtons: [["toImage"]] };
const FIGURES = "div.protonlab-figure";
const VIEWS = new Map(); // view -> class that says what is visible; "any" -> class that draws

class Drawing {
  constructor(host, Plotly, figure) {
    const own = figure.layout.meta?.protonlab ?? {};
    const plot = document.createElement("div");
    Object.assign(this, { host, Plotly, figure, own, plot, width: 0 });
    host.replaceChildren(plot);
    plot.addEventListener("mousedown", () => Plotly.Fx.unhover(plot), true); // one put off eats clicks
    const View = figure.data.some(({ meta }) => meta) && VIEWS.get(own.view);
    this.view = View ? new View(this) : null; // without boxes it is a sentence
    new ResizeObserver(() => [0, this.width].includes(host.clientWidth) || this.paint()).observe(host);
    this.paint();
  }

  paint() {
    this.width = this.host.clientWidth || this.width;
    if (!this.width) return; // a hidden tab is drawn when it is shown
    const { data, layout } = this.visible();
    const twins = isDark() ? (this.own.dark ?? {}) : {};
    const drawn = recolour({ data, layout: { ...layout, width: this.width } }, twins);
    this.host.style.color = drawn.layout.font?.color ?? "";
    const plotted = { ...drawn, config: { ...CONFIG, ...this.own.config } };
    this.drawn = this.Plotly.react(this.plot, plotted).then(() => this.view?.listen());
  }

  visible() { return this.view?.visible() ?? this.figure; }
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
      if (source) host.protonlab = new (VIEWS.get("any") ?? Drawing)(host, Plotly, JSON.parse(source.textContent));
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
