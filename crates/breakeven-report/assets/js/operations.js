// The table of operations: sorts by a click on a head, filters while typing, opens rows.

function startOperations() {
  const table = document.getElementById("operations-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows].map((line, index) => ({ line, index, detail: null }));
  for (const row of rows) row.text = `${row.line.cells[0].textContent} ${row.line.cells[1].textContent}`
    .toLowerCase();
  const heads = sortable(table, rows, body);
  const filter = filterable(table, rows);
  for (const row of rows) openable(row);
  follow(() => {
    sort(heads, rows, body);
    filter();
    const open = new Set((choice("open") ?? "").split(",").filter(Boolean).map(Number));
    for (const row of rows) setOpen(row, open.has(row.index));
  });
}

// Each head becomes a button; a click sorts, another one turns the order around.
function sortable(table, rows, body) {
  const heads = [...table.tHead.rows[0].cells];
  for (const head of heads) {
    const { key } = head.dataset;
    const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
    button.addEventListener("click", () => {
      const now = choice("sort") === key ? choice("order") ?? "" : null;
      // Figures begin with the largest, words with the first of the alphabet.
      const [first, second] = head.classList.contains("figure") ? ["down", "up"] : ["up", "down"];
      const next = now === null ? first : now === first ? second : null;
      choose({ sort: next && key, order: next });
      sort(heads, rows, body);
    });
    head.replaceChildren(button);
  }
  return heads;
}

function sort(heads, rows, body) {
  const [by, order] = [choice("sort"), choice("order") === "up" ? 1 : -1];
  let place = -1;
  for (const head of heads) {
    const chosen = head.dataset.key === by;
    if (chosen) place = heads.indexOf(head);
    const sorted = order === 1 ? "ascending" : "descending";
    head.setAttribute("aria-sort", chosen ? sorted : "none");
  }
  // Already in this order.
  if (place < 0 && !body.dataset.sorted) return;
  body.dataset.sorted = "yes";
  const compare = place < 0 ? (a, b) => a.index - b.index : comparison(by, place, order);
  const sorted = [...rows].sort(compare);
  body.append(...sorted.flatMap(({ line, detail }) => detail ? [line, detail] : [line]));
}

function comparison(by, place, order) {
  const { columns, values } = data("operations");
  const column = columns.indexOf(by);
  const words = new Intl.Collator("en", { numeric: true });
  return (a, b) => {
    if (column < 0) {
      const [left, right] = [a, b].map((row) => row.line.cells[place].textContent);
      return order * words.compare(left, right) || a.index - b.index;
    }
    const [left, right] = [values[a.index][column], values[b.index][column]];
    // Rows without a value come last in either direction.
    if (left === null || right === null) return (left === null) - (right === null) || a.index - b.index;
    return order * (left - right) || a.index - b.index;
  };
}

// A filter field above the table: a row's name or device must contain all words.
function filterable(table, rows) {
  const field = element("input", { type: "search", id: "filter", autocomplete: "off" });
  const said = element("span", { role: "status", class: "faint" });
  const tools = element("div", { class: "tools" },
    element("label", { for: "filter" }, "Filter by name or device", field), said);
  table.closest(".scroll").before(tools);
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const shown = words.every((word) => row.text.includes(word));
      row.line.hidden = !shown;
      if (row.detail) row.detail.hidden = !shown;
      count += shown;
    }
    const all = rows.length;
    said.textContent = words.length ? `${count} of ${all} operations` : `${all} operations`;
  };
  field.addEventListener("input", () => {
    choose({ filter: field.value });
    apply();
  });
  return () => {
    if (field.value !== (choice("filter") ?? "")) field.value = choice("filter") ?? "";
    apply();
  };
}

// The name becomes a button that opens the row.
function openable(row) {
  const name = row.line.cells[0].querySelector(".name");
  row.button = element("button", { type: "button", class: "open", "aria-expanded": "false" });
  name.replaceWith(row.button);
  row.button.append(name);
  row.button.addEventListener("click", () => {
    setOpen(row, !row.detail);
    const open = new Set((choice("open") ?? "").split(",").filter(Boolean));
    if (row.detail) open.add(String(row.index));
    else open.delete(String(row.index));
    choose({ open: [...open].join(",") });
  });
}

function setOpen(row, open) {
  if (open === Boolean(row.detail)) return;
  row.button.setAttribute("aria-expanded", String(open));
  if (!open) {
    row.detail.remove();
    row.detail = null;
    return;
  }
  const { facts, histograms } = data("operations");
  const list = facts[row.index].flatMap(([name, text]) => [
    element("dt", {}, name), element("dd", {}, element("bdi", {}, text)),
  ]);
  const inside = element("div", { class: "inside" }, element("dl", {}, ...list));
  const cell = element("td", { colspan: row.line.cells.length }, inside);
  row.detail = element("tr", { class: "detail" }, cell);
  row.detail.hidden = row.line.hidden;
  row.line.after(row.detail);
  const found = histograms[row.index];
  const width = Math.min(720, Math.max(280, document.documentElement.clientWidth - 90));
  inside.append(found ? histogram(found, width) : element("p", {}, "It has no samples."));
}
