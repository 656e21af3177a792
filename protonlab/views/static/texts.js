// Texts in boxes: how much of a label there is room for.

const TEXT_PADDING = 10; // pixels of a box that its text cannot use
const MIN_TEXT = 24; // a box with less room than this, in pixels, stays empty
const NARROW = 3; // a box narrower than this, in pixels, has no edge: it would be nothing but edge
const pen = globalThis.document?.createElement("canvas").getContext("2d");

// Plotly reads a little HTML and TeX in texts; a name has neither.
const escapeText = (text) => text.replace(/[&<>$]/g, (mark) => `&#${mark.charCodeAt(0)};`);

function fit(label, aside, room) {
  if (room < MIN_TEXT) return "";
  const width = (text) => pen.measureText(text).width;
  for (const text of [`${label}  ${aside}`, label]) if (width(text) <= room) return text;
  let count = Math.floor((label.length * room) / width(label));
  while (count > 2 && width(`${label.slice(0, count)}…`) > room) count -= 1;
  return count > 2 ? `${label.slice(0, count)}…` : "";
}
