// A click on a kernel of another view marks it in the nearest flame graph that has it. Stands behind
// figure.js in one module.

const [TRIES, WAIT] = [40, 250]; // ten seconds for a flame graph that is not drawn yet

class Marking {
  static later; // the timer of the last click

  constructor(drawing) {
    this.drawing = drawing;
  }

  visible() {
    return this.drawing.figure;
  }

  listen() {
    const { plot } = this.drawing;
    plot.removeAllListeners("plotly_click");
    plot.on("plotly_click", ({ points: [at] }) => this.mark(at.customdata?.[0]));
  }

  mark(label, tries = TRIES) {
    clearTimeout(Marking.later);
    if (this.markNearest(label) || !tries) return;
    Marking.later = setTimeout(() => this.mark(label, tries - 1), WAIT);
  }

  markNearest(label) {
    const top = ({ drawing }) => drawing.host.getBoundingClientRect().top;
    const away = (flame) => Math.abs(top(flame) - top(this));
    const [flame] = [...document.querySelectorAll(FIGURES)]
      .map((host) => host.protonlab?.view)
      .filter((view) => view?.boxes?.some((box) => box.label === label))
      .sort((a, b) => away(a) - away(b));
    flame?.search(`^${label.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    flame?.drawing.host.scrollIntoView({ behavior, block: "nearest" });
    return Boolean(flame);
  }
}

for (const name of ["bars", "heatmap", "roofline"]) VIEWS.set(name, Marking);
