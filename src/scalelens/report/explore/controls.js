// The choosers, and what follows a choice.
const option = (column) => element("option", column.title, { value: column.name, title: column.meaning });
const byKind = (a, b) => b.isNumber - a.isNumber;
const fillChoosers = () => {
  const columns = state.kind.columns.filter((column) => !column.is_hidden && column.type !== "other");
  const few = (column) => column.distinct <= data.mostColors;
  const colors = columns.filter((column) => column.distinct > 1).sort((a, b) => few(b) - few(a));
  byId("x").replaceChildren(...[...columns].sort(byKind).map(option));
  byId("y").replaceChildren(...columns.filter((column) => column.isNumber).map(option));
  byId("color").replaceChildren(element("option", "none", { value: "" }), ...colors.map(option));
  for (const name of ["x", "y", "color", "mark"]) byId(name).value = state[name];
};

const update = async () => {
  const rows = fitting();
  const drawing = draw(rows);
  byId("intervals").disabled = !state.kind.column.has(`${state.y}_low`);
  if (!root.dataset.drawn) await drawing; // the first picture comes before the table
  showFilters();
  showRows(rows);
  byId("command").textContent = commandOf(chosen(rows));
  byId("copied").textContent = "";
  at = -1;
  byId("ring").hidden = true;
  await drawing;
};

const isColor = (column) => column && column.distinct > 1 && column.distinct <= data.mostColors;
const choose = (kind) => {
  const numbers = kind.columns.filter((column) => column.isNumber && !column.is_hidden).map((column) => column.name);
  const first = kind.columns.find((column) => !column.is_hidden).name;
  const y = kind.y[0] ?? numbers[0];
  const color = kind.color.find((name) => isColor(kind.column.get(name))) ?? "";
  Object.assign(state, { kind, x: kind.x[0] ?? numbers[0] ?? first, y, color, mark: "point", sort: null, count: 100 });
  for (const button of byId("kinds").children) button.setAttribute("aria-pressed", `${button.dataset.name === kind.name}`);
  fillChoosers();
  buildFilters();
  return update();
};

byId("kinds").append(...data.kinds.filter((kind) => kind.columns.some((column) => column.isNumber)).map((kind) => {
  const button = element("button", "", { type: "button", onclick: () => choose(kind) });
  button.dataset.name = kind.name;
  button.append(element("span", kind.title), element("small", kind.rows.toLocaleString("en")));
  return button;
}));
for (const name of ["x", "y", "color", "mark"]) {
  byId(name).addEventListener("change", (event) => { state[name] = event.target.value; update(); });
}
for (const axis of ["x", "y"]) {
  byId(`log-${axis}`).addEventListener("change", (event) => { state.log[axis] = event.target.checked; update(); });
}
byId("intervals").addEventListener("change", (event) => { state.intervals = event.target.checked; update(); });
let waiting = 0;
let wasWide = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === wasWide) return; // a keyboard of a phone changes the height alone
  wasWide = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(() => draw(fitting()), 150);
});
if (innerWidth < 1024) byId("filters").open = false;
choose(data.kinds.find((kind) => kind.y.length) ?? data.kinds[0]);
