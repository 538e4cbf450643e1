"""The search for the largest batch, and what neighbours predict: plain numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiscore.scoring.throughput import (
    MOST_IMAGES,
    RESOLUTION,
    below_neighbours,
    bounds,
    growth,
    next_try,
    predicted,
)


def search(room: int, known: dict[int, bool]) -> list[int]:
    """The batches that are tried where up to ``room`` images fit."""
    fits, tries = dict(known), []
    while (batch := next_try(fits)) is not None:
        assert batch not in fits
        tries.append(batch)
        fits[batch] = batch <= room
    return tries


def test_it_doubles_and_then_halves_what_lies_between():
    assert search(700, {}) == [32, 64, 128, 256, 512, 1024, 768, 640, 704, 672]


def test_it_goes_on_from_what_is_known():
    assert search(700, {32: True, 256: True}) == [512, 1024, 768, 640, 704, 672]
    assert search(700, {512: True, 768: False}) == [640, 704, 672]
    assert search(700, {672: True, 704: False}) == []


def test_where_the_first_does_not_fit_it_goes_down():
    assert search(10, {}) == [32, 16, 8, 12, 10, 11]
    assert search(0, {}) == [32, 16, 8, 4, 2, 1]


def test_it_ends_where_batches_end():
    assert search(10**9, {})[-1] == MOST_IMAGES


@given(
    room=st.integers(1, MOST_IMAGES),
    known=st.sets(st.integers(1, MOST_IMAGES), max_size=8),
)
def test_the_largest_is_known_to_a_sixteenth_and_never_too_large(room: int, known: set[int]):
    asked = {batch: batch <= room for batch in known}
    tries = search(room, asked)
    assert len(tries) <= 40
    largest, beyond = bounds({**asked, **{batch: batch <= room for batch in tries}})
    assert 1 <= largest <= room
    if beyond is None:
        assert 2 * largest > MOST_IMAGES
    else:
        assert room < beyond <= largest + max(1, largest // RESOLUTION)


def test_a_value_is_predicted_by_the_batches_beside_it():
    found = predicted({32: 1.0, 64: 9.0, 128: 4.0, 192: 5.0, 256: 7.0})
    assert found[64] == pytest.approx(2.0), "half way in a logarithmic scale"
    assert found[32] == 4.0, "at an end the lower one of the nearest two"
    assert found[256] == 4.0
    assert found[192] == pytest.approx(4 ** (1 - 0.58496) * 7**0.58496, rel=1e-4)
    assert predicted({32: 1.0, 64: 2.0}) == {}, "one neighbour may itself be the odd one"


def test_growth_is_from_one_batch_to_the_next():
    assert growth({128: 275.0, 96: 110.0, 192: 440.0}) == {128: 2.5, 192: 1.6}
    assert growth({32: 1.0}) == {}


def test_only_what_is_clearly_slower_is_named():
    assert below_neighbours({32: 1.2, 64: 0.4, 96: 1.2, 128: 1.1}) == {64: pytest.approx(3.0)}
    assert below_neighbours({32: 1.2, 64: 1.0, 96: 1.2}) == {}
    assert below_neighbours({32: 1.2, 64: 9.0, 96: 1.2}) == {}, "faster is no reason"
    assert below_neighbours({32: 1.2, 64: 0.4}) == {}
    assert below_neighbours({}) == {}
