"""The guard against growing costs (benchmarks/guard.py): what it calls worse, and that each row is stored. What it measures is no test: it runs by hand."""

from __future__ import annotations

import pytest

from benchmarks import guard

STORED = {"log": {"ratio": 10.0, "allowed": 1.3}}


@pytest.mark.parametrize(("found", "said"), [(1.0, ""), (13.0, ""), (13.1, "it was 10.00, and at most 13.00 is allowed")])
def test_a_ratio_may_exceed_the_stored_one_by_its_factor_and_no_more(found, said):
    assert guard.judged("log", found, STORED) == said


def test_a_row_without_a_stored_ratio_is_no_pass():
    assert "--update" in guard.judged("peers", 1.0, STORED)


def test_each_row_has_a_stored_ratio_and_each_stored_ratio_a_row():
    assert [one.name for one in guard.GUARDED] == list(guard.load_stored())


def test_what_is_stored_is_read_again_and_keeps_the_factors_of_rows_and_the_rows_that_were_not_measured(tmp_path):
    before = {one.name: {"ratio": 2.0, "allowed": 1.7} for one in guard.GUARDED}
    (tmp_path / "ratios.toml").write_text(guard.written({"log": 3.0}, before))
    told = guard.load_stored(tmp_path / "ratios.toml")
    assert {name: (row["ratio"], row["allowed"]) for name, row in told.items()} == {**dict.fromkeys(before, (2.0, 1.7)), "log": (3.0, 1.7)}


def test_a_row_that_is_worse_is_measured_again_and_the_better_one_counts():
    ratios = [14.0, 11.0]
    one = guard.Guarded("log", "", lambda _folder, _rounds: ratios.pop(0))
    assert guard.measured(one, 1, STORED) == 11.0
    assert ratios == []
