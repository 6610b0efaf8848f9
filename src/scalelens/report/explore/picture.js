// The picture: a Vega-Lite specification of the rows that are shown.  It draws what `scalelens plot --sql` draws.
let view = null;
let draws = 0;
const ends = () => {
  const columns = [`${state.y}_low`, `${state.y}_high`].map((name) => state.kind.column.get(name));
  return state.intervals && columns.every(Boolean) ? columns.map((column) => column.values) : null;
};
const labelOf = (column, value) => {
  if (!column) return "";
  if (value === null) return "unknown";
  return column.type === "flag" ? (value ? "True" : "False") : visible(`${value}`);
};

// What the line through a point is: a 95 % interval or a range, of the steps of a run or of repeated runs.
const saidOfIntervals = (rows) => {
  if (!rows.length) return "";
  const { column } = state.kind;
  const valuesOf = (name) => new Set(column.has(name) ? rows.map((row) => column.get(name).values[row]) : []);
  const kinds = valuesOf(column.has(`${state.y}_kind`) ? `${state.y}_kind` : "interval_kind");
  const of = valuesOf("interval_of");
  const what = kinds.size === 1 && kinds.has("ci95") ? "95 % interval" : kinds.has("ci95") ? "95 % interval, or range where there is none" : "range";
  const scope = of.size > 1 ? "the steps of a run, or repeated runs" : of.has("runs") ? "repeated runs" : "the steps of a run";
  return `Through a point: ${what}, of ${scope}.`;
};

// What can be drawn of what was asked for, and why not the rest.
const chosen = (rows) => {
  const { kind } = state;
  const [x, y] = [kind.column.get(state.x), kind.column.get(state.y)];
  const remarks = [];
  const drawn = rows.filter((row) => x.values[row] !== null && y.values[row] !== null);
  const hidden = rows.length - drawn.length;
  if (hidden) remarks.push(`${hidden.toLocaleString("en")} without ${x.title} or ${y.title} ${hidden === 1 ? "is" : "are"} not drawn.`);
  let color = kind.column.get(state.color);
  const labels = [...new Set(drawn.map((row) => labelOf(color, color?.values[row] ?? null)))].sort(natural);
  if (color && labels.length > data.mostColors) {
    remarks.push(`${color.title} has ${labels.length.toLocaleString("en")} values here; up to ${data.mostColors} can be told apart by color.`);
    color = undefined;
  }
  const placeOf = (row) => JSON.stringify([color ? color.values[row] : 0, x.values[row]]);
  let { mark } = state;
  if (mark !== "point" && new Set(drawn.map(placeOf)).size < drawn.length) {
    remarks.push(`Several rows stand at one ${x.title}, so they are points.`);
    mark = "point";
  }
  const around = ends();
  if (around) remarks.push(saidOfIntervals(drawn.filter((row) => around[0][row] !== null)));
  const isPositive = { x: drawn.every((row) => x.values[row] > 0), y: drawn.every((row) => [y.values, ...(around ?? [])].every((values) => values[row] === null || values[row] > 0)) };
  const isOfCounts = ["devices", "nodes"].includes(x.name); // logarithmic already
  const log = { x: state.log.x && !isOfCounts && x.isNumber && mark !== "bar" && isPositive.x, y: state.log.y && mark !== "bar" && isPositive.y };
  for (const [axis, column] of [["x", x], ["y", y]]) {
    if (state.log[axis] && !log[axis] && !(axis === "x" && isOfCounts)) remarks.push(`A logarithmic axis cannot show ${mark === "bar" ? "bars" : column.isNumber ? "0 or less" : "texts"}.`);
  }
  return { x, y, color, labels: color ? labels : [""], mark, log, drawn, remarks, around };
};

