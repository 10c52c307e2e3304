from __future__ import annotations

import json
from dataclasses import replace

import pytest

from driftwatch.explain.explain import explain
from driftwatch.explain.explanation import NotChecked, RuledOut, Subject, Symptom, Term
from driftwatch.explain.rule import Doubt, Evidence, Rule, Wording
from driftwatch.explain.weights import logistic, prior
from driftwatch.model import ProbeResult
from driftwatch.report.json import render
from driftwatch.report.page import Page
from tests.explain.cases import case_of, package, places, snapshot, suspect, told, unknown
from tests.report.contract import broken

WORDING = Wording("package", "x", "~", "1", "2")


def by(*findings, needs=(), needs_bad=(), blames=("package",)):
    return Rule("made", needs=needs, weigh=lambda _case: iter(findings), blames=blames, needs_bad=needs_bad)


def about(name, *weights, wording=WORDING):
    return Evidence(Subject("package", name), tuple(Term(f"{name} {weight}", weight) for weight in weights), wording)


def of(*rules, good=None, bad=None, symptom=None):
    return explain(case_of(good or snapshot({"env/A": "1"}), bad or snapshot({"env/A": "2"}), symptom), rules)


def test_confidence_is_the_logistic_of_the_prior_and_the_sum():
    found = of(by(about("x", 1.0)), by(about("x", 2.5), about("x", -0.5)))
    assert found.suspects[0].confidence == logistic(prior("package", None) + 3.0)


def test_terms_for_come_before_open_ones_and_terms_against():
    assert [term.sign for term in of(by(about("x", -1.0, 0.0, 5.0))).suspects[0].because] == ["+", "?", "-"]


def test_suspects_stand_by_confidence():
    assert [one.subject.name for one in of(by(about("a", 2.0), about("b", 4.0))).suspects] == ["b", "a"]


def test_evidence_that_nothing_words_makes_no_suspect():
    assert of(by(about("x", 9.0, wording=None))).suspects == ()


def test_unlike_evidence_never_gives_the_same_confidence():
    first, second = of(by(about("a", 12.0), about("b", 11.0))).suspects
    assert first.confidence > second.confidence


def test_a_subject_stands_in_one_place_only():
    ruled, opened = RuledOut(Subject("package", "x"), "equal", ("env/A",)), NotChecked(Subject("package", "x"), "timeout", "bad", "slow")
    found = of(by(about("x", 5.0), ruled, opened))
    assert places(found, "x") == ["suspects"]
    assert found.suspects[0].because[-1] == Term("not read on the bad side: slow", 0.0)


def test_what_is_open_is_never_ruled_out():
    found = of(by(RuledOut(Subject("package", "x"), "equal", ("env/A",)), NotChecked(Subject("package", "x"), "timeout", "bad", "slow")))
    assert places(found, "x") == ["not_checked"]


def test_nothing_is_ruled_out_by_a_fact_that_is_unknown_on_a_side():
    found = of(by(RuledOut(Subject("package", "x"), "equal", ("env/A", "packages/x/record"))), bad=snapshot({"packages/x/record": unknown("timeout")}))
    assert found.ruled_out == ()


def test_nothing_is_ruled_out_by_no_fact():
    assert of(by(RuledOut(Subject("package", "x"), "said so"))).ruled_out == ()


def test_a_rule_is_not_asked_where_a_fact_that_it_needs_is_unknown():
    found = of(by(about("x", 9.0), needs=("driver/module/version",)), bad=snapshot(driver=ProbeResult("timeout", reason="hung")))
    assert found.suspects == ()
    assert places(found, "driver") == ["not_checked"]


def test_a_need_is_met_by_either_alternative():
    facts = {"servers/sglang/args/a": 1, "servers/sglang/given": unknown("denied"), "servers/sglang/running": True}
    assert of(by(about("x", 9.0), needs=("servers/*/args|servers/*/given",)), good=snapshot(facts), bad=snapshot(facts)).suspects


def test_a_need_of_the_bad_side_may_be_unknown_on_the_good_one():
    rule = by(about("x", 9.0), needs_bad=("driver/module/version",))
    assert of(rule, good=snapshot(driver=ProbeResult("timeout"))).suspects
    assert not of(rule, bad=snapshot(driver=ProbeResult("timeout"))).suspects


def test_a_rule_that_fails_is_an_open_question_and_keeps_what_it_found():
    def weigh(_case):
        yield about("x", 9.0)
        raise KeyError("torch")

    found = of(Rule("site", needs=(), weigh=weigh))
    assert found.suspects[0].subject.name == "x"
    assert [(one.subject.name, one.status, one.reason) for one in found.not_checked] == [("rule site", "error", "the rule failed: KeyError: 'torch'")]


