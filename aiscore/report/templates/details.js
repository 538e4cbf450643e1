// What is known of one row: its facts, and of an embedded result its set-up, checks and tests.

/** The bytes of the result file that the page holds for this row. */
async function fileOf(row) {
  const packed = Uint8Array.from(atob(byId(`result-${row.index}`).textContent), (char) => char.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked).arrayBuffer();
}

async function save(row) {
  const address = URL.createObjectURL(new Blob([await fileOf(row)], { type: "application/json" }));
  const name = row.name.replace(/[^\w.-]+/g, "-").slice(0, 80) || "result";
  el("a", { href: address, download: `${name}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

async function details(row) {
  const parts = [facts(row.facts)];
  if (row.source) parts.push(el("p", {}, "Source: ", link(row.source)));
  if (row.index >= data.embedded) return [...parts, ...plainTests(row)];
  const result = JSON.parse(new TextDecoder().decode(await fileOf(row)));
  return [
    ...parts,
    el("p", { class: "actions" }, el("button", { type: "button", class: "button", onclick: () => save(row) }, "Save the result file")),
    ...checks(result),
    ...failures(result),
    ...measuredTests(result),
    ...setUp(result),
  ];
}

function checks(result) {
  const made = result.summary.checks;
  if (!made.length) return [];
  const figure = (value) => (typeof value === "number" ? Number(value.toPrecision(3)) : value);
  const line = (check) => {
    const where = check.tests.length ? ` (${check.tests.join(", ")})` : "";
    const found = `: ${check.meaning} is ${figure(check.value)}, the limit ${figure(check.limit)}${where}`;
    const name = check.name.replaceAll("_", " ");
    const verdict = el("span", { class: "hidden" }, check.ok ? " (passed)" : " (failed)");
    return check.ok
      ? el("li", {}, `✓ ${name}`, verdict, found)
      : el("li", {}, el("b", {}, `✗ ${name}`), verdict, `${found}; ${check.advice}`);
  };
  return [el("h3", {}, "Checks"), el("ul", { class: "checks" }, ...made.map(line))];
}

function failures(result) {
  const failed = result.tests.filter((test) => test.status !== "ok");
  const why = (test) => (test.error ? `${test.error.type}: ${test.error.message}` : "no reason given");
  const pairs = failed.map((test) => [`${test.id} ${test.title}`, `${test.status} (${why(test)})`]);
  return failed.length ? [el("h3", {}, "Tests that are not ok"), facts(pairs)] : [];
}

function measuredTests(result) {
  const timed = result.summary.tests.filter((test) => test.mean_ms !== null);
  const lines = timed.map((test) => [
    `${test.id} ${test.network}`,
    test.mode,
    test.passes ?? "-",
    `${milliseconds(test.mean_ms)} ± ${milliseconds(test.std_ms)}${test.steady === false ? " *" : ""}`,
    test.score === null ? "-" : number.format(test.score),
  ]);
  const note = timed.some((test) => test.steady === false)
    ? [el("p", { class: "remark" }, "* not steady: it still warmed up when its passes counted")]
    : [];
  const table = smallTable("Tests", ["Test", "Mode", "Passes", "Mean ± std, ms", "Score"], 2, lines);
  table.classList.add("measured");
  return timed.length ? [el("h3", {}, "Tests"), table, ...note] : [];
}

/** The times of a row that the page holds no result of. */
function plainTests(row) {
  const lines = data.tests.flatMap((test, index) => {
    const time = row.times[index];
    return time ? [[`${test.id} ${test.title}`, test.mode, milliseconds(time)]] : [];
  });
  return lines.length ? [el("h3", {}, "Tests"), smallTable("Tests", ["Test", "Mode", "Mean, ms"], 2, lines)] : [];
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
    ["Command", { arguments: result.run.arguments.join(" ") }],
  ].filter(([, group]) => Object.keys(group).length);
  return groups.flatMap(([heading, group]) => [el("h3", {}, heading), facts(named(group))]);
}
