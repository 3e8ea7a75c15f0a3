// Sorts a table by the column whose head was clicked. The page is whole without it. Heads stay plain cells: browsers do
// not repeat a table's head on every printed page once it holds buttons.
const keyOf = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();

function sortBy(table, head, column) {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows];
  const numeric = rows.every((row) => keyOf(row, column) !== "" && !Number.isNaN(Number(keyOf(row, column))));
  rows.sort((a, b) => numeric ? keyOf(a, column) - keyOf(b, column) : keyOf(a, column).localeCompare(keyOf(b, column)));
  if (down) rows.reverse();
  table.tBodies[0].append(...rows);
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.tabIndex = 0;
    head.addEventListener("click", () => sortBy(table, head, column));
    head.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sortBy(table, head, column);
    });
  });
}

// Shows the rows that hold every word of what is typed.
for (const field of document.querySelectorAll("input[data-table]")) {
  const rows = [...document.getElementById(field.dataset.table).tBodies[0].rows];
  const told = field.closest(".search").querySelector("[role=status]");
  const textOf = (row) => [...row.cells].map((cell) => cell.textContent).join("\n");  // no word goes over two cells
  const texts = rows.map((row) => textOf(row).normalize("NFKD").toLowerCase());
  field.addEventListener("input", () => {
    const words = field.value.normalize("NFKD").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    told.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
}
