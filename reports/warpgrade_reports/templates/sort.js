// Sorts a table by the column whose head was clicked. The page is whole without it.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
      const rows = [...table.tBodies[0].rows].sort((a, b) => key(a).localeCompare(key(b), "en", { numeric: false }) );
      const numeric = rows.every((row) => key(row) !== "" && !Number.isNaN(Number(key(row))));
      if (numeric) rows.sort((a, b) => key(a) - key(b));
      if (down) rows.reverse();
      table.tBodies[0].append(...rows);
    });
  });
}