def test_a_doubtful_baseline_weighs_against_every_suspect_and_opens_the_verdict():
    found = of(by(about("x", 4.0), Doubt("the good side was broken", ("env/A",))))
    assert found.suspects[0].because[-1].says == "the good side was broken"
    assert found.verdict.startswith("The baseline is doubtful: the good side was broken.")


def test_nothing_is_ruled_out_of_the_kind_that_neither_side_could_work_with():
    cleared = [RuledOut(Subject(kind, "y"), "equal", ("env/A",)) for kind in ("launch-arg", "driver")]
    found = of(by(*cleared, Doubt("so was it", ("env/A",), Subject("launch-arg", "x"))))
    assert [one.subject.kind for one in found.ruled_out] == ["driver"]


def test_one_sentence_of_two_rules_counts_once_for_the_facts_of_both():
    said = [Evidence(Subject("package", "x"), (Term("the error text names it", 1.8, (fact,)),), WORDING) for fact in ("env/A", "env/B")]
    (one,) = of(by(*said)).suspects
    assert one.confidence == logistic(prior("package", None) + 1.8)
    assert one.because == (Term("the error text names it", 1.8, ("env/A", "env/B")),)


def test_a_suspect_that_something_speaks_against_is_not_counted_as_close():
    against = [about(f"z{number}", 3.5, -0.6) for number in range(4)]
    assert of(by(about("x", 3.0), about("y", 2.9), *against)).verdict.startswith("2 suspects are close")
    assert of(by(about("x", 3.0), about("y", 2.9), about("z", 2.8))).verdict.startswith("3 suspects are close")


def test_a_whole_kind_is_not_cleared_where_one_of_it_is_suspected():
    whole, other = RuledOut(Subject("package", "all packages"), "equal", ("packages/torch",)), RuledOut(Subject("gpu", "torch"), "", ("env/A",))
    found = of(by(about("torch", 5.0), whole, other), good=snapshot(), bad=snapshot())
    assert [one.subject.name for one in found.ruled_out] == ["torch"]


def serving(side, **log):
    running = {"servers/vllm/running": True} if side else {}
    return snapshot({**running, **{f"servers/vllm/log/{name}": value for name, value in log.items()}, "env/A": str(side)})


def test_swapped_sides_are_pointed_out_before_all_else():
    found = of(good=serving(0, error="CUDA error"), bad=serving(1))
    assert found.verdict.startswith("Are the sides swapped? The good side ended in an error, and the broken one serves. ")
    assert "swapped" not in of(good=serving(1), bad=serving(0, error="CUDA error")).verdict


@pytest.mark.parametrize(("speed", "symptom", "is_told"), [(14.2, None, True), (39.0, None, False), (14.2, Symptom("slow", None), False)])
def test_a_server_that_serves_much_slower_is_pointed_out_where_no_symptom_is_known(speed, symptom, is_told):
    found = of(by(about("x", 6.0)), good=serving(1, throughput_tok_s=41.1), bad=serving(1, throughput_tok_s=speed), symptom=symptom)
    assert ("It serves slower, 41.1 → 14.2 tok/s: if that is the failure, ask with --symptom slow." in found.verdict) is is_told


def test_the_cause_is_told_before_the_note_that_the_good_side_is_newer():
    good = replace(snapshot({"env/A": "1"}), taken_at="2026-03-09T10:00:00Z")
    assert of(by(about("x", 8.0)), good=good).verdict.startswith("x 1 → 2. Note: the good side is the newer one")


def test_a_hopeless_suspect_is_left_under_changes():
    assert of(by(about("x", -3.0))).suspects == ()


def test_at_most_seven_suspects_are_shown():
    assert len(of(by(*(about(f"x{number}", 4.0) for number in range(20)))).suspects) == 7


@pytest.mark.parametrize(
    ("weights", "word"),
    [((8.0,), "LIKELY"), ((8.0, 2.7), "LIKELY"), ((8.0, 7.0), "SEVERAL"), ((2.7, 2.0), "SEVERAL"), ((1.5,), "DRIFT"), ((), "DRIFT")],
)
def test_the_word_follows_the_suspects(weights, word):
    assert of(by(*(about(f"x{number}", weight) for number, weight in enumerate(weights)))).word == word


def test_the_word_is_unknown_where_an_open_question_could_hide_a_suspect():
    bad = snapshot({"env/A": "2"}, driver=ProbeResult("timeout"))
    assert of(by(about("x", 3.0)), by(needs=("driver/module/version",), blames=("driver",)), bad=bad).word == "UNKNOWN"


def test_a_strong_suspect_stands_although_something_is_open():
    assert of(by(about("x", 6.0), needs=()), by(needs=("driver/*",)), bad=snapshot({"env/A": "2"}, driver=ProbeResult("timeout"))).word == "LIKELY"


