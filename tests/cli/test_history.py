"""`driftwatch history`: when a fact changed, between which snapshots, what changed with it, and which changes time rules out."""

from __future__ import annotations

import json

import pytest

from driftwatch.explain.chronicle import Moment, fact_rows, steps, window
from driftwatch.model import ProbeResult, Snapshot, Symptom
from driftwatch.report import history
from driftwatch.report.page import Page, measure
from driftwatch.store.files import FileStore
from driftwatch.store.labels import set_label

SERVING = {"servers/sglang/log/ready": True, "servers/sglang/running": True}
OOM = Symptom("oom", "RuntimeError: Not enough memory.")
STORY = (
    ("2026-05-11T06:00:00Z", "0.1.11", {"driver/version": "570.1", **SERVING}, None),
    ("2026-06-01T06:00:00Z", "0.1.11", {"driver/version": "580.1", **SERVING}, None),
    ("2026-06-10T06:00:00Z", "0.1.11", {"driver/version": "580.1", **SERVING}, None),
    ("2026-06-15T12:00:00Z", None, {"driver/version": "580.1"}, None),
    ("2026-06-16T03:00:00Z", "0.1.12", {"driver/version": "580.1", "env/NCCL_DEBUG": "INFO", **SERVING}, OOM),
    ("2026-06-16T03:12:00Z", "0.1.12", {"driver/version": "580.1", "env/NCCL_DEBUG": "INFO", **SERVING}, OOM),
)
FACT = "packages/apache-tvm-ffi/version"


@pytest.fixture
def told(cli):
    """Store six snapshots: a driver moved while all was well, then a package with which it broke; once the packages gave no answer."""
    store = FileStore(cli.store)
    for taken_at, version, facts, symptom in STORY:
        silent = () if version else ("packages", "servers")
        probes = {name: ProbeResult("timeout", 10.0, 10.0, "no answer in 10 s", tells=(f"{name}/*",)) for name in silent}
        probes |= {name: ProbeResult("ok", tells=(f"{name}/*",)) for name in ("driver", "env", "packages", "servers") if name not in silent}
        more = {FACT: version} if version else {}
        entry = store.save(Snapshot("gpu-a", taken_at, probes=probes, facts={**facts, **more}, symptom=symptom))
        if taken_at.startswith("2026-06-10"):
            set_label(store, entry, "good", set_at="2026-06-10T07:00:00Z")
    return cli


def lines(ran):
    return [" ".join(line.split()) for line in ran.stdout.splitlines()]


def test_a_fact_is_told_newest_first_with_what_came_with_it_and_an_unknown_as_unknown(told):
    rows = lines(told.run("history", "gpu-a", FACT, "--width", "120"))
    assert rows[0].startswith("2026-06-16 03:12Z bad 0.1.12 gpu-a@")
    assert "2026-06-16 03:00Z bad 0.1.12 gpu-a@" in rows[1]
    assert "first; with it: environment of the probing shell (1) and packages (1)" in " ".join(rows)
    assert any(row.startswith("2026-06-15 12:00Z ? gpu-a@") and row.endswith("timeout: packages: no answer in 10 s") for row in rows)
    assert any(row == "2026-06-10 06:00Z good 0.1.11 gpu-a@good same since 2026-05-11" for row in rows)


def test_only_rows_that_say_something_new_are_shown_unless_every_is_asked(told):
    assert not [row for row in lines(told.run("history", "gpu-a", FACT)) if row.startswith("2026-06-01")]
    assert [row for row in lines(told.run("history", "gpu-a", FACT, "--every")) if row.startswith("2026-06-01")]


def test_a_value_that_was_not_known_for_a_while_is_no_change(told):
    rows = json.loads(told.run("history", "gpu-a", FACT, "--json").stdout)[FACT]
    assert [row["is_new"] for row in rows] == [False, False, False, False, True, False]
    assert rows[3]["value"] == {"unknown": "timeout", "reason": "packages: no answer in 10 s"}
    assert rows[4]["with"] == ["env/NCCL_DEBUG", FACT]


def test_of_a_glob_only_facts_that_changed_are_shown_and_the_others_counted(told):
    ran = told.run("history", "gpu-a", "driver/*", "env/*")
    assert [row for row in lines(ran) if row.startswith("NCCL_DEBUG")]
    assert "never changed" not in ran.stderr
    assert "note: 2 more facts fit and never changed" in told.run("history", "gpu-a", "servers/*", "driver/*").stderr


