// What notes, legend and title really take is known once plotly drew them: then they get the room,
// and the figure is drawn again. Stands behind figure.js.

const NOTES = "notes"; // name of the annotation with the sentences below
const [ONE_ROW, SLACK] = [34, 8]; // pixels: of a legend anyway, and to spare
const [TITLE_LINE, NOTE_LINE] = [19, 16]; // pixels
const SEPARATOR = " · "; // between the parts of a title, and of a label
const SMALLEST = 8.5; // pixels: of a label's letters
const SWATCH = 40; // pixels before the name of a line in a legend

class FittedDrawing extends Drawing {
  paint(again = 3) {
    super.paint();
    const plotted = this.drawn;
    this.drawn = plotted?.then(() => again && !this.fits() && this.paint(again - 1));
    return this.drawn;
  }

  // The figure with the room that it turned out to need on this page.
  visible() {
    const { data, layout } = super.visible();
    const { width } = this;
    if (this.fit?.width !== width) this.fit = { ...UNFITTED, width };
    const { more, left, letters, head, names, labels } = this.fit;
    const { margin, legend, title } = layout;
    const heading = head < Infinity ? inLines(title.text, head) : title?.text;
    let above = heading === title?.text ? 0 : TITLE_LINE * (rows(heading) - rows(title.text));
    let below = more;
    const annotations = layout.annotations?.map((note) => {
      if (note.name !== NOTES) {
        const label = labelled(note, labels);
        if (note.y === 1 && note.yanchor === "bottom") above += NOTE_LINE * (rows(label.text) - rows(note.text));
        return label;
      }
      const lines = note.text.split("<br>");
      const fitting = letters < Infinity ? reflowed(note.text, letters) : lines;
      below += NOTE_LINE * (fitting.length - lines.length);
      return { ...note, text: fitting.join("<br>"), xshift: note.xshift + left };
    });
    const height = layout.height + above + below;
    const isTop = legend?.yanchor === "top";
    this.layout = {
      ...layout,
      height,
      annotations,
      margin: { ...margin, t: margin?.t + above, b: margin?.b + below },
      legend: isTop ? { ...legend, y: (legend.y * layout.height + more) / height } : legend,
      title: heading === title?.text ? title : { ...title, text: heading },
    };
    const named = names ? data.map((trace) => ({ ...trace, name: trace.name?.replace(" (", "<br>(") })) : data;
    return { data: named, layout: this.layout };
  }

  // Whether it fits, as it was drawn; remembers by how much it does not.
  fits() {
    const { fit, layout, plot } = this;
    const { annotations = [], legend, title } = layout;
    const before = { ...fit };
    const drawn = (selector) => plot.querySelector(selector)?.getBBox();
    const page = this.width - 2 * SLACK;
    const isTop = legend?.yanchor === "top";
    const room = isTop ? legend.y * layout.height : ONE_ROW + fit.more;
    const high = drawn(".legend .bg")?.height;
    if (high > room || (isTop && high < room - SLACK)) fit.more += high - room;
    const names = [...plot.querySelectorAll(".legendtext")];
    if (names.some((name) => name.getBBox().width + SWATCH > page)) fit.names = true;
    const wide = drawn(".gtitle")?.width;
    if (wide > page) fit.head = Math.floor((longest(title.text) * page) / wide);
    for (const [at, { name, text, xref }] of annotations.entries()) {
      const wide = drawn(`.annotation[data-index="${at}"] .annotation-text`)?.width;
      const across = plot._fullLayout?._size?.w;
      if (name === NOTES) {
        if (wide > page) fit.letters = Math.floor((longest(text) * page) / wide);
      } else if (xref === "paper" && wide > across) {
        fit.labels = { ...fit.labels, [text]: across / wide };
      }
    }
    const notes = annotations.find(({ name }) => name === NOTES);
    const off = title?.pad?.l - plot._fullLayout?._size?.l - notes?.xshift;
    if (Math.abs(off) >= 1) fit.left += off;
    return Object.keys(fit).every((key) => fit[key] === before[key]);
  }
}

// Of a figure that was not drawn yet: pixels that the legend lacks and the notes are off to the left,
// letters of a line of notes and of the title, whether names break, and label -> its share of room.
const UNFITTED = { more: 0, left: 0, letters: Infinity, head: Infinity, names: false, labels: {} };

const rows = (text) => text.split("<br>").length;
const longest = (text) => Math.max(...text.split("<br>").map((line) => line.length));

// A label that is wider than the plot: a line for each of its parts, then in smaller letters.
function labelled(note, shares) {
  const parts = shares[note.text] ? note.text.replaceAll(SEPARATOR, "<br>") : note.text;
  const share = shares[parts] ?? 1;
  if (share === 1 && parts === note.text) return note;
  const size = Math.max(SMALLEST, Math.floor(10 * share * note.font.size) / 10);
  return { ...note, text: parts, align: note.xanchor, font: { ...note.font, size: share < 1 ? size : note.font.size } };
}

// Sentences in lines of at most so many letters; where one goes on in the next line, it has no stop.
function reflowed(text, letters) {
  const sentences = text.replace(/([^.])<br>/g, "$1 ").split("<br>");
  return sentences.flatMap((sentence) => broken(sentence, letters));
}

function broken(line, letters) {
  if (line.length <= letters) return [line];
  const at = line.lastIndexOf(" ", letters);
  return at > 0 ? [line.slice(0, at), ...broken(line.slice(at + 1), letters)] : [line];
}

// A title in lines of at most so many letters, broken at a separator, or else between words.
function inLines(text, letters) {
  if (text.length <= letters) return text;
  const at = text.lastIndexOf(SEPARATOR, letters);
  const place = at > 0 ? at : text.lastIndexOf(" ", letters);
  if (place <= 0) return text;
  const next = text.slice(place + (at > 0 ? SEPARATOR.length : 1));
  return `${text.slice(0, place)}<br>${inLines(next, letters)}`;
}

VIEWS.set("any", FittedDrawing);
