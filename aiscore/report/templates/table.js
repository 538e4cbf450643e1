// The table: sorted, filtered and searched in the data; rows are made as they are needed.

const STEP = 200; // rows that are made at a time
const state = { sort: MAIN, down: true, words: [], kind: "", origin: "", state: "", quantity: "" };
const body = byId("table").tBodies[0];
let fitting = [];

const columns = [
  { key: "name", label: "Device", class: "name", down: false },
  ...data.columns.map((name) => ({ key: name, label: data.titles[name].replace(" score", ""), class: "score", down: true })),
  ...(data.rows.some((row) => row.price) ? [{ key: "price", label: "Price", class: "price", down: false }] : []),
  ...(Object.keys(data.quantities).length ? [{ key: "value", label: "", class: "value", down: true }] : []),
];
const highest = Object.fromEntries(data.scores.map((name) => [name, highestOf(name)]));
highest.inference = highest.training = Math.max(highest.inference, highest.training); // points of one scale

function highestOf(name) {
  return data.rows.reduce((most, { scores }) => (isWhole(scores[name]) ? Math.max(most, scores[name].value) : most), 1);
}

for (const [index, row] of data.rows.entries()) {
  row.index = index;
  row.text = [row.name, row.kind, row.origin, row.status, row.stack, ...row.facts.flat()].join(" ").toLowerCase();
}

/** Where the row belongs: a group (what cannot be compared comes later), then a figure or a text. */
function place(row) {
  const { sort, quantity } = state;
  if (sort === "name") return [0, "", row.name.toLowerCase()];
  if (sort === "price") return row.price ? [0, row.price.currency, row.price.amount] : [1, "", 0];
  if (sort === "value") {
    const value = row.per[MAIN]?.[quantity];
    return value ? [0, quantity === "price" ? row.price.currency : "", value] : [1, "", 0];
  }
  const figure = row.scores[sort];
  return figure ? [figure.basis === "part" ? 1 : 0, "", figure.value] : [2, "", 0];
}

function refresh() {
  const { kind, origin, words, down } = state;
  fitting = data.rows.filter(
    (row) =>
      (!kind || row.kind === kind) &&
      (!origin || row.origin === origin) &&
      (!state.state || row.state === state.state) &&
      words.every((word) => row.text.includes(word))
  );
  const places = new Map(fitting.map((row) => [row, place(row)]));
  const compare = (one, two) => (one < two ? -1 : one > two ? 1 : 0);
  fitting.sort((one, two) => {
    const [first, second] = [places.get(one), places.get(two)];
    const order = compare(first[2], second[2]);
    return compare(first[0], second[0]) || compare(first[1], second[1]) || (down ? -order : order) || one.index - two.index;
  });
  giveRanks();
  body.replaceChildren();
  byId("table").setAttribute("aria-rowcount", fitting.length + 1);
  showMore();
  const all = number.format(data.rows.length);
  const filtered = fitting.length < data.rows.length;
  byId("count").textContent = filtered ? `${number.format(fitting.length)} of ${all} rows` : `${all} rows`;
  byId("clear").hidden = !filtered;
  markHeadings();
  markCharts();
}

/** Among the rows that fit, by the score that is sorted by; only whole scores have one. */
function giveRanks() {
  const by = data.scores.includes(state.sort) ? state.sort : MAIN;
  const whole = fitting.filter((row) => row.scores[by]?.basis === "whole");
  whole.sort((one, two) => two.scores[by].value - one.scores[by].value);
  for (const row of fitting) row.rank = "";
  whole.forEach((row, index) => (row.rank = index + 1));
}

/** The next rows: all at once would take a browser seconds. */
function showMore() {
  const made = body.querySelectorAll(":scope > tr:not(.detail)").length;
  const next = fitting.slice(made, made + STEP);
  body.append(...next.map((row, offset) => rowOf(row, made + offset)));
  const left = fitting.length - made - next.length;
  byId("more").hidden = !left;
  byId("more").textContent = `Show more (${number.format(left)} left)`;
}

function showAll() {
  while (!byId("more").hidden) showMore();
}

