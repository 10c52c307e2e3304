from __future__ import annotations

import subprocess
import sys

import pytest

from driftwatch.compare.equal import is_same_version
from driftwatch.compare.nested import MOST_PARTS, difference


@pytest.mark.parametrize(
    ("good", "bad", "told"),
    [
        ([1, 2], [2, 1], "another order"),
        ({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}}, "~ b.c: 2 → 3"),
        ({"a": 1}, {"a": 1, "x": 2}, "+ x: 2"),
        ({"a": 1}, {}, "- a: 1"),
        ("text", ["text"], ""),
        (["a"], ["a", "a"], "+ a"),
        ([1, 0], [True, 0], "- 1, + True"),
        ({"a]['b": 1, "'c'": [1]}, {"a]['b": 2, "'c'": []}, "~ a]['b: 1 → 2, - 'c'.0: 1"),
        ([{"a": 1}], {"a": 1}, "~ value: [{'a': 1}] → {'a': 1}"),
        (list(range(MOST_PARTS)), [], ""),
    ],
)
def test_a_difference_is_one_short_line(good, bad, told):
    assert difference(good, bad) == told


def test_many_differences_are_counted():
    assert difference([], list("abcdefgh")) == "+ a, + b, + c, + d, + e, + f and 2 more"


def test_a_comparison_of_plain_facts_never_loads_deepdiff():
    run = "import sys\nfrom driftwatch.compare.pair import compare\nfrom driftwatch.model import Snapshot\n"
    run += "compare(Snapshot('a', None, facts={'x': 1}), Snapshot('a', None))\n"
    done = subprocess.run([sys.executable, "-c", run + "print('deepdiff' in sys.modules)"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("2.6.0", "2.6.0+cu124", True), ("2.6.0+cu124", "2.6.0+cu126", False), ("1.0", "1.0.0", True), ("x y", "x y", True), ("1", None, False)],
)
def test_a_local_label_counts_only_where_both_have_one(one, other, same):
    assert is_same_version(one, other) is same
