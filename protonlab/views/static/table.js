// Makes each kernel table of the page sortable by its headers and searchable; harmless when it runs
// twice. Without it the table is plain HTML, slowest kernel first.
{
  const number = (text) => (/^-?[\d.]/.test(text) ? parseFloat(text) : NaN);

  function compare(column, falling) {
    return (one, other) => {
      const [a, b] = [one, other].map((row) => row.cells[column].textContent.trim());
      const [x, y] = [number(a), number(b)];
      if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1; // missing last
      const order = Number.isNaN(x) ? a.localeCompare(b) : x - y;
      return falling ? -order : order;
    };
  }

  function enliven(table) {
    table.dataset.live = "";
    if (!table.tHead || !table.tBodies.length) return; // not one of ours
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.onclick = () => {
        const falling = head.ariaSort ? head.ariaSort === "ascending" : column > 0;
        for (const other of heads) other.ariaSort = null;
        head.ariaSort = falling ? "descending" : "ascending";
        body.append(...[...body.rows].sort(compare(column, falling)));
      };
    });
    const search = document.createElement("input");
    Object.assign(search, { type: "search", placeholder: "Search kernels" });
    search.ariaLabel = search.placeholder;
    search.oninput = () => {
      const wanted = search.value.toLowerCase();
      for (const row of body.rows) {
        const names = `${row.cells[0].textContent} ${row.cells[0].title}`;
        row.hidden = !names.toLowerCase().includes(wanted);
      }
    };
    search.onkeydown = (event) => event.stopPropagation(); // letters are the notebook's shortcuts
    if (body.rows.length > 5) table.before(search);
  }

  document.querySelectorAll("table.protonlab-table:not([data-live])").forEach(enliven);
}
