from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest

from benchmarks.incidents import explained, incidents, is_culprit, outcome
from driftwatch.compare.pair import compare
from driftwatch.dumps.read import read_dump
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.rules_found import load_rules
from driftwatch.model import Symptom

FOLDER = Path(__file__).parent.parent / "incidents/software"
CASES = incidents(FOLDER)
BY_OTHERS = ("unseen", "unseen_later", "unseen_third", "unseen_fourth", "unseen_fifth", "unseen_sixth", "unseen_seventh",
             "unseen_eighth", "unseen_ninth", "unseen_tenth", "unseen_eleventh", "unseen_twelfth", "unseen_thirteenth")  # docs/accuracy.md
UNSEEN, *LATER = (incidents(FOLDER.parent / name) for name in BY_OTHERS)
BLIND = [(one, name) for one in CASES for name, seen in json.loads((one.folder / "case.json").read_text())["culprit_visible_in_alt_layout"].items() if not seen]


@pytest.fixture(scope="module")
def rules():
    return load_rules(has_entry_points=False)


@pytest.mark.parametrize("incident", CASES, ids=lambda one: one.folder.name)
@pytest.mark.parametrize("way", ["log", "class"])
def test_the_culprit_of_a_public_incident_is_among_the_first_three(incident, way, rules):
    found = outcome(incident, way, rules)
    assert found.rank is not None
    assert found.rank <= 3


@pytest.mark.parametrize("incident", UNSEEN, ids=lambda one: one.folder.name)
def test_the_culprit_of_an_incident_that_others_set_down_is_among_the_first_three(incident, rules):
    found = outcome(incident, "log", rules)
    assert found.rank is not None
    assert found.rank <= 3


@pytest.mark.parametrize("incident", [*CASES, *UNSEEN, *chain.from_iterable(LATER)], ids=lambda one: one.folder.name)
def test_the_culprit_of_a_public_incident_is_never_ruled_out(incident, rules):
    assert not [entry for way in ("log", "class", "none") for entry in explained(incident, way, rules).ruled_out if is_culprit(incident, entry.subject)]


@pytest.mark.parametrize(("incident", "name"), [pair for pair in BLIND if pair[1].startswith("bad.")], ids=str)
def test_a_layout_that_cannot_show_the_culprit_names_it_as_not_checked_or_blames_what_it_shows_of_it(incident, name, rules):
    found = explained(incident, "log", rules, ("good" + name.removeprefix("bad"), name))
    assert any(is_culprit(incident, entry.subject) for entry in (*found.suspects, *found.not_checked))


@pytest.mark.parametrize("incident", CASES, ids=lambda one: one.folder.name)
def test_equal_sides_blame_nobody_and_name_active_tests(incident, rules):
    side = read_dump((incident.folder / "bad.txt").read_text(), "bad.txt")
    found = explain(Case(side, side, compare(side, side), Symptom(incident.klass)), rules)
    assert (found.suspects, "what would tell" in found.verdict) == ((), True)
