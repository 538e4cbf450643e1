// The controls.

function choices(select, pairs) {
  select.append(...pairs.map(([value, text]) => el("option", { value }, text)));
  select.closest("label").hidden = select.options.length < 2;
}

/** The values that the rows have, to choose from. */
function filter(id, key, titles = {}) {
  const values = [...new Set(data.rows.map((row) => row[key]))].sort();
  choices(byId(id), values.length > 1 ? values.map((value) => [value, titles[value] ?? value]) : []);
  byId(id).addEventListener("change", () => {
    state[key] = byId(id).value;
    refresh();
  });
}

function clearFilters() {
  for (const id of ["search", "kind", "origin", "state"]) byId(id).value = "";
  Object.assign(state, { words: [], kind: "", origin: "", state: "" });
  refresh();
}

function search() {
  state.words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  refresh();
}

/** The row that an address of this page names. */
const rowAt = (address) => data.rows[Number(/^#row-(\d+)$/.exec(address ?? "")?.[1] ?? -1)];

state.quantity = Object.keys(data.quantities)[0] ?? "";
filter("kind", "kind", { gpu: "GPU", cpu: "CPU" });
filter("origin", "origin");
filter("state", "state");
choices(byId("quantity"), Object.entries(data.quantities).map(([of, text]) => [of, `per ${text}`]));
byId("quantity").addEventListener("change", () => {
  state.quantity = byId("quantity").value;
  refresh();
});
buildHeadings();
choices(byId("sort"), columns.map(({ key, label }) => [key, label || "Value"]));
byId("sort").addEventListener("change", () => sortBy(byId("sort").value));
byId("search").addEventListener("input", search);
byId("tools").addEventListener("submit", (event) => event.preventDefault());
byId("theme").addEventListener("change", () => {
  document.documentElement.dataset.theme = byId("theme").value;
});
byId("clear").addEventListener("click", clearFilters);
byId("more").addEventListener("click", showMore);
const nearTheEnd = new IntersectionObserver((seen) => {
  if (!seen.some((one) => one.isIntersecting)) return;
  showMore();
  nearTheEnd.unobserve(byId("more"));  // an observer tells of changes only: to be told again, begin again
  nearTheEnd.observe(byId("more"));
}, { rootMargin: "1000px" });
nearTheEnd.observe(byId("more"));
window.addEventListener("beforeprint", showAll);
document.addEventListener("click", (event) => {
  const row = rowAt(addressOf(event.target.closest?.(".chart a") ?? document.body));
  if (!row) return;
  event.preventDefault();
  reveal(row);
});
const used = new Set(data.rows.flatMap((row) => Object.values(row.scores).map((figure) => data.marks[figure.basis])));
byId("legend").append(...Object.entries(data.legend).filter(([mark]) => used.has(mark)).map(([mark, text]) => el("li", {}, `${mark} ${text}`)));
refresh();
if (rowAt(location.hash)) reveal(rowAt(location.hash));
