// Any two rows against each other, test by test.

const picked = [];

/** Picks the row, or leaves it; the third that is picked takes the place of the first. */
function pick(row, wanted) {
  const place = picked.indexOf(row);
  if (place >= 0) picked.splice(place, 1);
  if (wanted) picked.push(row);
  while (picked.length > 2) picked.shift();
  for (const box of document.querySelectorAll(".pick input")) {
    box.checked = picked.some((one) => one.index === Number(box.value));
  }
  showTray();
  showComparison();
}

function showTray() {
  const tray = byId("tray");
  tray.hidden = !picked.length;
  const names = pickedNames().join(" and ");
  const hint = picked.length === 1 ? ": pick another row to compare it with" : "";
  tray.replaceChildren(
    el("span", { class: "names", dir: "auto", role: "status" }, names + hint),
    ...(picked.length === 2 ? [el("a", { class: "button", href: "#comparison" }, "See the comparison")] : []),
    el("button", { type: "button", class: "button", onclick: clearPicked }, "Clear")
  );
}

/** The names of the rows, and their stacks or where they are from if the names are the same. */
function pickedNames() {
  const same = picked.length === 2 && picked[0].name === picked[1].name;
  return picked.map((row) => (same ? `${row.name} (${[row.origin, row.stack, row.status].filter(Boolean).join(", ")})` : row.name));
}

function clearPicked() {
  while (picked.length) pick(picked[0], false);
  byId("table").focus();
}

function showComparison() {
  const section = byId("comparison");
  section.hidden = picked.length < 2;
  if (section.hidden) return;
  const [base, other] = picked;
  const [baseName, otherName] = pickedNames();
  section.lastElementChild.replaceChildren(
    el("p", { class: "sides" }, el("b", {}, "A "), el("bdi", {}, baseName), el("br"), el("b", {}, "B "), el("bdi", {}, otherName)),
    ...comparedScores(base, other),
    ...comparedTests(base, other)
  );
}

const isWhole = (figure) => figure?.basis === "whole" || figure?.basis === "other scale";

function comparedScores(base, other) {
  const lines = data.scores
    .filter((name) => isWhole(base.scores[name]) && isWhole(other.scores[name]))
    .map((name) => {
      const [mine, theirs] = [base, other].map((row) => row.scores[name].value);
      return [data.titles[name], number.format(mine), number.format(theirs), threeDigits(theirs / mine)];
    });
  const per = Object.keys(data.quantities).flatMap((of) => comparedValue(base, other, of));
  return lines.length ? [smallTable("Scores compared", ["Score", "A", "B", "Ratio"], 1, [...lines, ...per])] : [];
}

/** The main score for one of a quantity; no ratio across currencies. */
function comparedValue(base, other, of) {
  const [mine, theirs] = [base, other].map((row) => row.per[MAIN]?.[of]);
  if (!mine || !theirs || (of === "price" && base.price.currency !== other.price.currency)) return [];
  return [[`${data.titles[MAIN]} per ${data.quantities[of]}`, threeDigits(mine), threeDigits(theirs), threeDigits(theirs / mine)]];
}

/** Under each protocol that both have; times of one are never set against those of another. */
function comparedTests(base, other) {
  const made = PROTOCOLS.flatMap((protocol) => comparedUnder(protocol, base, other));
  return made.length ? made : [el("p", { class: "remark" }, "They have no test in common whose time is known.")];
}

function comparedUnder(protocol, base, other) {
  if (!base[protocol] || !other[protocol]) return [];
  const shared = data.tests
    .map((test, index) => ({ test, mine: base[protocol][index], theirs: other[protocol][index] }))
    .filter(({ mine, theirs }) => mine && theirs)
    .map((pair) => ({ ...pair, ratio: pair.mine / pair.theirs }));
  if (!shared.length) return [];
  const widest = Math.max(...shared.map(({ ratio }) => Math.abs(Math.log(ratio))), Math.log(1.1));
  shared.sort((one, two) => Math.abs(Math.log(two.ratio)) - Math.abs(Math.log(one.ratio)));
  const lines = shared.map(({ test, mine, theirs, ratio }) => [
    `${test.id} ${test.title}`,
    test.mode,
    milliseconds(mine),
    milliseconds(theirs),
    threeDigits(ratio),
    balance(Math.log(ratio) / widest),
  ]);
  const mean = Math.exp(shared.reduce((sum, { ratio }) => sum + Math.log(ratio), 0) / shared.length);
  const kind = protocol === "classic" ? "Tests" : "Resident tests";
  return [
    el("h3", {}, `${kind} that both have`),
    el(
      "p",
      { class: "remark" },
      `The ratio is that of speeds: above 1, B is faster. Over these ${shared.length} tests B is ${threeDigits(mean)} x as fast ` +
        `(geometric mean). None of these ratios has an interval, and hosts with the same card have differed by nearly ${Math.round(100 * data.noise_floor)}%. ` +
        "How sure a difference is, aiscore compare tells from the result files."
    ),
    smallTable(`${kind} compared`, ["Test", "Mode", "A, ms", "B, ms", "Ratio", el("th", { scope: "col", class: "balance" }, "B slower or faster")], 2, lines),
  ];
}

function balance(share) {
  const bar = el("span", { class: share > 0 ? "ahead" : null });
  bar.style.setProperty("--share", share);
  const words = share > 0 ? "faster" : share < 0 ? "slower" : "the same";
  return el("td", { class: "balance" }, bar, el("i", { class: "hidden" }, words));
}
