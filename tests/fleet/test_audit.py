"""An audit as it grows: hosts that differ in the same way share one, no answer is never the same as no difference, and each host is one row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.rules_found import load_rules
from driftwatch.fleet.audit import Answered, Audit
from driftwatch.fleet.seen import CROWD, differing
from driftwatch.fleet.told import UNREACHABLE, Told
from driftwatch.model import ProbeResult
from driftwatch.report.audit import text
from driftwatch.report.audit.night import Night
from driftwatch.report.page import Page
from tests.explain.cases import package, snapshot, unknown

EMPTY = Night("@good", "2026-03-02T02:00:00Z", 1.0, (), (), "", 0)
BOOT = ("kernel/boot_id",)
GOOD = replace(snapshot({**package("torch", "2.9.1"), "driver/module/version": "580.95.05", "kernel/boot_id": "b0"}), volatile=BOOT)
NEWER = replace(snapshot({**package("torch", "2.9.1"), "driver/module/version": "580.105.08", "kernel/boot_id": "b1"}), volatile=BOOT)
_VERIFIED = {path: value for path, value in GOOD.facts.items() if path.endswith("/verified")}
SILENT = replace(
    snapshot({"kernel/boot_id": "b2", "driver/module/version": "580.95.05", **_VERIFIED}, packages=ProbeResult("timeout", 10.0, 10.0, "no answer in 10 s")),
    volatile=BOOT,
)


def audited(*hosts, told=None, **whole):
    """Return the night of hosts given as (name, snapshot); a snapshot of None did not answer at all."""
    rules = load_rules(())
    audit = Audit(lambda good, bad, changes: explain(Case(good, bad, changes), rules))
    for name, found in hosts:
        one = Answered(name, replace(found or GOOD, host=name), 1.0, f"{name}@last", GOOD, f"{name}@good")
        if found is None:
            audit.take_unreachable(one, "no route", (told or {}).get(name, Told()))
        else:
            audit.take(one, differing(GOOD, found, ()), (told or {}).get(name, Told()))
    return audit.night(replace(EMPTY, **whole))


def with_boot(found, boot):
    return replace(found, facts={**found.facts, "kernel/boot_id": boot})


def test_hosts_with_the_same_differences_share_one_way():
    night = audited(*((f"gpu-{n}", with_boot(NEWER, f"n{n}")) for n in range(9)), ("gpu-9", GOOD))
    assert [(way.letter, len(way.hosts), way.cells["drv"]) for way in night.ways] == [("A", 9, "~")]


def test_a_host_that_differs_in_another_value_is_a_way_of_its_own():
    other = replace(NEWER, facts={**NEWER.facts, "driver/module/version": "570.1", "kernel/boot_id": "b9"})
    assert [way.hosts for way in audited(("a", NEWER), ("b", other)).ways] == [("a",), ("b",)]


def test_gpus_of_two_hosts_that_differ_alike_are_one_way_though_their_uuids_are_their_own():
    def pair(digits):
        path = f"gpus/GPU-{digits * 8}-aaaa-bbbb-cccc-{digits * 12}/power_limit_w"
        return snapshot({path: 700}), snapshot({path: 500})

    signatures = {differing(*pair(digits), ()).signature for digits in "12"}
    assert len(signatures) == 1


def test_a_probe_without_an_answer_is_a_question_mark_and_no_difference():
    (way,) = audited(("a", SILENT)).ways
    assert (way.state, way.cells["pkg"], way.total, way.silent[0].what) == ("unseen", "?", 0, "probes/packages")


def test_a_host_that_cannot_be_reached_is_a_row_and_all_its_marks_say_so():
    night = audited(("a", GOOD), ("dead", None))
    assert [(row.host, row.state) for row in night.rows] == [("a", "same"), ("dead", "unreachable")]
    assert set(night.ways[0].cells.values()) == {"x"}


@pytest.mark.parametrize(("hosts", "word", "code"), [
    ([("a", GOOD)], "SAME", 0), ([("a", NEWER)], "DRIFT", 1), ([("a", SILENT)], "UNKNOWN", 3), ([("a", None)], "UNKNOWN", 3),
    ([("a", NEWER), ("b", None)], "DRIFT", 1),
])
def test_the_word_and_the_exit_code_follow_what_was_found(hosts, word, code):
    night = audited(*hosts)
    assert (night.word, night.exit_code) == (word, code)


@pytest.mark.parametrize(("fail_on", "code"), [("never", 0), ("suspect", 1), ("drift", 1), ("unknown", 1)])
def test_fail_on_narrows_what_counts(fail_on, code):
    torn = replace(GOOD, facts={**GOOD.facts, "driver/on_disk/version": "580.105.08", "driver/library/libcuda/version": "580.105.08"})
    assert audited(("a", torn), fail_on=fail_on).exit_code == code


def test_drift_without_a_suspect_is_no_finding_where_only_suspects_count():
    quiet = snapshot({**package("torch", "2.9.1"), "driver/module/version": "580.95.05", "os/name": "another"})
    assert [audited(("a", quiet), fail_on=one).exit_code for one in ("suspect", "drift")] == [0, 1]


def test_with_only_new_what_was_told_is_no_finding():
    keys = differing(GOOD, NEWER, ()).keys
    night = audited(("a", NEWER), ("b", None), told={"a": Told(keys), "b": Told({UNREACHABLE: UNREACHABLE})}, only_new=True)
    assert (night.exit_code, night.told) == (0, ())


def test_two_names_of_one_machine_are_told():
    assert audited(("a", GOOD), ("b", GOOD), ("c", NEWER)).twins == (("a", "b"),)


def test_what_is_acknowledged_is_counted_and_not_told():
    full = differing(GOOD, NEWER, ())
    seen = full.without(set(full.keys.values()))
    assert (seen.changes, seen.signature, seen.acknowledged) == ((), "", 1)


def test_what_is_ignored_is_no_difference():
    assert differing(GOOD, NEWER, ("driver/*",)).changes == ()


def test_a_long_list_of_differences_is_counted_and_not_kept():
    many = replace(NEWER, facts={**NEWER.facts, **{f"env/NAME{n}": "1" for n in range(500)}})
    (way,) = audited(("a", many)).ways
    assert (way.total, len(way.differences)) == (501, 40)


def test_changes_that_were_narrowed_stand_in_for_those_of_the_pair():
    narrowed = [one for one in compare(GOOD, NEWER) if one.path.startswith("packages/")]
    assert differing(GOOD, NEWER, (), narrowed).changes == ()


def test_a_crowd_of_differences_has_one_key_that_moves_with_any_of_them():
    def moved(count, digest="b"):
        good = snapshot({f"sources/sglang/files/{n}.py": "a" for n in range(count)})
        return differing(good, snapshot({f"sources/sglang/files/{n}.py": digest for n in range(count)}), ())

    small, large = moved(CROWD), moved(CROWD + 1)
    assert (len(small.keys), list(large.keys)) == (CROWD, ["sources/sglang/files"])
    assert large.keys != moved(CROWD + 1, "c").keys
    assert large.without(set(large.keys.values())).changes == ()


def test_a_host_whose_comparison_fails_is_an_open_question_that_is_new_each_night():
    audit = Audit(lambda *_: None)
    audit.take_failed(Answered("a", GOOD, 1.0, "a@last", GOOD, "a@good"), "driftwatch itself failed (KeyError: 'x')")
    night = audit.night(replace(EMPTY, only_new=True))
    assert (night.word, night.exit_code, night.ways[0].silent[0].reason) == ("UNKNOWN", 3, "driftwatch itself failed (KeyError: 'x')")
    assert "the comparison: error: driftwatch itself failed (KeyError: 'x')" in text.render(night, Page(width=160))


@pytest.mark.parametrize(("path", "status", "ignored", "silent"), [
    ("containers", "error", (), ["containers"]), ("containers", "denied", (), []), ("containers", "error", ("containers",), []),
    ("services/docker/active", "error", (), []),
])
def test_a_topic_that_failed_on_both_nights_is_not_the_same(path, status, ignored, silent):
    down = snapshot({path: unknown(status, "the daemon is down"), **package("torch", "2.9.1")})
    assert [one.what for one in differing(down, down, ignored).silent] == silent
