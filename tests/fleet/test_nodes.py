"""Names in short form: what brackets stand for, and how many names fold back into one text."""

from __future__ import annotations

import pytest

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.nodes import MOST_NAMES, expand, split_names
from driftwatch.report.short_names import fold


@pytest.mark.parametrize(("text", "names"), [
    ("gpu-a", ("gpu-a",)),
    ("gpu[1-3]", ("gpu1", "gpu2", "gpu3")),
    ("gpu[08-10]", ("gpu08", "gpu09", "gpu10")),
    ("r[1-2]-[01,03]x", ("r1-01x", "r1-03x", "r2-01x", "r2-03x")),
    ("root@gpu[1-2]", ("root@gpu1", "root@gpu2")),
])
def test_brackets_stand_for_their_numbers_with_their_zeros(text, names):
    assert expand(text) == names


@pytest.mark.parametrize("text", ["gpu[", "gpu]", "gpu[]", "gpu[3-1]", "gpu[a-c]", "gpu[1-]", "gpu[[1]]", "gpu[1-200000]", "a[1-999][1-999]"])
def test_a_bracket_that_is_no_range_or_far_too_many_names_is_refused(text):
    with pytest.raises(FleetError):
        expand(text)


def test_the_largest_selection_is_still_expanded():
    assert len(expand(f"gpu[1-{MOST_NAMES}]")) == MOST_NAMES


@pytest.mark.parametrize(("names", "folded"), [
    (["gpu-r07-01", "gpu-r07-02", "gpu-r07-04"], ("gpu-r07-[01-02,04]",)),
    (["gpu9", "gpu10", "gpu11"], ("gpu[9-11]",)),
    (["a", "gpu-1"], ("a", "gpu-1")),
    (["x08", "x10", "x7"], ("x7", "x[08,10]")),
    (["h1", "h1"], ("h1",)),
    ([], ()),
])
def test_names_fold_to_their_shortest_form(names, folded):
    assert fold(names) == folded


@pytest.mark.parametrize("text", ["gpu[8-12]", "gpu-r[01-12]-[01-16]", "x[08,10]"])
def test_what_is_folded_expands_to_the_same_names(text):
    names = expand(text)
    assert sorted(name for one in fold(names) for name in expand(one)) == sorted(names)


def test_a_comma_inside_brackets_separates_no_names():
    assert split_names("a, b[1,3],c d") == ("a", "b[1,3]", "c d")


def test_an_ipv6_address_in_brackets_is_no_range():
    assert expand("ssh://[2001:db8::1]:22") == ("ssh://[2001:db8::1]:22",)