const brief = { labelExpr: "format(datum.value, abs(datum.value) >= 10000 ? '~s' : '~f')" };
const xEncoding = ({ x, mark, log, drawn }, width) => {
  const title = log.x ? `${x.title}, log.` : x.title;
  if (!x.isNumber || mark === "bar") {
    const sort = [...new Set(drawn.map((row) => x.values[row]))].sort(compared).map((value) => (x.isNumber ? value : visible(`${value}`)));
    return { field: "x", type: "ordinal", title, sort, axis: { labelAngle: 0, labelOverlap: "greedy", labelLimit: 140, labelSeparation: 6 } };
  }
  const values = [...new Set(drawn.map((row) => x.values[row]))].sort((a, b) => a - b);
  if (["devices", "nodes"].includes(x.name) && values[0] > 0) {
    const scale = { type: "log", base: 2, nice: false, padding: 16 };
    return { field: "x", type: "quantitative", title, scale, axis: { values, labelOverlap: "greedy", format: ",d" } };
  }
  return { field: "x", type: "quantitative", title, scale: log.x ? { type: "log", padding: 12 } : { zero: false, nice: false, padding: 12 }, axis: { tickCount: Math.max(2, Math.floor(width / 100)), labelOverlap: "greedy", ...brief } };
};
const yEncoding = ({ y, log }) => ({
  field: "y", type: "quantitative", title: log.y ? `${y.title}, log.` : y.title, stack: null,
  scale: log.y ? { type: "log" } : { zero: true }, axis: { tickCount: 6, labelOverlap: "greedy", ...brief },
});

const specification = (one, width) => {
  const shapes = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross"];
  const range = one.labels.map((_, k) => data.colors[k % data.colors.length]);
  const legend = one.color ? { title: one.color.title, orient: "bottom", columns: Math.max(1, Math.floor(width / 220)), labelLimit: 200, symbolLimit: data.mostColors, symbolOpacity: 1, offset: 8 } : null;
  const color = { field: "label", type: "nominal", scale: { domain: one.labels, range }, legend };
  const shape = { field: "label", type: "nominal", scale: { domain: one.labels, range: one.labels.map((_, k) => shapes[k % shapes.length]) }, legend };
  const [x, y] = [xEncoding(one, width), yEncoding(one)];
  const aria = one.drawn.length <= 500;
  const layers = [];
  const offset = one.labels.length > 1 && one.mark === "bar" ? { xOffset: { field: "label", sort: one.labels } } : {};
  if (one.around) layers.push({ mark: { type: "rule", aria: false, opacity: 0.55 }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color, ...offset } });
  if (one.mark === "bar") layers.push({ mark: { type: "bar", aria }, encoding: { x, y, color, ...offset } });
  if (one.mark === "line") layers.push({ mark: { type: "line", aria: false }, encoding: { x, y, color } });
  if (one.mark !== "bar") layers.push({ mark: { type: "point", filled: true, size: 55, opacity: one.drawn.length > 300 ? 0.65 : 0.95, aria }, encoding: { x, y, color, shape } });
  const values = one.drawn.map((row) => ({
    row, x: one.x.isNumber ? one.x.values[row] : visible(`${one.x.values[row]}`), y: one.y.values[row], label: labelOf(one.color, one.color?.values[row] ?? null),
    ...(one.around ? { low: one.around[0][row], high: one.around[1][row] } : {}),
  }));
  const text = { labelFontSize: 13, titleFontSize: 13.5, labelColor: "#222222", titleColor: "#222222", titleFontWeight: "normal" };
  return {
    background: "#ffffff", width, height: width < 500 ? 300 : 420, autosize: { type: "fit", contains: "padding" }, padding: 6,
    description: `${one.y.title} by ${one.x.title}: ${one.drawn.length} rows`,
    data: { values }, layer: layers,
    config: {
      font: "system-ui, Liberation Sans, Arial, sans-serif", view: { stroke: null }, axisX: { grid: false }, legend: { ...text, symbolSize: 90 },
      axis: { ...text, gridColor: "#e4e4e4", domainColor: "#222222", tickColor: "#222222", labelPadding: 4, titlePadding: 8 },
    },
  };
};

