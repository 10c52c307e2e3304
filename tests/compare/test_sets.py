from __future__ import annotations

from driftwatch.compare.sets import compare_sets
from driftwatch.model import ProbeResult, Snapshot


def side(host="h", status="ok", **facts):
    return Snapshot(host, None, probes={"env": ProbeResult(status, tells=("env/*",))}, facts={f"env/{name}": value for name, value in facts.items()})


def paths(found):
    return [change.path for change in found.changes if change.kind != "unknown" and not change.is_folded]


def test_what_is_constant_among_the_good_and_another_among_the_bad_is_left():
    assert paths(compare_sets([side(A="1"), side(A="1")], [side(A="2"), side(A="2")])) == ["env/A"]


def test_what_varies_among_the_good_is_noise():
    found = compare_sets([side(A="1"), side(A="2")], [side(A="3")])
    assert (paths(found), found.noise) == ([], 1)


def test_what_a_broken_one_shares_with_a_good_one_is_no_cause():
    assert paths(compare_sets([side(A="1"), side(A="1")], [side(A="2"), side(A="1")])) == []


def test_broken_ones_may_differ_among_themselves():
    assert paths(compare_sets([side(A="1"), side(A="1")], [side(A="2"), side(A="3")])) == ["env/A"]


def test_absence_is_a_value():
    assert paths(compare_sets([side(), side()], [side(A="2"), side(A="2")])) == ["env/A"]
    assert paths(compare_sets([side(), side(A="1")], [side(A="2"), side(A="2")])) == []


def test_a_side_that_does_not_know_leaves_the_count():
    assert paths(compare_sets([side(status="timeout"), side(A="1")], [side(A="2"), side(status="denied")])) == ["env/A"]


def test_what_no_side_of_a_set_knows_is_open_and_never_removed():
    found = compare_sets([side(A="1"), side(A="1")], [side(status="timeout"), side(status="timeout")])
    assert {change.kind for change in found.changes} == {"unknown"}


def test_one_of_each_is_a_plain_comparison():
    found = compare_sets([side(A="1", B="1")], [side(A="2", B="1")])
    assert (paths(found), found.noise) == (["env/A"], 0)


def test_the_hosts_of_a_set_are_named_together():
    assert compare_sets([side("a"), side("b")], [side("c")]).good.host == "a, b"
