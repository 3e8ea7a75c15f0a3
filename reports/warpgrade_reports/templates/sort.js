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