def test_equal_sides_are_the_same_with_exit_code_0_and_say_what_was_looked_at():
    snap = snapshot(package("torch", "2.9.1"))
    found = told(snap, snap, Symptom("oom", None))
    assert (found.word, found.exit_code, found.suspects) == ("SAME", 0, ())
    assert "11 of 11 probes" in found.verdict


def test_sides_that_differ_in_volatile_facts_only_are_the_same():
    good, bad = snapshot({"system/uptime_s": 1, "gpus/GPU-1/temperature_c": 40}), snapshot({"system/uptime_s": 9, "gpus/GPU-1/temperature_c": 60})
    assert told(good, bad).word == "SAME"


def test_equal_sides_are_unknown_where_a_probe_answered_before_and_does_not_now():
    found = told(snapshot({"os/id": "x"}), snapshot({"os/id": "x"}, nvml=ProbeResult("timeout", reason="no answer")))
    assert (found.word, found.exit_code) == ("UNKNOWN", 3)
    assert "nvml" in found.verdict


def test_a_standing_gap_is_counted_and_no_reason_for_unknown():
    found = told(snapshot(nvml=ProbeResult("denied", reason="root only")), snapshot(nvml=ProbeResult("denied", reason="root only")))
    assert (found.word, found.not_checked) == ("SAME", ())
    assert found.standing_gaps == (("nvml: denied on both sides (root only)", "driftwatch snapshot root@gpu-a --only nvml"),)


def test_a_probe_that_hung_on_both_sides_is_no_standing_gap():
    found = told(snapshot(nvml=ProbeResult("timeout")), snapshot(nvml=ProbeResult("timeout")))
    assert (found.word, found.standing_gaps, found.not_checked[0].side) == ("UNKNOWN", (), "both")


def test_changes_that_no_suspect_holds_are_grouped():
    good, bad = snapshot({**package("httpx", "1"), "env/LANG": "C"}), snapshot({**package("httpx", "2", installed_at="2026-03-01T02:41:07Z"), "env/LANG": "de"})
    assert [event.title for event in told(good, bad).events] == ["environment of the probing shell", "packages installed 2026-03-01 02:41Z"]


def test_a_side_tells_how_its_server_did():
    good, bad = snapshot({"servers/sglang/running": True, "servers/sglang/log/throughput_tok_s": 89.5}), snapshot({"servers/sglang/log/error": "boom"})
    found = told(good, bad)
    assert (found.good.outcome, found.bad.outcome, found.good.ref) == ("serving, 89.5 tok/s", "boom", "gpu-a@good")


HOSTILE = ("a\nb\x1b[31m", None, [1, {"x": None}], {"keyed": "hmac-sha256:0"}, {"masked": True}, -0.0, "x" * 5000, {"unknown": "denied"}, 10**400)
READ_BY_RULES = """
    packages/torch/version packages/torch/text_version packages/torch/requires packages/x%2Fy/altered/a%2Fb.py env/NCCL_ALGO servers/sglang/env/LD_PRELOAD
    servers/sglang/args/mem_fraction_static servers/sglang/given/tp_size servers/sglang/log/free_before_load_gib servers/sglang/log/path
    servers/sglang/log/error env/ packages//version
    gpus/GPU-1/holders/python3 gpus/GPU-1/unattributed_mib git/s/head git/s/dirty git/s/files/a.py sources/s/files/a.py sources/s/times/a.py
    driver/module/version driver/library/libcuda/path kernel/release python/version python/executable git/s/root servers/sglang/running packages/torch/installer
"""
BARE = {
    "packages/torch/version": "2.9.1",
    "servers/sglang/running": True,
    "servers/sglang/log/free_after_load_gib": 1.0,
    "driver/library/libcuda/version": "1",
    "git/s/head": "c",
}


@pytest.mark.parametrize("value", HOSTILE, ids=[f"value{number}" for number in range(len(HOSTILE))])
@pytest.mark.parametrize("path", READ_BY_RULES.split())
def test_no_value_of_a_host_breaks_the_contract_or_a_rule(path, value):
    for good, bad in ((BARE, {**BARE, path: value}), ({**BARE, path: value}, BARE), ({**BARE, path: value}, {**BARE, path: "2"})):
        found = told(snapshot(good), snapshot(bad), Symptom("oom", "boom"))
        assert broken(json.loads(render(found, Page()))) == []
        assert not [one for one in found.not_checked if one.subject.name.startswith("rule ")]


def test_a_pair_of_dumps_that_never_tell_a_thing_leaves_it_not_checked():
    dump = replace(snapshot({"packages/torch/version": "2.9.1"}), source="pip-list", probes={"pip-list": ProbeResult("ok", tells=("packages/*/version",))})
    assert "driver" in {one.subject.name for one in told(dump, dump).not_checked}


def test_a_suspect_is_found_by_its_subject():
    assert suspect(of(by(about("x", 5.0))), "package", "x") is not None
