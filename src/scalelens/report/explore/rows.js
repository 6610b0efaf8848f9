// The rows of the page.  A column of texts comes as its texts, each once, and for each row the place of its text.
const data = JSON.parse(byId("data").textContent);
for (const kind of data.kinds) {
  kind.column = new Map(kind.columns.map((column) => [column.name, column]));
  for (const column of kind.columns) {
    if (column.texts) column.values = column.places.map((place) => (place === null ? null : column.texts[place]));
    column.isNumber = column.type === "number" || column.type === "whole";
    column.distinct = new Set(column.values).size;
  }
}

// What the reader chose: a kind of rows, what stands where, which rows, in which order.
const state = {
  kind: data.kinds[0], x: "", y: "", color: "", mark: "point", log: { x: false, y: false }, intervals: true,
  filters: new Map(), sort: null, count: 100, wide: false,
};

const control = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]/gu;
// Text of a file as it may be shown: control characters, and marks that turn the direction of writing, are seen.
const visible = (text) => text.replace(control, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
const shownValue = (column, value) => {
  if (value === null) return "";
  if (column.isNumber) return column.type === "whole" ? value.toLocaleString("en") : short(value);
  return column.type === "flag" ? (value ? "yes" : "no") : visible(value);
};
const natural = (a, b) => `${a}`.localeCompare(`${b}`, "en", { numeric: true });
const compared = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : natural(a, b));

// An element with its text, which is never read as markup.
const element = (tag, text = "", given = {}) => {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(given)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  return made;
};
