// The rows as a table, in the order that the reader asks for.
const ordered = (rows) => {
  if (!state.sort || !state.kind.column.has(state.sort.name)) return rows;
  const { values } = state.kind.column.get(state.sort.name);
  const sign = state.sort.down ? -1 : 1;
  return [...rows].sort((a, b) => (values[a] === null) - (values[b] === null) || (values[a] === null ? 0 : sign * compared(values[a], values[b])));
};
const sentences = ["note", "outcome_text", "reason"];
const tableColumns = () => {
  const { kind } = state;
  const asked = state.wide ? kind.columns.map((column) => column.name) : [state.x, state.y, state.color, ...kind.glance];
  const wanted = ["run", ...asked.filter((name) => !sentences.includes(name)), "file", "line", ...asked];
  const names = new Set(wanted.filter((name) => kind.column.has(name) && !kind.column.get(name).is_hidden));
  return [...names].map((name) => kind.column.get(name));
};
const headOf = (column) => {
  const isSorted = state.sort?.name === column.name;
  const head = element("th", "", { scope: "col", className: column.isNumber ? "number" : "" });
  if (isSorted) head.setAttribute("aria-sort", state.sort.down ? "descending" : "ascending");
  const sort = () => {
    state.sort = { name: column.name, down: isSorted && !state.sort.down };
    showRows(fitting());
    byId("sort-" + column.name).focus();
  };
  head.append(element("button", column.title, { type: "button", id: `sort-${column.name}`, title: column.meaning, onclick: sort }));
  return head;
};
// The end of a path says most.
const endOf = (path) => { const parts = path.split("/"); return parts.length > 4 ? `…/${parts.slice(-3).join("/")}` : path; };
const cellOf = (column, row) => {
  const whole = shownValue(column, column.values[row]);
  const text = column.name === "file" ? endOf(whole) : whole;
  const cell = element("td", text, { className: column.isNumber ? "number" : text.length > 40 ? "long" : "" });
  if (text !== whole) cell.title = whole;
  if (column.type !== "other") Object.assign(cell.dataset, { name: column.name, row });
  return cell;
};
const showRows = (rows) => {
  const columns = tableColumns();
  const shown = ordered(rows).slice(0, state.count);
  const head = element("tr");
  head.append(...columns.map(headOf));
  document.querySelector("#rows thead").replaceChildren(head);
  document.querySelector("#rows tbody").replaceChildren(...shown.map((row) => {
    const line = element("tr");
    line.append(...columns.map((column) => cellOf(column, row)));
    return line;
  }));
  const all = `${rows.length.toLocaleString("en")} of ${state.kind.rows.toLocaleString("en")} rows fit the filters`;
  byId("row-count").textContent = shown.length < rows.length ? `${all}; the first ${shown.length.toLocaleString("en")} are listed.` : `${all}.`;
  byId("more").hidden = shown.length === rows.length;
};
document.querySelector("#rows tbody").addEventListener("click", (event) => {
  const { name, row } = event.target.closest("td")?.dataset ?? {};
  if (name && !getSelection().toString()) toggle(name, state.kind.column.get(name).values[row]);
});
byId("more").addEventListener("click", () => { state.count += 400; showRows(fitting()); });
byId("wide").addEventListener("click", () => {
  state.wide = !state.wide;
  byId("wide").setAttribute("aria-pressed", `${state.wide}`);
  showRows(fitting());
});
