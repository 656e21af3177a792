// Makes each kernel table of the page sortable by its headers and searchable, and gives it buttons
// to copy what is shown and to save it as CSV. It asks no network, and is harmless when it runs
// twice. Without it the table is plain HTML, in the order that Python gave it.
{
  const FEW = 5; // rows; a table with no more needs no search
  const text = (cell) => cell.textContent.trim();
  const number = (text) => (/^[+-]?[\d.]/.test(text) ? parseFloat(text) : NaN);

  function compare(column, falling) {
    return (one, other) => {
      const [a, b] = [one, other].map((row) => text(row.cells[column]));
      const [x, y] = [number(a), number(b)];
      if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1; // missing last
      const order = Number.isNaN(x) ? a.localeCompare(b) : x - y;
      return falling ? -order : order;
    };
  }

  function make(tag, words, attributes = {}) {
    return Object.assign(document.createElement(tag), { textContent: words }, attributes);
  }

  // Rows that are shown, headers first: full names, numbers as they stand, nothing for a dash.
  function shownCells(table) {
    const cell = (each) => each.title || text(each).replace(/^–$/, "");
    const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    return [
      [...table.tHead.rows[0].cells].map(text),
      ...rows.map((row) => [...row.cells].map(cell)),
    ];
  }

  const lines = (rows, quote, mark) =>
    rows.map((row) => row.map(quote).join(mark)).join("\r\n") + "\r\n";
  const oneLine = (value) => value.replace(/[\t\r\n]/g, " ");
  // A spreadsheet would take a name that begins so for a formula; numbers stay numbers.
  const harmless = (value) =>
    /^[=+\-@]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
  const quoted = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

  async function copy(content) {
    if (navigator.clipboard) return navigator.clipboard.writeText(content);
    const area = make("textarea", content); // without TLS a page has no clipboard
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }

  function save(content, name) {
    const url = URL.createObjectURL(new Blob([content], { type: "text/csv" }));
    make("a", "", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }

  function sortBy(table, head, column) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const isNumber = [...body.rows].some((row) => !Number.isNaN(number(text(row.cells[column]))));
    const falling = head.ariaSort ? head.ariaSort === "ascending" : isNumber && column > 0;
    for (const other of heads) other.ariaSort = null;
    head.ariaSort = falling ? "descending" : "ascending";
    body.append(...[...body.rows].sort(compare(column, falling)));
  }

  function toolbar(table, name) {
    const bar = make("div", "", { className: "protonlab-tools" });
    const status = make("span", "", { role: "status" });
    const say = (words) => (status.textContent = words);
    const rows = [...table.tBodies[0].rows];
    if (rows.length > FEW) {
      const search = make("input", "", { type: "search", placeholder: "Search kernels" });
      search.ariaLabel = search.placeholder;
      search.oninput = () => {
        const wanted = search.value.toLowerCase();
        for (const row of rows) {
          const names = `${row.cells[0].textContent} ${row.cells[0].title}`;
          row.hidden = !names.toLowerCase().includes(wanted);
        }
        const found = rows.filter((row) => !row.hidden).length;
        say(wanted ? `${found} of ${rows.length} kernels` : "");
      };
      bar.append(search);
    }
    const onCopy = () =>
      copy(lines(shownCells(table), (each) => oneLine(harmless(each)), "\t"))
        .then(() => say("copied"), () => say("the browser does not let a page copy"));
    const onSave = () =>
      save(lines(shownCells(table), (each) => quoted(harmless(each)), ","), `${name}.csv`);
    bar.append(
      make("button", "Copy", { type: "button", onclick: onCopy }),
      make("button", "CSV", { type: "button", onclick: onSave }),
      status,
    );
    return bar;
  }

  function enliven(table) {
    table.dataset.live = "";
    if (!table.tHead || !table.tBodies.length) return; // not one of ours
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", "", { type: "button" });
      button.append(...head.childNodes);
      button.onclick = () => sortBy(table, head, column);
      head.append(button);
    });
    const title = table.caption ? text(table.caption) : "";
    const name = title.replace(/[^\w-]+/g, "_").slice(0, 60);
    const bar = toolbar(table, name || "kernels");
    for (const part of [bar, table.tHead])
      part.onkeydown = (event) => event.stopPropagation(); // keys are the notebook's shortcuts
    table.before(bar);
  }

  document.querySelectorAll("table.protonlab-table:not([data-live])").forEach(enliven);
}
