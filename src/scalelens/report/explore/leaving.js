// What is shown leaves the page: as SVG, as CSV, and as the command that draws it again.
const quoted = (word) => {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return word.includes("'") && !/["$`\\!]/.test(word) ? `"${word}"` : `'${word.replaceAll("'", `'"'"'`)}'`;
};
// The SQL of the rows that fit the filters, with the joins whose columns are used.
const sqlOf = (one) => {
  const { kind } = state;
  const active = [...state.filters].filter(([name]) => kind.column.has(name));
  const used = new Set([one.x.name, one.y.name, one.color?.name, ...active.map(([name]) => name), ...(one.around ? [`${one.y.name}_low`, `${one.y.name}_high`, "interval_kind", "n_steps"] : [])]);
  const joins = kind.joins.map((join) => [join.sql, join.columns.filter((name) => used.has(name))]).filter(([, names]) => names.length);
  const conditions = [kind.where, ...active.map(([name, filter]) => condition(kind.column.get(name), filter))].filter(Boolean);
  // `plot` draws an interval where the rows have its ends.
  const own = [`${one.y.name}_low`, `${one.y.name}_high`].filter((name) => kind.column.has(name) && !kind.joins.some((join) => join.columns.includes(name)));
  const chosen = !one.around && own.length === 2 ? `SELECT * EXCLUDE (${own.join(", ")}) ` : "";
  return `${chosen}FROM ${kind.source}${joins.map(([sql, names]) => sql.replace("{}", names.join(", "))).join("")}${conditions.length ? ` WHERE ${conditions.join(" AND ")}` : ""}`;
};
const commandOf = (one) => {
  const log = ["x", "y"].flatMap((axis) => (one.log[axis] ? ["--log", axis] : []));
  const words = ["--sql", sqlOf(one), "--mark", one.mark, "--x", one.x.name, "--y", one.y.name, ...(one.color ? ["--color", one.color.name] : []), ...log, "-o", `${state.kind.name}.pdf`];
  return `${data.command[0]} ${words.map(quoted).join(" ")}${data.command[1]}`;
};

// A text does nothing in a spreadsheet: control characters are seen, and none is a formula.
const isNumber = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)$/;
const field = (value) => {
  if (value === null) return "";
  if (typeof value !== "string") return `${value}`;
  const text = /^[=+@-]/.test(value) && !isNumber.test(value) ? `'${visible(value)}` : visible(value);
  return text === "" || /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csvOf = (rows) => {
  const { columns } = state.kind;
  const lines = rows.map((row) => columns.map((column) => field(column.values[row])).join(","));
  return [columns.map((column) => column.name).join(","), ...lines, ""].join("\n");
};

const save = (name, type, text) => {
  const link = element("a", "", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
byId("csv").addEventListener("click", () => save(`${state.kind.name}.csv`, "text/csv", csvOf(ordered(fitting()))));
byId("svg").addEventListener("click", async () => {
  const about = element("i", `${data.made}. ${commandOf(view.one)}`).innerHTML;
  const svg = await view.view.toSVG();
  save(`${state.kind.name}.svg`, "image/svg+xml", svg.replace(/>/, `><desc>${about}</desc>`));
});
byId("copy").addEventListener("click", async () => {
  getSelection().selectAllChildren(byId("command"));
  try {
    await navigator.clipboard.writeText(byId("command").textContent);
    byId("copied").textContent = "Copied.";
  } catch {
    byId("copied").textContent = "It is selected: copy it with your keyboard.";
  }
});
