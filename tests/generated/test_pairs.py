"""Planted culprits are found, whatever else drifted beside them."""

from __future__ import annotations

import pytest

from tests.generated.pairs import KINDS, base, dated, make, told

SEED = 1
SURE = 0.2
DATED = dated()


@pytest.fixture(scope="module")
def start():
    return base()


@pytest.fixture(scope="module")
def pairs(start):
    return [make(name, SEED, start) for name in KINDS]


@pytest.fixture(scope="module")
def old(start):
    """One kind of culprit for each date-true pair, and a second one for every other, so that all kinds come round."""
    names = list(KINDS)
    return [make(names[at * 2 % len(names)], at, start, one) for at, one in enumerate(DATED)]


def first_three(pairs):
    return [told(pair) for pair in pairs if pair.rank is None or pair.rank > 3]


def test_nineteen_of_twenty_culprits_are_among_the_first_three(pairs):
    missed = first_three(pairs)
    assert len(pairs) >= 75
    assert len(missed) <= len(pairs) // 20, "\n".join(missed)


def test_so_they_are_among_what_months_moved(old):
    missed = first_three(old)
    assert len(old) >= 30
    assert len(missed) <= len(old) // 10, "\n".join(missed)


def test_the_first_is_mostly_right_and_sure(pairs):
    sure = [pair for pair in pairs if pair.rank == 1 and pair.explanation.suspects[0].confidence > 0.5]
    assert len(sure) >= len(pairs) * 9 // 10, "\n".join(told(pair) for pair in pairs if pair not in sure)


def test_no_culprit_is_ruled_out(pairs, old):
    assert [told(pair) for pair in (*pairs, *old) if pair.is_ruled_out] == []


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_week_of_innocent_drift_is_blamed_for_nothing(start, seed):
    pair = make("control", seed, start)
    assert [told(pair) for one in pair.explanation.suspects if one.confidence >= SURE] == []
