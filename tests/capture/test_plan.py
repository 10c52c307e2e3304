"""The plan: every probe is either asked or left out with a reason, and a word that names none is refused."""

from __future__ import annotations

import pytest

from driftwatch.capture.plan import CaptureError, offers, plan_for
from driftwatch.model import matches


def names(plan):
    return {offer.probe.name for offer in plan.asked}


def test_every_probe_is_asked_or_left_out_with_the_reason():
    plan = plan_for(skip=["system"])
    assert names(plan) | set(plan.left_out) == {offer.probe.name for offer in offers()}
    assert plan.left_out["system"][1] == "not asked: --skip"
    assert plan.is_partial


def test_a_group_is_off_until_it_is_asked_for():
    assert "imports" not in names(plan_for())
    assert plan_for().left_out["imports"][1] == "not asked: --with imports turns it on"
    assert "imports" in names(plan_for(groups=["imports"]))
    assert not plan_for(groups=["imports"]).is_partial


def test_a_probe_that_waits_for_the_targets_brings_them_along():
    assert names(plan_for(only=["packages"])) == {"packages", "targets"}
    assert names(plan_for(only=["system"])) == {"system"}


def test_a_deadline_of_the_users_own_replaces_that_of_the_probe():
    plan = plan_for(deadlines={"packages": 61.0})
    assert next(offer.probe.deadline_s for offer in plan.asked if offer.probe.name == "packages") == 61.0


@pytest.mark.parametrize("words", [{"only": ["pakages"]}, {"skip": ["pakages"]}, {"deadlines": {"pakages": 1.0}}])
def test_a_word_that_names_no_probe_is_refused_with_the_nearest_one(words):
    with pytest.raises(CaptureError, match="there is no probe 'pakages'") as refused:
        plan_for(**words)
    assert refused.value.do == "did you mean 'packages'?   or   driftwatch probes"


def test_an_unknown_group_is_refused():
    with pytest.raises(CaptureError, match="no group"):
        plan_for(groups=["nope"])


def test_names_are_unique_and_every_probe_says_what_it_tells_and_reads():
    probes = [offer.probe for offer in offers()]
    assert len({probe.name for probe in probes}) == len(probes)
    for probe in probes:
        assert probe.tells
        assert probe.reads


def test_no_two_probes_tell_the_same_glob():
    globs = [glob for offer in offers() for glob in offer.probe.tells]
    assert len(set(globs)) == len(globs)


def test_what_is_volatile_is_told_by_its_own_probe():
    for offer in offers():
        for glob in offer.probe.volatile:
            example = glob.replace("*", "x")
            assert matches(example, offer.probe.tells), (offer.probe.name, glob)
