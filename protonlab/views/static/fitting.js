// What notes, legend and title really take is known once plotly drew them: then they get the room,
// and the figure is drawn again. Stands behind figure.js.

const NOTES = "notes"; // name of the annotation with the sentences below
const [ONE_ROW, SLACK] = [34, 8]; // pixels: of a legend anyway, and to spare
const [TITLE_LINE, NOTE_LINE] = [19, 16]; // pixels
const SEPARATOR = " · "; // between the parts of a title

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
    if (this.fit?.width !== width) this.fit = { more: 0, left: 0, letters: Infinity, share: 1, width };
    const { more, left, letters, share } = this.fit;
    const { margin, legend, title } = layout;
    const above = share < 1 ? TITLE_LINE : 0;
    let below = more;
    const annotations = layout.annotations?.map((note) => {
      if (note.name !== NOTES) return note;
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
      title: above ? { ...title, text: twoLines(title.text, share) } : title,
    };
    return { data, layout: this.layout };
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
    if (fit.share === 1 && title?.text?.includes(SEPARATOR)) {
      fit.share = Math.min(1, page / drawn(".gtitle").width);
    }
    const at = annotations.findIndex(({ name }) => name === NOTES);
    if (at >= 0) {
      const wide = drawn(`.annotation[data-index="${at}"] .annotation-text`)?.width;
      const letters = annotations[at].text.split("<br>").map((line) => line.length);
      if (wide > page) fit.letters = Math.floor((Math.max(...letters) * page) / wide);
      const off = title?.pad?.l - plot._fullLayout?._size?.l - annotations[at].xshift;
      if (Math.abs(off) >= 1) fit.left += off;
    }
    return Object.keys(fit).every((key) => fit[key] === before[key]);
  }
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

// A title broken at the last separator within that share of its letters.
function twoLines(text, share) {
  const at = text.lastIndexOf(SEPARATOR, text.length * share);
  const place = at > 0 ? at : text.indexOf(SEPARATOR);
  return `${text.slice(0, place)}<br>${text.slice(place + SEPARATOR.length)}`;
}

VIEWS.set("any", FittedDrawing);
