// What is known of one row: its facts, and of an embedded result its checks, tests and set-up.

/** The result file that the page holds for this row, and what is told of it. */
async function held(row) {
  const packed = Uint8Array.from(atob(byId(`result-${row.index}`).textContent), (char) => char.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const [file, told] = (await new Response(unpacked).text()).split("\n");
  return { file, told: JSON.parse(told) };
}

function save(row, file) {
  const address = URL.createObjectURL(new Blob([file], { type: "application/json" }));
  const name = row.name.replace(/[^\w.-]+/g, "-").slice(0, 80) || "result";
  el("a", { href: address, download: `${name}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

async function details(row) {
  const parts = [facts(row.facts)];
  if (row.source) parts.push(el("p", {}, "Source: ", link(row.source)));
  if (row.index >= data.embedded) return [...parts, ...plainTests(row)];
  const { file, told } = await held(row);
  return [
    ...parts,
    el("p", { class: "actions" }, el("button", { type: "button", class: "button", onclick: () => save(row, file) }, "Save the result file")),
    ...checks(told.checks),
    ...failures(told.failures),
    ...tests(told.headings, told.tests, told.notes),
    ...setUp(JSON.parse(file)),
  ];
}

function checks(made) {
  if (!made.length) return [];
  const line = ([ok, name, found]) =>
    el("li", {}, ok ? `✓ ${name}` : el("b", {}, `✗ ${name}`), el("span", { class: "hidden" }, ok ? " (passed)" : " (failed)"), `: ${found}`);
  return [el("h3", {}, "Checks"), el("ul", { class: "checks" }, ...made.map(line))];
}

function failures(failed) {
  return failed.length ? [el("h3", {}, "Tests that are not ok"), facts(failed)] : [];
}

/** Their table scrolls by itself where it is too wide. */
function tests(headings, lines, notes) {
  if (!lines.length) return [];
  const table = smallTable("Tests", headings, 2, lines);
  return [
    el("h3", {}, "Tests"),
    el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Tests" }, table),
    ...notes.map((note) => el("p", { class: "remark" }, note)),
  ];
}

/** The times of a row that the page holds no result of. */
function plainTests(row) {
  const timed = PROTOCOLS.filter((protocol) => row[protocol]);
  const lines = data.tests.flatMap((test, index) => {
    const times = timed.map((protocol) => row[protocol][index]);
    return times.some(Boolean) ? [[`${test.id} ${test.title}`, test.mode, ...times.map(milliseconds)]] : [];
  });
  const headings = timed.map((protocol) => `${timed.length > 1 ? protocol : "time"}, ms`.replace(/^./, (letter) => letter.toUpperCase()));
  return tests(["Test", "Mode", ...headings], lines, []);
}

function setUp(result) {
  const named = (group) => Object.entries(group).map(([name, value]) => [name.replaceAll("_", " "), value ?? ""]);
  const environment = result.environment;
  const groups = [
    ["Machine", environment.host],
    ...environment.gpus.map((gpu, index) => [`GPU ${index}`, gpu]),
    ["Software", environment.software],
    ["Environment variables", environment.variables],
    ["Timing", result.policy],
    ["Timing of resident passes", result.resident?.policy ?? {}],
    ["Command", { arguments: result.run.arguments.join(" ") }],
  ].filter(([, group]) => Object.keys(group).length);
  return groups.flatMap(([heading, group]) => [el("h3", {}, heading), facts(named(group))]);
}
