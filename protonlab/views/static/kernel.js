// A living kernel behind the figures of a page: it brings plotly.js, knows more of a figure than the
// page does, and says what it is doing. Stands behind figure.js in one module; anywidget starts it.

// Lets figures ask this kernel for the part that a person zooms to.
function answerFigures(model) {
  const waiting = new Map(); // id and focus -> function that takes the answer
  const key = (id, focus) => JSON.stringify([id, focus]);
  model.on("msg:custom", ({ kind, id, focus, figure }) => {
    if (kind === "refined") waiting.get(key(id, focus))?.(figure);
  });
  const ask = (id, focus) =>
    new Promise((resolve) => {
      const take = (figure) => {
        clearTimeout(timer);
        waiting.delete(key(id, focus));
        resolve(figure);
      };
      const timer = setTimeout(() => take(null), PATIENCE);
      waiting.get(key(id, focus))?.(null); // asked again: only the last one gets the answer
      waiting.set(key(id, focus), take);
      model.send({ kind: "refine", id, focus });
    });
  kernels.add(ask);
  return () => kernels.delete(ask);
}

// One line in a corner of the page while the kernel is busy. It is no output, so nothing stores it.
function showProgress(model) {
  const line = Object.assign(document.createElement("div"), { className: "protonlab-progress" });
  line.role = "status";
  line.style.cssText = `position: fixed; right: 16px; bottom: 36px; z-index: 1000; padding: 4px 10px;
    border: 1px solid var(--jp-border-color1, GrayText); border-radius: 4px;
    background: var(--jp-layout-color2, Canvas); color: var(--jp-ui-font-color1, CanvasText);
    font: 13px system-ui, sans-serif`;
  let timer;
  const clear = () => line.remove();
  model.on("msg:custom", ({ kind, text }) => {
    if (kind !== "progress") return;
    clearTimeout(timer);
    if (!text) return clear();
    line.textContent = text;
    document.body.append(line);
    timer = setTimeout(clear, 30_000); // a kernel that died takes nothing away
  });
  return clear;
}

function initialize({ model }) {
  const endings = [answerFigures(model), watch(() => plotlyFrom(model)), showProgress(model)];
  return () => endings.forEach((end) => end());
}
export default { initialize };