def test_a_fact_that_was_never_known_is_exit_3(told):
    ran = told.run("history", "gpu-a", "kernel/release")
    assert (ran.returncode, ran.stdout.count("?")) == (3, 3)


def test_without_a_fact_every_snapshot_tells_how_much_changed_since_the_one_before(told):
    rows = lines(told.run("history", "gpu-a", "--every", "--width", "120"))
    assert [row[:10] for row in rows] == ["2026-06-16", "2026-06-16", "2026-06-15", "2026-06-10", "2026-06-01", "2026-05-11"]
    assert rows[4].endswith("1 change: driver (1)")
    assert rows[1].endswith("2 changes: environment of the probing shell (1) and while a probe was silent (1)")
    assert rows[5].endswith("the oldest that is stored")


def test_the_window_tells_what_changed_between_good_and_bad_and_what_time_rules_out(told):
    ran = told.run("history", "gpu-a", "--window")
    said = " ".join(ran.stdout.split())
    assert ran.returncode == 1
    assert "last good gpu-a@good 2026-06-10 06:00Z first bad gpu-a@" in said
    assert "between them 1 snapshot of which nobody said how the service did" in said
    assert "~ apache-tvm-ffi 0.1.11 → 0.1.12" in said
    assert "TIME RULES OUT (1) = driver/version 570.1 → 580.1, good at gpu-a@" in said
    assert "look driftwatch diff gpu-a@good gpu-a@" in said


def test_the_window_as_json_names_both_moments(told):
    window = json.loads(told.run("history", "gpu-a", "--window", "--json").stdout)
    assert (window["last_good"]["taken_at"], window["first_bad"]["taken_at"]) == ("2026-06-10T06:00:00Z", "2026-06-16T03:00:00Z")
    assert [one["path"] for one in window["ruled_out_by_time"]] == ["driver/version"]


def test_without_a_bad_snapshot_there_is_no_window_and_it_says_how_to_name_one(told):
    told.run("untag", "gpu-a@good")
    for taken_at, *_ in STORY[4:]:
        told.run("tag", "good-again" if taken_at.endswith("03:00:00Z") else "good", f"gpu-a@{taken_at[:16]}Z")
    ran = told.run("history", "gpu-a", "--window")
    assert ran.returncode == 2
    assert ran.stderr.splitlines()[0] == "error: no snapshot of gpu-a is known to be bad after a good one, so there is no window"
    assert "do: driftwatch tag bad gpu-a@2026-06-16" in ran.stderr


def test_a_damaged_snapshot_is_told_and_left_out(told):
    damaged = next((told.store / "hosts/gpu-a").glob("*20260601*.json"))
    damaged.write_bytes(b"{}")
    ran = told.run("history", "gpu-a", "--every")
    assert (ran.returncode, ran.stdout.count("2026-")) == (0, 5)
    assert "it is left out" in ran.stderr


def test_a_reference_in_the_place_of_a_host_is_told(told):
    ran = told.run("history", "gpu-a@last")
    assert ran.stderr == "error: gpu-a@last is one snapshot, and a history is of a host\n    do: driftwatch history gpu-a\n"


@pytest.mark.parametrize("words", [(FACT,), ("--window",), ("--format", "html")])
def test_a_history_can_be_shown_to_strangers(told, words):
    shown = told.run("history", "gpu-a", *words, "--anonymise").stdout
    assert "gpu-a" not in shown
    assert "host-1@" in shown


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_page(told, width):
    store, page = FileStore(told.store), Page(width)
    moments = [Moment(entry.ref, entry.name.taken_at, (), slim.whole) for entry, slim in store.load_each(store.entries("gpu-a"))]
    shown = [
        history.facts_as_text(fact_rows(moments, (FACT, "env/NCCL_DEBUG")), page, is_whole=True),
        history.steps_as_text(steps(moments), moments[0], page),
        history.window_as_text(window(moments), page, is_whole=True),
    ]
    assert max(measure(line) for text in shown for line in text.splitlines() if "driftwatch diff" not in line) <= width


def test_snapshots_in_which_nothing_changed_are_counted_unless_every_is_asked(told):
    brief, whole = told.run("history", "gpu-a"), told.run("history", "gpu-a", "--every")
    assert [row for row in lines(brief) if row.startswith("2026-06-16 03:12Z")] == []
    assert [row for row in lines(whole) if row.startswith("2026-06-16 03:12Z") and row.endswith("0 changes")]
    assert "nothing changed in " in brief.stderr