// What a row says of itself: its run, the run's settings, the values drawn, and the line it comes from.
const told = (row) => {
  const { kind } = state;
  const value = (name) => { const column = kind.column.get(name); return column ? shownValue(column, column.values[row]) : ""; };
  const named = (names) => names.filter((name) => value(name)).map((name) => `${kind.column.get(name).title}: ${value(name)}`);
  const between = value(`${state.y}_low`) && ` (${value(`${state.y}_low`)} – ${value(`${state.y}_high`)})`;
  const own = named([...new Set([state.x, state.y, state.color])].filter((name) => name && name !== "run" && !kind.settings.includes(name)));
  const y = `${kind.column.get(state.y).title}: ${value(state.y)}`;
  const place = endOf(value("file"));
  const line = value("line").replaceAll(",", "");
  return [value("run"), ...own.map((text) => (text === y ? text + between : text)), ...named(kind.settings), place && `${place}${line && `:${line}`}`].filter(Boolean).join("\n");
};

// The entries of a legend can be clicked.
const withLegend = (vega) => {
  for (const legend of vega.legends ?? []) {
    for (const part of ["labels", "symbols"]) legend.encode = { ...legend.encode, [part]: { ...legend.encode?.[part], interactive: true } };
  }
  return vega;
};

const draw = async (rows) => {
  const turn = (draws += 1);
  const one = chosen(rows);
  byId("heading").textContent = `${one.y.title} by ${one.x.title}`;
  byId("meanings").textContent = [one.y, one.x].filter((column) => column.meaning).map((column) => `${column.title}: ${column.meaning}`).join(". ");
  const counted = one.drawn.length ? `${one.drawn.length.toLocaleString("en")} of ${state.kind.rows.toLocaleString("en")} rows are drawn.` : "No row that fits the filters can be drawn.";
  byId("counted").textContent = [counted, ...one.remarks, state.kind.thinned].filter(Boolean).join(" ");
  const figure = byId("chart");
  const style = getComputedStyle(byId("figure"));
  const width = Math.max(240, Math.floor(byId("figure").clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)));
  const options = { ast: true, actions: false, tooltip: false, defaultStyle: false, patch: withLegend, renderer: one.drawn.length > 1500 ? "canvas" : "svg" };
  const result = await vegaEmbed(figure, specification(one, width), options);
  if (turn !== draws) return result.finalize();
  view?.finalize();
  view = Object.assign(result, { one });
  result.view.addEventListener("pointermove", (event, item) => {
    if (item?.datum?.row === undefined) hide();
    else showTip(told(item.datum.row), event.clientX, event.clientY);
  });
  result.view.addEventListener("click", (event, item) => {
    const entry = item?.mark?.role?.startsWith("legend") ? item.datum : null;
    const row = one.drawn.find((row) => entry && labelOf(one.color, one.color.values[row]) === (entry.label ?? entry.value));
    if (row !== undefined) toggle(one.color.name, one.color.values[row]);
  });
  root.dataset.drawn ??= Math.round(performance.now());
};

// Arrow keys go from point to point, from left to right.
let at = -1;
const step = (by) => {
  if (!view?.one.drawn.length) return;
  const { x, y, drawn } = view.one;
  const ordered = [...drawn].sort((a, b) => compared(x.values[a], x.values[b]) || y.values[a] - y.values[b]);
  at = Math.max(0, Math.min(ordered.length - 1, at + by));
  const row = ordered[at];
  const scale = view.view.scale("x");
  const box = byId("chart").getBoundingClientRect();
  const [left, top] = view.view.origin();
  const along = scale(x.isNumber ? x.values[row] : visible(`${x.values[row]}`)) + (scale.bandwidth ? scale.bandwidth() / 2 : 0);
  const [px, py] = [box.left + left + along, box.top + top + view.view.scale("y")(y.values[row])];
  const frame = byId("figure").getBoundingClientRect();
  Object.assign(byId("ring").style, { left: `${px - frame.left}px`, top: `${py - frame.top}px` });
  byId("ring").hidden = false;
  showTip(told(row), px, py);
};
byId("figure").addEventListener("keydown", (event) => {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  step(by);
});
byId("figure").addEventListener("blur", () => { at = -1; byId("ring").hidden = true; hide(); });
