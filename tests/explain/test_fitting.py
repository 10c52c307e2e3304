"""The fit of the weights (benchmarks/fit_weights.py), on made questions and on a few of the public incidents."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.fit_weights import FITTED, left_out, of_software, weighed
from benchmarks.fitting import LEAST, MOST, Candidate, Question, figures, fit
from driftwatch.explain.rules_found import load_rules

INCIDENTS = Path(__file__).parents[1] / "incidents/software"
NAMES = ("08-tvm-ffi-0112-tilelang", "18-expandable-segments-custom-allreduce", "26-truncated-nccl-download")


def asked(incident, **sums):
    """Return a question of a culprit and a decoy, with their sums as (culprit's, decoy's) by group."""
    sides = [Candidate(name, {group: pair[at] for group, pair in sums.items()}, -1.0, at == 0) for at, name in enumerate(("culprit", "decoy"))]
    return Question(incident, "made", "log", tuple(sides))


def test_a_group_that_tells_the_culprit_gains_and_one_that_misleads_loses():
    found = fit([asked("one", true=(1.0, 0.0), false=(0.0, 1.0)), asked("two", true=(1.0, 0.0), false=(0.0, 1.0))], ("true", "false"), 1.0)
    assert found["false"] < 1 < found["true"]


def test_a_stiff_ridge_keeps_what_was_judged():
    found = fit([asked("one", true=(1.0, 0.0))], ("true",), 1e9)
    assert found == pytest.approx({"bias": 0.0, "true": 1.0}, abs=1e-6)


def test_no_factor_turns_a_weight_round():
    found = fit([asked(str(at), true=(3.0, 0.0), false=(0.0, 3.0)) for at in range(50)], ("true", "false"), 0.01)
    assert found["false"] == pytest.approx(LEAST)
    assert found["true"] <= MOST


def test_figures_count_a_hidden_culprit_as_not_found():
    hidden = Question("one", "made", "log", (Candidate("culprit", {}, -9.0, is_culprit=True), Candidate("decoy", {}, 2.0, is_culprit=False)))
    found = figures([(hidden, {})], 0.05)
    assert (found.top1, found.top3, round(found.brier, 2)) == (0.0, 0.0, 0.78)


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("incidents")
    for name in NAMES:
        (folder / name).symlink_to(INCIDENTS / name)
    return weighed(list(of_software(load_rules(has_entry_points=False), folder)))


def test_the_public_incidents_are_asked_in_every_way_and_each_weighs_one(questions):
    assert {(one.incident, one.way) for one in questions} == {(name, way) for name in NAMES for way in ("log", "class", "none")}
    assert [round(sum(one.weight for one in questions if one.incident == name), 6) for name in NAMES] == [1.0] * len(NAMES)


def test_an_incident_that_is_left_out_is_asked_under_factors_that_never_saw_it(questions):
    whole = fit(questions, FITTED, 3.0)
    out = left_out(questions, 3.0, whole)
    alone = fit([one for one in questions if one.incident != NAMES[0]], FITTED, 3.0, whole)
    assert next(factors for question, factors in out if question.incident == NAMES[0]) == pytest.approx(alone)
    assert figures(out, 0.05).top3 == 1.0
