"""Pass by pass in turn (benchmarks/pairs.py), with sides that answer from a script."""

import itertools

import pytest
from pairs import Paired, measure
from sides import SideError


class Scripted:
    """A side whose passes take these seconds; it writes down what it was asked."""

    def __init__(self, name, asked, seconds, fails_at_pass=None, with_error=SideError):
        self.waited_s = 0.0
        self._name = name
        self._asked = asked
        self._seconds = iter(seconds)
        self._passes = 0
        self._fails_at_pass = fails_at_pass
        self._error = with_error

    def ask(self, request):
        (kind,) = request
        self._asked.append((self._name, kind))
        if kind == "open":
            return {"setup_s": 0.5}
        if kind == "close":
            return {"peak_device_bytes": 7, "peak_rss_bytes": 11}
        self._passes += 1
        if self._passes == self._fails_at_pass:
            raise self._error(f"{self._name}: broken")
        seconds = next(self._seconds)
        self.waited_s += seconds
        return {"seconds": seconds}


def run(reference_s, candidate_s, pairs=11, **candidate_options):
    asked = []
    paired = Paired("1.1")
    reference = Scripted("reference", asked, reference_s)
    candidate = Scripted("candidate", asked, candidate_s, **candidate_options)
    measure(paired, reference, candidate, pairs)
    return paired, asked


def test_each_pair_is_candidate_over_reference_without_the_first_passes():
    paired, _ = run([90.0, 1.0, 2.0, 4.0], [10.0, 2.0, 2.0, 1.0], pairs=3)

    assert paired.ratios() == [2.0, 1.0, 0.25]
    assert paired.reference.first_pass_s == 90.0
    assert paired.candidate.first_pass_s == 10.0


def test_the_sides_take_turns_in_going_first():
    _, asked = run(itertools.repeat(1.0), itertools.repeat(1.0), pairs=3)

    passes = [name for name, kind in asked if kind == "pass"]
    warm_up, pairs = passes[:2], [tuple(passes[i : i + 2]) for i in range(2, len(passes), 2)]
    assert warm_up == ["reference", "candidate"]
    assert pairs == [
        ("reference", "candidate"),
        ("candidate", "reference"),
        ("reference", "candidate"),
    ]


def test_both_are_opened_before_the_first_pass_and_closed_after_the_last():
    _, asked = run(itertools.repeat(1.0), itertools.repeat(1.0), pairs=2)

    assert [kind for _, kind in asked] == ["open"] * 2 + ["pass"] * 6 + ["close"] * 2


@pytest.mark.parametrize(
    ("reference_s", "candidate_s", "expected"),
    [(1.0, 1.0, 11), (5.0, 5.0, 11), (5.1, 1.0, 5), (1.0, 5.1, 5)],
)
def test_slow_passes_are_paired_five_times(reference_s, candidate_s, expected):
    paired, _ = run(itertools.repeat(reference_s), itertools.repeat(candidate_s))

    assert len(paired.ratios()) == expected


def test_fewer_pairs_than_five_are_never_raised_to_five():
    paired, _ = run(itertools.repeat(9.0), itertools.repeat(9.0), pairs=2)

    assert len(paired.ratios()) == 2


def test_a_slow_first_pass_alone_does_not_make_a_test_slow():
    paired, _ = run(
        itertools.chain([60.0], itertools.repeat(1.0)),
        itertools.chain([60.0], itertools.repeat(1.0)),
    )

    assert len(paired.ratios()) == 11


def test_a_side_that_fails_ends_the_test_and_the_samples_stay():
    paired, _ = run(itertools.repeat(1.0), itertools.repeat(2.0), fails_at_pass=4)

    assert paired.error == "candidate: broken"
    assert paired.ratios() == [2.0, 2.0]


def test_an_interrupted_test_keeps_its_samples_and_says_so():
    asked, paired = [], Paired("1.1")
    reference = Scripted("reference", asked, itertools.repeat(1.0))
    candidate = Scripted(
        "candidate", asked, itertools.repeat(2.0), fails_at_pass=3, with_error=KeyboardInterrupt
    )

    with pytest.raises(KeyboardInterrupt):
        measure(paired, reference, candidate, pairs=11)

    assert (paired.error, paired.ratios()) == ("interrupted", [2.0])


def test_setup_wall_time_and_memory_of_both_sides_are_kept():
    paired, _ = run([3.0, 1.0], [4.0, 2.0], pairs=1)

    assert (paired.reference.setup_s, paired.candidate.setup_s) == (0.5, 0.5)
    assert (paired.reference.wall_s, paired.candidate.wall_s) == (4.0, 6.0)
    assert (paired.reference.peak_device_bytes, paired.candidate.peak_rss_bytes) == (7, 11)


def test_wall_time_counts_from_the_opening_of_the_test():
    reference = Scripted("reference", [], itertools.repeat(1.0))
    candidate = Scripted("candidate", [], itertools.repeat(1.0))
    reference.waited_s = 100.0
    paired = Paired("1.2")

    measure(paired, reference, candidate, pairs=1)

    assert paired.reference.wall_s == 2.0
