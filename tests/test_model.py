"""The model: a question without an answer never looks like an answer, and a document that was changed is refused."""

from __future__ import annotations

import json

import pytest

from driftwatch.model import Known, ModelError, ProbeResult, Snapshot, Symptom, Unknown, canonical, content_id, from_document, matches, to_document


def snapshot(facts=None, **statuses):
    probes = {name: ProbeResult(status, reason=REASON.get(status, "why"), tells=TELLS.get(name, (name + "/*",))) for name, status in statuses.items()}
    return Snapshot(host="gpu-a", taken_at="2026-03-02T10:00:00Z", probes=probes, facts=facts or {}, volatile=("system/uptime_s", "gpus/*/used_mib"))


REASON = {"ok": "", "absent": ""}
TELLS = {"packages": ("packages/*",), "versions": ("packages/*/text_version", "torch/version"), "nvml": ("gpus/*", "driver/version")}


def document(made=None):
    made = made or snapshot({"driver/module/version": "580.95.05"}, driver="ok")
    return {**to_document(made), "id": made.id}


def test_a_fact_that_was_told_is_known():
    assert snapshot({"driver/x": 1}, driver="timeout").get("driver/x") == Known(1)


@pytest.mark.parametrize("status", ["ok", "absent"])
def test_a_missing_fact_is_known_to_be_absent_only_after_a_probe_that_answered(status):
    assert snapshot(driver=status).get("driver/module/version") == Known(None)


@pytest.mark.parametrize("status", ["denied", "timeout", "error", "died", "lost", "not_recorded"])
def test_a_missing_fact_is_unknown_after_a_probe_that_did_not_answer(status):
    assert snapshot(driver=status).get("driver/module/version") == Unknown(status, "driver: why")


def test_a_fact_that_no_planned_probe_answers_for_is_not_recorded():
    found = snapshot(driver="ok").get("git/sglang/head")
    assert isinstance(found, Unknown)
    assert found.status == "not_recorded"


def test_the_most_exact_glob_owns_a_path():
    made = snapshot(packages="ok", versions="timeout", nvml="timeout", driver="ok")
    assert made.get("packages/torch/installer") == Known(None)
    assert isinstance(made.get("packages/torch/text_version"), Unknown)
    assert made.owner("driver/version") == "nvml"
    assert made.owner("driver/module/version") == "driver"


def test_what_lies_below_an_unknown_fact_is_unknown():
    made = snapshot({"servers/sglang/env": {"unknown": "denied", "reason": "uid"}}, servers="ok")
    assert made.get("servers/sglang/env/NCCL_DEBUG") == Unknown("denied", "uid")
    assert made.get("servers/sglang/cwd") == Known(None)


@pytest.mark.parametrize(("path", "glob", "is_match"), [
    ("a/b/c", "a/*", True), ("a", "a/*", False), ("a/b/c", "a/*/c", True), ("a/b/x/c", "a/*/c", False), ("a/b", "a/b", True), ("a/bc", "a/b", False),
    ("a/x\ny", "a/*", True),
])
def test_globs_match_within_parts_and_everything_below_a_closing_star(path, glob, is_match):
    assert matches(path, (glob,)) is is_match


def test_a_document_round_trips():
    probe = ProbeResult("timeout", 1.23456, 2.0, "r", ("a/*",), ("t",), ({"pid": 1},), ("n",))
    made = Snapshot("h", "2026-03-02T10:00:00Z", probes={"a": probe}, facts={"a/b": [1, None]},
                    symptom=Symptom("oom", "s", None), extra={"partial": True})
    again = from_document(json.loads(json.dumps(document(made))))
    assert again.id == made.id
    assert again.symptom == made.symptom
    assert again.extra == {"partial": True}


def test_a_key_that_a_later_version_added_is_kept_in_the_id():
    changed = {**document(), "new_key": 1}
    changed["id"] = content_id(changed)
    assert from_document(changed).id == changed["id"]


def test_a_changed_value_is_refused():
    changed = document()
    changed["facts"]["driver/module/version"] = "580.95.06"
    with pytest.raises(ModelError, match="changed after it was written"):
        from_document(changed)


def test_a_newer_format_is_named_as_newer():
    with pytest.raises(ModelError, match="newer than 1"):
        from_document({**document(), "format": 2})


@pytest.mark.parametrize("wrong", [
    {"format": True}, {"format": "1"}, {"format": 0}, {"facts": []}, {"host": 5}, {"id": None}, {"probes": {"a": {"status": "fine"}}}, {"probes": {"a": 1}},
    {"symptom": []},
])
def test_a_document_of_another_shape_is_refused(wrong):
    made = {**document(), **wrong}
    if "id" not in wrong:
        made["id"] = content_id(made)
    with pytest.raises(ModelError):
        from_document(made)


@pytest.mark.parametrize("wrong", [None, [], "x", 5, {}])
def test_what_is_no_object_with_a_format_is_refused(wrong):
    with pytest.raises(ModelError):
        from_document(wrong)


def test_floats_have_at_most_three_decimals_so_that_the_id_is_the_same_everywhere():
    made = Snapshot("h", None, facts={"a": 0.1234567, "b": [1.00049]})
    assert b"0.123," in canonical(to_document(made))
