const details = all("details");
byId("open").addEventListener("click", () => {
  const open = details.some((part) => !part.open);
  for (const part of details) part.open = open;
  byId("open").textContent = open ? "Close all tables" : "Open all tables";
});

const rows = all("tbody tr").map((row) => ({ row, text: row.textContent.toLowerCase() }));
byId("filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { row, text } of rows) {
    const fits = words.every((word) => text.includes(word));
    row.classList.toggle("away", !fits);
    shown += fits;
  }
  byId("count").textContent = words.length ? `${shown} of ${rows.length} rows` : "";
});

const number = (text) => (/^[-+]?[\d.]/.test(text) ? parseFloat(text.replaceAll(",", "")) : NaN);
const compared = (a, b) => {
  if (!a || !b) return !a - !b;
  const difference = number(a) - number(b);
  return Number.isNaN(difference) ? a.localeCompare(b, "en", { numeric: true }) : difference;
};
for (const button of all("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const table = head.closest("table");
    const downwards = head.getAttribute("aria-sort") === "ascending";
    for (const other of all("th", table)) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", downwards ? "descending" : "ascending");
    const text = (row) => row.cells[head.cellIndex].textContent;
    const ordered = all("tbody tr", table).sort((a, b) => {
      const empty = !text(a) - !text(b); // unknown values stand last in both orders
      return empty || compared(text(a), text(b)) * (downwards ? -1 : 1);
    });
    table.tBodies[0].append(...ordered);
  });
}

// A mark says in its aria-label what it shows; those of legends and captions begin with their place on the paper.
const rounded = (part) => part.replace(/: (-?\d+\.\d+)$/, (_, value) => `: ${short(value)}`);
document.addEventListener("pointermove", (event) => {
  const mark = event.target.closest?.("figure [role=graphics-symbol][aria-label]");
  const label = mark?.getAttribute("aria-label");
  if (!label || /^[xy]2?: /.test(label) || label.includes("-axis")) return hide();
  const lines = label.split("; ").filter((part) => !part.endsWith(": ")).map(rounded);
  showTip(lines.join("\n"), event.clientX, event.clientY);
});
