"""The scores of a result file once more, from its raw values alone, by the rules of the README."""

from collections.abc import Iterable, Mapping
from math import exp, floor, isclose, log
from statistics import fmean
from typing import Any

from aiscore import __version__
from aiscore.results.reference import reference_ms
from aiscore.scoring import quick
from aiscore.spec import Suite
from workloads.suite import QUICK, TESTS

Document = Mapping[str, Any]
SCORES = {
    Suite.FULL: {"inference": {"inference"}, "training": {"training"}},
    Suite.MICRO: {"micro": {"inference", "training"}},
}


def disagreements(document: Document) -> list[str]:
    """Where the file's summary states another time or score than its samples give."""
    stated = document.get("summary")
    if stated is None:
        return []
    return [*_about_tests(document, stated), *_about_scores(document, stated)]


def _about_tests(document: Document, stated: Document) -> list[str]:
    tests = {test["id"]: test for test in document["tests"]}
    if [test["id"] for test in stated["tests"]] != list(tests):
        return ["other tests"]
    reference = reference_ms(Suite(document["suite"]))
    found = []
    for said in stated["tests"]:
        test = tests[said["id"]]
        mean_ms = _mean_ms(test) if test["status"] == "ok" else None
        points = None if mean_ms is None else 10_000 * reference[test["id"]] / mean_ms
        if not agree(said["mean_ms"], mean_ms):
            found.append(f"{test['id']}: mean {said['mean_ms']}, not {mean_ms}")
        if not agree(said["score"], points if _as_in_suite(document, test) else None, 0.51):
            found.append(f"{test['id']}: score {said['score']}, not {points}")
        if said["status"] != test["status"]:
            found.append(f"{test['id']}: {said['status']}, not {test['status']}")
    return found


def _about_scores(document: Document, stated: Document) -> list[str]:
    made = _scores(document)
    own = document["aiscore_version"] == __version__  # another release may estimate otherwise
    found = []
    for name, said in stated["scores"].items():
        if said is None or name not in made:
            if said is not made.get(name):
                found.append(f"{name}: {said}")
            continue
        for key in ("value", "partial_value", *(["estimate"] if own else [])):
            if key in said and not agree(said[key], made[name][key], 1.5):
                found.append(f"{name}.{key}: {said[key]}, not {made[name][key]}")
    return found + [f"{name} is missing" for name in made.keys() - stated["scores"].keys()]


def _scores(document: Document) -> dict[str, dict[str, float | None]]:
    suite = Suite(document["suite"])
    made = {name: _score(document, modes) for name, modes in SCORES[suite].items()}
    if suite is Suite.FULL:
        made["ai"] = _sum(document, made["inference"], made["training"])
    return made


def _score(document: Document, modes: set[str]) -> dict[str, float | None]:
    specs = [spec for spec in TESTS[Suite(document["suite"])] if spec.mode in modes]
    counting = [
        test
        for test in document["tests"]
        if test["status"] == "ok" and test["mode"] in modes and _as_in_suite(document, test)
    ]
    made: dict[str, float | None] = dict.fromkeys(("value", "partial_value", "estimate"))
    if not counting:
        return made
    score = _over(document, counting)
    ran = {test["id"] for test in counting}
    if len(counting) == len(specs):
        made["value"] = score
    elif document["run"].get("quick") and ran == set(QUICK) & {spec.id for spec in specs}:
        own = quick.INFERENCE if "inference" in modes else quick.TRAINING
        made["estimate"] = score * own.factor
    else:
        made["partial_value"] = score
    return made


def _over(document: Document, tests: list[Document]) -> float:
    """Over the rounds that have every test, if there are several; else over all passes."""
    reference = reference_ms(Suite(document["suite"]))
    ok = [test for test in document["tests"] if test["status"] == "ok"]
    whole = set.intersection(*({one["round"] for one in _ok_rounds(test)} for test in ok))
    if len(whole) > 1:
        return _geometric_mean(
            10_000
            * _geometric_mean(reference[test["id"]] / _mean_ms(test, number) for test in tests)
            for number in whole
        )
    return 10_000 * _geometric_mean(reference[test["id"]] / _mean_ms(test) for test in tests)


def _sum(
    document: Document, inference: dict[str, float | None], training: dict[str, float | None]
) -> dict[str, float | None]:
    made: dict[str, float | None] = dict.fromkeys(inference)
    both = inference, training
    for key in ("value", "estimate"):
        parts = [one[key] for one in both]
        if None not in parts:
            made[key] = sum(floor(part) for part in parts if part is not None)
            return made
    parts = [one["value"] or one["partial_value"] for one in both]
    if None not in parts:
        made["partial_value"] = sum(floor(part) for part in parts if part is not None)
    return made


def _ok_rounds(test: Document) -> list[Document]:
    return [one for one in test.get("rounds", []) if one.get("status", "ok") == "ok"]


def _mean_ms(test: Document, number: int | None = None) -> float:
    if test.get("printed"):
        return float(test["printed"]["mean_ms"])
    counted = []
    for one in _ok_rounds(test):
        if number in (None, one["round"]):
            passes = one["passes_s"]
            counted += passes[1:] if len(passes) > 1 else passes
    return 1000 * fmean(counted)


def _as_in_suite(document: Document, test: Document) -> bool:
    spec = next(spec for spec in TESTS[Suite(document["suite"])] if spec.id == test["id"])
    return (test["batch"], test["input"]) == (spec.batch, list(spec.input))


def _geometric_mean(ratios: Iterable[float]) -> float:
    return exp(fmean(map(log, ratios)))


def agree(said: float | None, made: float | None, apart: float = 0.0) -> bool:
    if said is None or made is None:
        return said is made
    return isclose(said, made, rel_tol=1e-6, abs_tol=apart)
