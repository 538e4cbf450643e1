"""How often the interval across rounds holds the truth, under aiscore's own stop rule.

A simulation: 42 tests of 21 passes that count; processes differ by 0.8 %, passes
by 2 % (AR(1), 0.6 from one to the next), 2 % of the passes take half as long
again, and the whole machine is faster or slower in each round: by chance each
time, or by steps that add up. At most ten rounds.
"""

import argparse

import numpy as np

from aiscore.scoring import stats
from aiscore.scoring.score import SCALE

TESTS, PASSES, MOST_ROUNDS = 42, 21, 10
PROCESS_SD, PASS_SD, CORRELATION = 0.008, 0.02, 0.6
OUTLIERS, OUTLIER_FACTOR = 0.02, 1.5
DRIFTS = (0.0, 0.005, 0.015)  # standard deviation of the whole machine, a round


def round_scores(chance: np.random.Generator, runs: int) -> np.ndarray:
    """The score of one round of each run on a steady machine, by the classic estimator."""
    shape = (runs, TESTS)
    innovation_sd = PASS_SD * (1 - CORRELATION**2) ** 0.5
    noise = chance.normal(0, PASS_SD, shape)
    total = np.zeros(shape)
    for _ in range(PASSES):
        noise = CORRELATION * noise + chance.normal(0, innovation_sd, shape)
        slow = np.where(chance.random(shape) < OUTLIERS, OUTLIER_FACTOR, 1)
        total += np.exp(noise) * slow
    times = total / PASSES * np.exp(chance.normal(0, PROCESS_SD, shape))
    return SCALE * np.exp(-np.log(times).mean(axis=1))


def one_run(scores: np.ndarray) -> list[float]:
    """The rounds that aiscore would make of these, one after the other."""
    made: list[float] = []
    for score in scores:
        made.append(float(score))
        if stats.is_settled(made):
            break
    return made


def covered(made: list[float], truth: float) -> bool:
    """Whether the interval of these rounds holds the truth."""
    low, high = stats.interval(made) or (truth, truth)
    return low <= truth <= high


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = np.random.default_rng(arguments.seed)
    truth = float(np.exp(np.log(round_scores(chance, 20_000)).mean()))
    print(
        "| drift a round | kind | coverage with the stop rule | always ten rounds | mean rounds |"
    )
    print("|---|---|---|---|---|")
    for drift in DRIFTS:
        steady = np.stack(
            [round_scores(chance, arguments.runs) for _ in range(MOST_ROUNDS)], axis=1
        )
        steps = chance.normal(0, drift, steady.shape)
        for kind, log_machine in (("by chance", steps), ("adds up", steps.cumsum(axis=1))):
            rounds = steady * np.exp(log_machine)
            runs = [one_run(scores) for scores in rounds]
            stopped = np.mean([covered(made, truth) for made in runs])
            whole = np.mean([covered([*map(float, scores)], truth) for scores in rounds])
            mean_rounds = np.mean([len(made) for made in runs])
            print(f"| {drift:.1%} | {kind} | {stopped:.1%} | {whole:.1%} | {mean_rounds:.1f} |")


if __name__ == "__main__":
    main()
