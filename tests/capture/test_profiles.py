"""Profiles choose what is asked: built-in ones, and a site's own laid over them. None of them asks less than it says."""

from __future__ import annotations

import pytest

from driftwatch.agent.host import Settings
from driftwatch.capture.plan import CaptureError, offers
from driftwatch.capture.profiles import ACTIVE, DEFAULT, SERVING, Choice, built_in, plan_of
from driftwatch.capture.take import Order, take_recorded
from tests.agent.serving_lab import process, record


def names(plan):
    return {offer.probe.name for offer in plan.asked}


def plan(choice, only=(), skip=(), groups=(), deadlines=()):
    return plan_of(choice, only, skip, groups, dict(deadlines))


def test_the_usual_profile_asks_what_is_asked_without_one():
    assert built_in()[DEFAULT] == Choice()
    assert Choice().packages == SERVING == Settings().packages
    assert names(plan(Choice())) == {offer.probe.name for offer in offers() if not offer.probe.group}


@pytest.mark.parametrize("name", built_in())
def test_every_profile_can_be_planned_and_adds_to_the_usual_one(name):
    choice = built_in()[name]
    assert set(choice.packages) >= set(SERVING)
    assert names(plan(choice)) >= names(plan(Choice()))
    assert not plan(choice).is_partial


def test_full_turns_on_every_group_that_only_looks():
    asked = names(plan(built_in()["full"]))
    assert {offer.probe.name for offer in offers()} - asked == {offer.probe.name for offer in offers() if offer.probe.group in ACTIVE}


def test_a_site_s_own_profile_is_laid_over_a_built_in_one():
    own = Choice("prod", ("our_kernels",), ("OURS_",), ("imports",), ("git",), {"host": 90.0, "nvml": 30.0}).over(built_in()["vllm"])
    assert {"flash_attn", "our_kernels"} <= set(own.packages)
    asked = plan(own)
    assert "imports" in names(asked)
    assert next(offer.probe.deadline_s for offer in asked.asked if offer.probe.name == "nvml") == 30.0


def test_what_a_profile_skips_is_said_so_and_makes_no_snapshot_partial():
    made = plan(Choice("prod", skip=("git",)))
    assert made.left_out["git"][1] == "not asked: profile prod skips it"
    assert not made.is_partial
    assert plan(Choice(), skip=["git"]).is_partial


def test_what_is_asked_for_by_name_goes_before_what_a_profile_skips():
    assert names(plan(Choice("prod", skip=("git",)), only=["git"])) == {"git", "targets"}
    made = plan(Choice(deadlines_s={"nvml": 30.0}), deadlines={"nvml": 40.0})
    assert next(offer.probe.deadline_s for offer in made.asked if offer.probe.name == "nvml") == 40.0


def test_a_word_of_a_profile_that_names_no_probe_is_refused():
    with pytest.raises(CaptureError, match="there is no probe 'gti'"):
        plan(Choice("prod", skip=("gti",)))


def test_packages_and_prefixes_of_a_profile_reach_the_agent(tmp_path):
    site = "/opt/venv/lib/python3.12/site-packages"
    argv = ("/opt/venv/bin/python3", "-m", "sglang.launch_server", "--model-path", "/m")
    record(tmp_path, {
        **process(41, argv, {"OURS_FLAG": "1", "THEIRS_FLAG": "1"}), "/opt/venv/bin/python3": "", "/opt/venv/pyvenv.cfg": "home = /usr/bin\n",
        f"{site}/our_kernels/version.py": "__version__ = '1.2'\n", f"{site}/our_kernels-1.2.dist-info/METADATA": "Name: our-kernels\nVersion: 1.2\n",
        f"{site}/our_kernels-1.2.dist-info/RECORD": "our_kernels/version.py,,\n",
    }, taken_at="2026-03-02T10:00:00Z", hostname="gpu-a")
    choice = Choice("prod", ("our_kernels",), ("OURS_",)).over(Choice())
    order = Order(plan(choice, only=["servers", "versions"]), packages=choice.packages, env_prefixes=choice.env_prefixes, profile=choice.name)
    made = take_recorded(str(tmp_path), order)
    assert made.facts["servers/sglang/env/OURS_FLAG"] == "1"
    assert "servers/sglang/env/THEIRS_FLAG" not in made.facts
    assert made.facts["packages/our-kernels/text_version"] == "1.2"
    assert made.extra["profile"] == "prod"