function rowOf(row, position) {
  const opener = el("button", { type: "button", class: "opener", "aria-expanded": "false", onclick: () => toggle(row) }, el("bdi", {}, row.name));
  const box = el("input", { type: "checkbox", value: row.index, "aria-label": `Compare ${row.name}`, onchange: () => pick(row, box.checked) });
  box.checked = picked.includes(row);
  return el(
    "tr",
    { id: `row-${row.index}`, class: row.mine ? "mine" : null, role: "row", "aria-rowindex": position + 2 },
    el("td", { class: "pick", role: "cell" }, box),
    el("td", { class: "rank", role: "cell" }, row.rank),
    el("th", { class: "name", scope: "row", role: "rowheader" }, opener, el("span", { class: "about", dir: "auto" }, about(row))),
    ...columns.slice(1).map((column) => cellOf(row, column))
  );
}

/** What the row stands on, in a line. */
function about(row) {
  const kind = { gpu: "GPU", cpu: "CPU", unknown: "unknown device" }[row.kind];
  return [kind, row.origin, row.status, row.stack].filter(Boolean).join(" · ");
}

function cellOf(row, { key, label, class: kind }) {
  const attributes = { class: `figure ${kind}`, role: "cell", "data-title": label || valueLabel() };
  if (key === "price") return el("td", attributes, row.price ? `${number.format(row.price.amount)} ${row.price.currency}` : "");
  if (key === "value") {
    const value = row.per[MAIN]?.[state.quantity];
    return el("td", attributes, value ? threeDigits(value) + (state.quantity === "price" ? ` / ${row.price.currency}` : "") : "");
  }
  const figure = row.scores[key];
  if (!figure) return el("td", attributes);
  const mark = data.marks[figure.basis];
  const meaning = mark ? el("span", { class: "hidden" }, ` (${data.legend[mark]})`) : null;
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", Math.min(1, figure.value / highest[key]));
  const cell = el("td", attributes, mark + number.format(figure.value), meaning, figure.basis === "part" ? null : bar);
  cell.classList.toggle("unsure", figure.basis !== "whole");
  return cell;
}

const valueLabel = () => `${data.titles[MAIN].replace(" score", "")} per ${data.quantities[state.quantity]}`;

function buildHeadings() {
  const cells = columns.map(({ key, label, class: kind }) =>
    el(
      "th",
      { scope: "col", role: "columnheader", class: key === "name" ? kind : `figure ${kind}`, "data-key": key },
      el("button", { type: "button", class: "sorter", onclick: () => sortBy(key) }, label)
    )
  );
  byId("table").tHead.replaceChildren(
    el(
      "tr",
      { role: "row", "aria-rowindex": 1 },
      el("th", { scope: "col", role: "columnheader", class: "pick" }, el("span", { class: "hidden" }, "Compare")),
      el("th", { scope: "col", role: "columnheader", class: "rank" }, "#"),
      ...cells
    )
  );
}

function markHeadings() {
  for (const cell of byId("table").tHead.querySelectorAll("[data-key]")) {
    if (cell.dataset.key === state.sort) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
    if (cell.dataset.key === "value") cell.firstElementChild.textContent = valueLabel();
  }
  byId("sort").value = state.sort;
}

/** Sorts by the column; once more, the other way round. */
function sortBy(key) {
  state.down = state.sort === key ? !state.down : columns.find((column) => column.key === key).down;
  state.sort = key;
  refresh();
}

async function toggle(row) {
  const line = byId(`row-${row.index}`);
  const opener = line.querySelector(".opener");
  const open = opener.getAttribute("aria-expanded") !== "true";
  opener.setAttribute("aria-expanded", open);
  byId(`detail-${row.index}`)?.remove();
  if (!open) return;
  const cell = el("td", { colspan: columns.length + 2, role: "cell" });
  line.after(el("tr", { class: "detail", id: `detail-${row.index}`, role: "row" }, cell));
  cell.append(...(await details(row)));
}

/** Brings the row into view, and opens it. */
async function reveal(row) {
  if (!fitting.includes(row)) clearFilters();
  while (!byId(`row-${row.index}`)) showMore();
  const opener = byId(`row-${row.index}`).querySelector(".opener");
  if (opener.getAttribute("aria-expanded") !== "true") await toggle(row);
  opener.focus();
  opener.scrollIntoView({ block: "center" });
}

/** The points of rows that do not fit step back. */
function markCharts() {
  const shownRows = new Set(fitting.map((row) => `#row-${row.index}`));
  for (const point of document.querySelectorAll(".chart a")) {
    point.classList.toggle("out", !shownRows.has(addressOf(point)));
  }
}

const addressOf = (point) => point.getAttribute("href") ?? point.getAttribute("xlink:href");
