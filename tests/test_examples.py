"""What lies in snapshots/ and examples/ works as it stands there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from driftwatch.capture.plan import plan_for
from driftwatch.capture.take import Order, take_recorded
from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.rules_found import load_rules, rules_of
from driftwatch.settings import load_settings
from driftwatch.store.document import load

ROOT = Path(__file__).parent.parent
RECORDED = ROOT / "tests/hosts/s1-seed-fraction.tar.xz/s1-seed-fraction"


def case(good, bad):
    return Case(good, bad, compare(good, bad), bad.symptom)


@pytest.mark.parametrize("side", ["good", "bad"])
def test_the_snapshots_are_what_the_collectors_tell_of_the_recorded_host(side):
    made = take_recorded(str(RECORDED / side), Order(plan_for()))
    kept = load(ROOT / f"snapshots/{side}.json")
    assert json.dumps(made.facts, sort_keys=True) == json.dumps(kept.facts, sort_keys=True)


def test_the_first_diff_names_the_launch_argument_and_clears_what_was_suspected():
    explanation = explain(case(load(ROOT / "snapshots/good.json"), load(ROOT / "snapshots/bad.json")), load_rules())
    assert explanation.word == "LIKELY"
    assert explanation.suspects[0].subject.name == "mem_fraction_static"
    assert explanation.suspects[0].sum.rows[1][1] == "\N{MINUS SIGN}20.60"
    cleared = {entry.subject.name for entry in explanation.ruled_out}
    assert {"sgl-kernel", "torch"} <= cleared


def test_the_example_rule_finds_what_it_is_for():
    good = load(ROOT / "snapshots/good.json")
    fact = "system/memory/HugePages_Total"
    good, bad = (replace(good, facts={**good.facts, fact: number}) for number in (512, 0))
    source = (ROOT / "examples/rules/huge_pages.py").read_text()
    names: dict[str, object] = {"__name__": "huge_pages"}
    exec(compile(source, "huge_pages.py", "exec"), names)
    explanation = explain(case(good, bad), load_rules(rules_of(names["RULES"], "examples/rules/huge_pages.py")))
    assert explanation.suspects[0].subject.name == "huge pages"


def test_the_example_config_is_read_without_complaint():
    settings = load_settings({}, ROOT, str(ROOT / "examples/config/driftwatch.toml"))
    assert settings.profile("prod").pythons
    assert "OUR_FEATURE_FLAG" in settings.also_show
