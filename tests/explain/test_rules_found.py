from __future__ import annotations

import subprocess
import sys

import pytest

from driftwatch.explain.rule import ExplainError, Rule
from driftwatch.explain.rules_found import load_rules, rules_of
from driftwatch.explain.weights import BASE

MINE = Rule("mine", needs=(), weigh=lambda _case: iter(()))


def test_every_file_of_the_folder_offers_its_rules():
    names = [rule.name for rule in load_rules()]
    assert names == sorted(names)
    assert {"memory_sum", "driver_pair", "version_moved"} <= set(names)


def test_every_rule_blames_kinds_that_have_a_prior():
    assert {kind for rule in load_rules() for kind in rule.blames} <= BASE.keys()


def test_rules_of_the_caller_stand_behind_our_own():
    assert load_rules([MINE])[-1] is MINE


def test_two_rules_of_one_name_are_refused_by_name():
    with pytest.raises(ExplainError, match="two rules are named 'memory_sum'"):
        load_rules([Rule("memory_sum", needs=(), weigh=MINE.weigh)])


@pytest.mark.parametrize("offered", [MINE, (MINE,), [MINE]])
def test_a_value_may_be_a_rule_or_hold_some(offered):
    assert list(rules_of(offered, "here")) == [MINE]


def test_anything_else_is_refused_with_its_place():
    with pytest.raises(ExplainError, match=r"site\.py offers no rules"):
        list(rules_of(object(), "site.py"))


def installed(tmp_path, target):
    info = tmp_path / "site_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: site-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[driftwatch.rules]\nours = {target}\n")
    (tmp_path / "site_rules.py").write_text("from driftwatch.explain.rule import Rule\nRULES = (Rule('site', needs=(), weigh=lambda case: iter(())),)\n")
    run = "from driftwatch.explain.rules_found import load_rules\nprint([rule.name for rule in load_rules()][-1])"
    return subprocess.run(
        [sys.executable, "-c", run], capture_output=True, text=True, check=False, timeout=60, env={"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"}
    )


def test_an_installed_package_may_offer_rules_by_an_entry_point(tmp_path):
    assert installed(tmp_path, "site_rules").stdout.strip() == "site"


def test_an_entry_point_that_cannot_be_loaded_is_named(tmp_path):
    assert "entry point ours = nowhere cannot be loaded: ModuleNotFoundError" in installed(tmp_path, "nowhere").stderr
