"""Every fault of the table has tests that exist, and the page that lists them is current."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

MADE = runpy.run_path(str(Path(__file__).parents[1] / "scripts/make_faults_page.py"))
ROWS = MADE["rows"]()


def test_the_page_is_current():
    assert MADE["PAGE"].read_text(encoding="utf-8") == MADE["page"](), "run scripts/make_faults_page.py"


def test_all_forty_four_faults_are_there():
    assert [row["number"] for row in ROWS] == list(range(1, 45))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["fault"])
def test_a_fault_has_tests_that_exist(row):
    assert all(MADE["matching"](pattern) for pattern in row["tests"])
