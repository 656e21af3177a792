// Texts in boxes: how much of a label there is room for. Stands before figure.js in one module.

const TEXT_PADDING = 10; // pixels of a box that its text cannot use
const MIN_TEXT = 24; // a box with less room than this, in pixels, stays empty
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
