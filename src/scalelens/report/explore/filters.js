// A filter of a column is { values: Set }, { low, high } or { text }; it tells its condition in SQL as well.
const fewValues = 12;
const fits = (filter, value) => {
  if (filter.values) return filter.values.has(value);
  if (value === null) return false;
  if (filter.text !== undefined) return value.toLowerCase().includes(filter.text);
  return (filter.low === null || value >= filter.low) && (filter.high === null || value <= filter.high);
};

// Rows that fit all filters, but the one of a column that is named.
const fitting = (but = "") => {
  const active = [...state.filters].filter(([name]) => name !== but && state.kind.column.has(name));
  const tests = active.map(([name, filter]) => [state.kind.column.get(name).values, filter]);
  const rows = [];
  for (let row = 0; row < state.kind.rows; row += 1) {
    if (tests.every(([values, filter]) => fits(filter, values[row]))) rows.push(row);
  }
  return rows;
};

const sqlText = (text) => {
  const parts = text.split(new RegExp(`(${control.source})`, "u"));
  const written = parts.map((part, k) => (k % 2 ? `chr(${part.charCodeAt(0)})` : part && `'${part.replaceAll("'", "''")}'`));
  const joined = written.filter(Boolean);
  return joined.length > 1 ? `(${joined.join(" || ")})` : joined[0] ?? "''";
};
const sqlNumber = (column, value) => (column.type === "whole" || /e/.test(`${value}`) ? `${value}` : `${value}e0`);
const sqlValue = (column, value) => {
  if (column.isNumber) return sqlNumber(column, value);
  return column.type === "flag" ? `${value}` : sqlText(value);
};
const condition = (column, filter) => {
  const name = column.name;
  if (filter.text !== undefined) return `contains(lower(${name}), ${sqlText(filter.text)})`;
  if (!filter.values) {
    const ends = [["low", ">="], ["high", "<="]].filter(([end]) => filter[end] !== null);
    return ends.map(([end, sign]) => `${name} ${sign} ${sqlNumber({ type: "number" }, filter[end])}`).join(" AND ");
  }
  const known = [...filter.values].filter((value) => value !== null).map((value) => sqlValue(column, value));
  const parts = known.length === 1 ? [`${name} = ${known[0]}`] : known.length ? [`${name} IN (${known.join(", ")})`] : [];
  if (filter.values.has(null)) parts.push(`${name} IS NULL`);
  return parts.length > 1 ? `(${parts.join(" OR ")})` : parts[0];
};
const said = (column, filter) => {
  if (filter.text !== undefined) return `${column.title} contains ${visible(filter.text)}`;
  if (filter.values) {
    return `${column.title}: ${[...filter.values].map((value) => shownValue(column, value) || "unknown").join(", ")}`;
  }
  const { low, high } = filter;
  if (low === null) return `${column.title} at most ${short(high)}`;
  return high === null ? `${column.title} at least ${short(low)}` : `${column.title} ${short(low)} to ${short(high)}`;
};

const setFilter = (name, filter) => {
  const isEmpty = !filter || filter.values?.size === 0 || filter.text === "" || (filter.low === null && filter.high === null);
  if (isEmpty) state.filters.delete(name);
  else state.filters.set(name, filter);
  state.count = 100;
  update();
};
// Takes a value in, or out where it is in.
const toggle = (name, value) => {
  const values = new Set(state.filters.get(name)?.values);
  if (!values.delete(value)) values.add(value);
  setFilter(name, { values });
};

const valueButtons = (column) => {
  const values = [...new Set(column.values)].sort((a, b) => (a === null) - (b === null) || compared(a, b));
  return values.map((value) => {
    const button = element("button", "", { type: "button", className: "value", onclick: () => toggle(column.name, value) });
    button.append(element("span", shownValue(column, value) || "unknown"), element("small"));
    column.buttons.push([value, button]);
    return button;
  });
};
const number = (text) => (text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text));
const rangeFields = (column) => {
  const fields = ["low", "high"].map((end) => element("input", "", {
    type: "number", step: "any", placeholder: end === "low" ? "from" : "to",
    "aria-label": `${column.title} ${end === "low" ? "from" : "to"}`,
  }));
  for (const field of fields) {
    field.addEventListener("change", () => setFilter(column.name, { low: number(fields[0].value), high: number(fields[1].value) }));
  }
  column.fields = fields;
  return fields;
};
const textField = (column) => {
  const field = element("input", "", { type: "search", placeholder: "contains", "aria-label": `${column.title} contains` });
  field.addEventListener("input", () => setFilter(column.name, { text: field.value.toLowerCase() }));
  column.fields = [field];
  return [field];
};

// The list of filters of a kind: settings first; the first two of few values are open.
const buildFilters = () => {
  const { kind } = state;
  const names = [...new Set([...kind.settings, ...kind.columns.map((column) => column.name)])];
  const usable = names.map((name) => kind.column.get(name)).filter((one) => !one.is_hidden && one.type !== "other" && one.distinct > 1);
  let open = 2;
  byId("filter-list").replaceChildren(...usable.map((column) => {
    Object.assign(column, { buttons: [], fields: [] });
    const isFew = column.type !== "number" && column.distinct <= fewValues;
    const inner = isFew ? valueButtons(column) : column.isNumber ? rangeFields(column) : textField(column);
    const part = element("details", "", { open: isFew && (open -= 1) >= 0 });
    const group = element("div", "", { className: "values", role: "group", "aria-label": column.title });
    group.append(...inner);
    part.append(element("summary", column.title, { title: column.meaning }), group);
    return part;
  }));
};

// How many rows each value would show, and which filters are in use.
const showFilters = () => {
  for (const column of state.kind.columns) {
    const filter = state.filters.get(column.name);
    for (const field of filter ? [] : column.fields ?? []) field.value = "";
    if (!column.buttons?.length) continue;
    const counts = new Map();
    for (const row of fitting(column.name)) counts.set(column.values[row], (counts.get(column.values[row]) ?? 0) + 1);
    for (const [value, button] of column.buttons) {
      button.setAttribute("aria-pressed", `${Boolean(filter?.values?.has(value))}`);
      button.lastChild.textContent = (counts.get(value) ?? 0).toLocaleString("en");
    }
  }
  const used = [...state.filters].filter(([name]) => state.kind.column.has(name));
  byId("chips").replaceChildren(...used.map(([name, filter]) => {
    const text = said(state.kind.column.get(name), filter);
    const remove = () => { setFilter(name, null); (byId("chips").firstChild ?? byId("figure")).focus(); };
    return element("button", `${text} ×`, { type: "button", "aria-label": `Take away the filter ${text}`, onclick: remove });
  }));
};
