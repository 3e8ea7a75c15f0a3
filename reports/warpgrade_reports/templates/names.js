// Of a class that is too large for one table: the students whose names hold every word of what is typed.
const MOST_FOUND = 50;
const folded = (text) => text.normalize("NFKD").toLowerCase();

for (const field of document.querySelectorAll("input[data-names]")) {
  const names = JSON.parse(document.getElementById(field.dataset.names).textContent);
  const texts = names.map(([name]) => folded(name));
  const list = document.getElementById(`${field.dataset.names}-found`);
  const told = field.closest(".search").querySelector("[role=status]");
  field.addEventListener("input", () => {
    const words = folded(field.value).split(/\s+/).filter(Boolean);
    const found = words.length ? names.filter((_, i) => words.every((word) => texts[i].includes(word))) : [];
    list.replaceChildren(...found.slice(0, MOST_FOUND).map(([name, page]) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = page;
      link.textContent = name;
      item.append(link);
      return item;
    }));
    told.textContent = words.length ? `${found.length} of ${names.length}` : "";
  });
}
