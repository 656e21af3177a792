// A flame graph with a living kernel behind it: zooming gives boxes to what is folded. Stands behind
// flame.js in one module.

class RefinedFlame extends Flame {
  parts = []; // figures that are less fine than the one that is shown, and the depth of its part

  async zoom(box) {
    const { parts } = this;
    if (!box || box.id === this.focus.id) return;
    while (parts.length && box.depth < parts.at(-1).depth) this.open(parts.pop().figure);
    super.zoom(box);
    if (!this.boxes.some((other) => other.id < 0 && inside(box, other))) return;
    const { figure } = this;
    const refined = await askKernels(figure.layout.meta.protonlab.id, box.id);
    if (!refined || this.focus !== box) return;
    parts.push({ figure, depth: box.depth });
    this.open(refined);
    this.drawing.paint();
  }
}

VIEWS.set("flame", RefinedFlame);
