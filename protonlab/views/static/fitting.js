// What notes, legend and title really take is known once plotly drew them: then they get the room,
// and the figure is drawn again. A flame graph alone has none that differ. Stands behind figure.js.

const NOTES = "notes"; // name of the annotation with the sentences below
const [ONE_ROW, SLACK, LINE] = [34, 8, 19]; // pixels: of a legend anyway, to spare, of a title

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
    const { more, left, lines } = (this.fit ??= { more: 0, left: 0, lines: [] });
    const { margin, legend, annotations, title } = layout;
    const isTop = legend?.yanchor === "top";
    const above = LINE * Math.max(0, lines.length - 1);
    const height = layout.height + more + above;
    const fitted = {
      ...layout,
      height,
      margin: { ...margin, b: margin?.b + more, t: margin?.t + above },
      legend: isTop ? { ...legend, y: (legend.y * layout.height + more) / height } : legend,
      annotations: annotations?.map((note) =>
        note.name === NOTES ? { ...note, xshift: note.xshift + left } : note,
      ),
      title: lines.length ? { ...title, text: lines.join("<br>") } : title,
    };
    this.layout = fitted;
    return { data, layout: fitted };
  }

  // Whether it fits, as it was drawn; remembers by how much it does not.
  fits() {
    const { fit, layout, plot, width } = this;
    const drawn = (selector) => plot.querySelector(selector)?.getBBox();
    const isTop = layout.legend?.yanchor === "top";
    const room = isTop ? layout.legend.y * layout.height : ONE_ROW;
    const legend = drawn(".legend .bg")?.height;
    const lacks = legend > room || (isTop && legend < room - SLACK) ? legend - room : 0;
    const notes = layout.annotations?.find(({ name }) => name === NOTES);
    const edge = notes && plot._fullLayout?._size?.l + notes.xshift;
    const off = Number.isFinite(edge) ? (layout.title?.pad?.l ?? 0) - edge : 0;
    const share = (width - 2 * SLACK) / drawn(".gtitle")?.width;
    const isLong = share < 1 && layout.title.text.includes(SEPARATOR) && fit.lines.length < 2;
    if (isLong) fit.lines = twoLines(layout.title.text, share);
    fit.more += lacks;
    fit.left += off;
    return !lacks && !isLong && Math.abs(off) < 1;
  }
}

const SEPARATOR = " · "; // between the parts of a title

// Break a title at the last separator within that share of its letters.
function twoLines(text, share) {
  const at = text.lastIndexOf(SEPARATOR, text.length * share);
  const place = at > 0 ? at : text.indexOf(SEPARATOR);
  return [text.slice(0, place), text.slice(place + SEPARATOR.length)];
}

VIEWS.set("any", FittedDrawing);
