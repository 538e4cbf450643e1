// Every text that the page shows goes through `shown`, and enters the page as text only.

const data = JSON.parse(document.getElementById("data").textContent);
const MAIN = "ai"; // the score that rows are ranked and valued by, if no other is chosen
const PROTOCOLS = ["classic", "resident"];
const byId = (id) => document.getElementById(id);

/** What does not print, or turns the direction of writing, becomes a visible escape. */
function shown(text) {
  return String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

/** An element; `on...` are listeners, null and false attributes are left out. */
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, shown(value));
  }
  for (const child of children.flat()) {
    if (child !== null) made.append(child instanceof Node ? child : shown(child));
  }
  return made;
}

const number = new Intl.NumberFormat("en");

/** Three digits: more than one run can tell. */
function threeDigits(value) {
  const rounded = Number(value.toPrecision(3));
  return value.toFixed(rounded >= 100 ? 0 : rounded >= 10 ? 1 : rounded >= 1 ? 2 : 3);
}

/** As many decimals as the time deserves. */
function milliseconds(value) {
  return value === null || value === undefined ? "-" : value.toFixed(value >= 10 ? 1 : 2);
}

/** A list of terms and what they are; empty ones are left out. */
function facts(pairs) {
  const told = pairs.filter(([, text]) => text !== "" && text !== null && text !== undefined);
  return el("dl", { class: "facts" }, ...told.map(([name, text]) => [el("dt", {}, name), el("dd", { dir: "auto" }, text)]));
}

/** A table with a heading for each column; `figures` is the first column of numbers. Cells may be made. */
function smallTable(caption, headings, figures, lines) {
  const cell = (tag, scope) => (content, index) =>
    content instanceof Element ? content : el(tag, { scope, class: index >= figures ? "figure" : null }, content);
  const line = ([first, ...rest]) => el("tr", {}, cell("th", "row")(first, 0), ...rest.map((content, index) => cell("td")(content, index + 1)));
  return el(
    "table",
    { class: "small" },
    el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, ...headings.map(cell("th", "col")))),
    el("tbody", {}, ...lines.map(line))
  );
}

/** A link for addresses of the web, the plain text for anything else. */
function link(address) {
  return /^https?:\/\//.test(address) ? el("a", { href: address, rel: "noopener noreferrer" }, address) : address;
}
