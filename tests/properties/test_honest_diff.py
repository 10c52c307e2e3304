"""Whichever probes give no answer, nothing that they would have told is called removed, added, the same or ruled out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.rules_found import load_rules
from driftwatch.model import ProbeResult, Snapshot, Unknown
from driftwatch.report import text
from driftwatch.report.page import Page
from driftwatch.store import document
from tests.properties.anything import CALM

EXAMPLES = Path(__file__).parents[2] / "snapshots"
GOOD, BAD = (document.load(EXAMPLES / name) for name in ("good.json", "bad.json"))
STATUSES = ("denied", "timeout", "error", "died", "lost", "not_recorded")
SILENCED = st.dictionaries(st.sampled_from(sorted(GOOD.probes)), st.sampled_from(STATUSES), min_size=1, max_size=12)
RULES = load_rules(())


def silenced(snapshot, probes):
    """Return the snapshot as it would be had these probes told nothing."""
    results = {**snapshot.probes, **{name: replace(snapshot.probes[name], status=status, reason="no answer") for name, status in probes.items()}}
    return replace(snapshot, probes=results, facts={path: value for path, value in snapshot.facts.items() if snapshot.owner(path) not in probes})


@CALM
@given(SILENCED, st.booleans())
def test_what_a_silent_probe_would_have_told_is_unknown_and_no_difference(probes, is_good):
    sides = (silenced(GOOD, probes), BAD) if is_good else (GOOD, silenced(BAD, probes))
    for change in compare(*sides):
        if GOOD.owner(change.path) in probes:
            assert change.kind == "unknown"


@CALM
@given(SILENCED)
def test_what_a_silent_probe_would_have_told_rules_nothing_out(probes):
    good, bad = GOOD, silenced(BAD, probes)
    explanation = explain(Case(good, bad, compare(good, bad)), RULES)
    for one in explanation.ruled_out:
        assert not [fact for fact in one.facts if isinstance(bad.get(fact), Unknown)]
    assert text.render(explanation, Page())


@CALM
@given(SILENCED)
def test_equal_sides_of_which_one_is_silent_in_part_are_never_the_same_and_blame_nobody(probes):
    bad = silenced(GOOD, probes)
    explanation = explain(Case(GOOD, bad, compare(GOOD, bad)), RULES)
    assert explanation.suspects == ()
    assert explanation.word != "SAME" or all(GOOD.probes[name].status == status for name, status in probes.items())


@CALM
@given(SILENCED)
def test_a_snapshot_with_silent_probes_is_read_back_as_it_was_stored(probes):
    bad = silenced(BAD, probes)
    assert document.parse(document.to_bytes(bad), "x.json") == bad


def test_a_whole_silent_host_is_unknown_everywhere():
    dark = Snapshot("h", "2026-03-04T03:12:00Z", probes={name: ProbeResult("lost", reason="gone", tells=one.tells) for name, one in GOOD.probes.items()})
    assert {change.kind for change in compare(GOOD, dark)} == {"unknown"}


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_without_an_answer_is_unknown(status):
    assert isinstance(silenced(GOOD, {"packages": status}).get("packages/torch/version"), Unknown)


@pytest.mark.parametrize(("name", "status"), [("disks", "timeout"), ("ask-server", "denied"), ("system", "not_recorded"), ("objects", "not_recorded")])
def test_one_silent_probe_of_equal_sides_blames_nobody_and_is_not_the_same(name, status):
    bad = silenced(GOOD, {name: status})
    explanation = explain(Case(GOOD, bad, compare(GOOD, bad)), RULES)
    assert (explanation.suspects, explanation.word) == ((), "UNKNOWN")
