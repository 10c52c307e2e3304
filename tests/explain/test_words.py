# ruff: noqa: RUF001  the signs that explanations use are the point here
from __future__ import annotations

import pytest

from driftwatch.explain import words


@pytest.mark.parametrize(
    ("value", "told"), [(None, "absent"), (True, "true"), ("a\nb", "a b"), ({"keyed": "x"}, "(secret)"), ([1], "[1]"), ("x" * 100, "x" * 71 + "…")]
)
def test_a_value_is_one_short_line(value, told):
    assert words.show(value) == told


@pytest.mark.parametrize(("value", "told"), [(-20.595, "−20.60"), (7.755, "+7.76"), (0, "+0.00")])
def test_a_signed_number_rounds_halves_away_from_zero(value, told):
    assert words.signed(value) == told


@pytest.mark.parametrize(("value", "found"), [("0.85", 0.85), (3, 3.0), (True, None), ("nan", None), ("inf", None), (10**400, None), ([], None), ("x", None)])
def test_a_number_is_finite_or_none(value, found):
    assert words.number(value) == found


@pytest.mark.parametrize(("names", "told"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abcdef"), "a, b, c, d and 2 more")])
def test_names_are_listed(names, told):
    assert words.listed(names) == told


@pytest.mark.parametrize(
    ("nanoseconds", "told"),
    [(0, "1970-01-01 00:00Z"), (951827696 * 10**9, "2000-02-29 12:34Z"), (1772418660 * 10**9, "2026-03-02 02:31Z"), (-1, ""), ("x", ""), (True, "")],
)
def test_a_time_is_told_in_utc(nanoseconds, told):
    assert words.utc_minute(nanoseconds) == told
