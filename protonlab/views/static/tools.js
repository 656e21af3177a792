// The row above a flame graph: a field to search in, what was found, and the way back. Stands before
// figure.js in one module; all of it is the page's own elements, and takes its colours from the host.

const TOOL = "font: inherit; color: inherit; background: none;";
const EDGE = "border: 1px solid #868e96; border-radius: 4px; padding: 1px 8px;";

function toolsOf(flame) {
  const make = (name, style, rest) =>
    Object.assign(document.createElement(name), { style: `${TOOL} ${style}`, ...rest });
  const row = make("div", "display: flex; gap: 10px; align-items: center; padding: 6px 8px 0;");
  row.style.font = '13px system-ui, "DejaVu Sans", sans-serif';
  const field = make("input", `${EDGE} width: 15em;`, { type: "search" });
  field.placeholder = "search (regex)";
  field.ariaLabel = "Search frames by a regular expression";
  field.oninput = () => flame.search(field.value);
  field.onkeydown = (event) => event.stopPropagation(); // neither for boxes nor for the notebook
  const said = make("output", "");
  const back = make("button", `${EDGE} cursor: pointer;`, { hidden: true, textContent: "↑ whole" });
  back.title = "Zoom out (Escape)";
  back.onclick = () => flame.zoom(flame.root);
  row.append(field, said, back);
  flame.drawing.host.prepend(row);
  return { field, said, back };
}
