from __future__ import annotations

import time
from dataclasses import replace

from driftwatch.compare.gaps import standing_gaps
from driftwatch.compare.pair import compare
from driftwatch.model import Known, ProbeResult, Snapshot, Unknown
from tests.explain.cases import no_server, package, snapshot, start, unknown, without


def changes(good, bad):
    return {change.path: change for change in compare(good, bad)}


def kinds(good, bad):
    return {path: change.kind for path, change in changes(good, bad).items()}


def test_equal_snapshots_have_no_change():
    assert compare(snapshot(package("torch", "2.9.1")), snapshot(package("torch", "2.9.1"))) == ()


def test_a_fact_is_changed_added_or_removed():
    good, bad = snapshot({"env/A": "1", "env/B": "1"}), snapshot({"env/A": "2", "env/C": "1"})
    assert kinds(good, bad) == {"env/A": "changed", "env/B": "removed", "env/C": "added"}


def test_yes_is_no_1():
    good, bad = snapshot({"env/A": True, "env/B": {"b": 0}, "env/C": 1}), snapshot({"env/A": 1, "env/B": {"b": False}, "env/C": 1.0})
    assert kinds(good, bad) == {"env/A": "changed", "env/B": "changed"}


def test_a_null_and_a_fact_that_is_known_to_be_absent_are_the_same():
    assert compare(snapshot({"env/A": None}), snapshot()) == ()


def test_a_fact_whose_probe_hung_is_unknown_and_never_removed():
    found = changes(snapshot({"env/A": "1", "env/B": "2"}), snapshot(env=ProbeResult("timeout", reason="no answer in 2 s")))
    assert found.keys() == {"probes/env"}
    assert (found["probes/env"].good, found["probes/env"].bad) == (Known("ok"), Unknown("timeout", "no answer in 2 s"))


def test_what_a_probe_told_before_it_hung_is_compared():
    good, bad = snapshot({"env/A": "1", "env/B": "2"}), snapshot({"env/A": "9"}, env=ProbeResult("timeout"))
    assert kinds(good, bad) == {"env/A": "changed", "probes/env": "unknown"}


def test_a_probe_that_failed_although_it_told_no_fact_on_the_good_side_is_one_change():
    assert kinds(snapshot(), snapshot(nvml=ProbeResult("died"))) == {"probes/nvml": "unknown"}


def test_a_probe_that_failed_in_two_ways_is_unknown_on_both_sides():
    found = changes(snapshot(nvml=ProbeResult("denied")), snapshot(nvml=ProbeResult("timeout")))["probes/nvml"]
    assert (found.good, found.bad) == (Unknown("denied"), Unknown("timeout"))


def test_one_unknown_fact_is_one_change_at_its_own_path():
    good, bad = snapshot({"packages/x/text_version": "1"}), snapshot({"packages/x/text_version": unknown("timeout", "x: did not answer")})
    assert kinds(good, bad) == {"packages/x/text_version": "unknown"}


def test_all_that_lies_below_an_unknown_part_is_told_once_with_its_count():
    good = snapshot({"servers/sglang/running": True, "servers/sglang/env/A": "1", "servers/sglang/env/B": "2"})
    found = changes(good, snapshot({"servers/sglang/running": True, "servers/sglang/env": unknown("denied")}))
    assert found.keys() == {"servers/sglang/env"}
    assert found["servers/sglang/env"].good == Known("2 facts")


def test_unknown_on_both_sides_for_one_reason_is_no_change_but_a_standing_gap():
    good, bad = snapshot({"env/A": unknown("denied", "old")}), snapshot({"env/A": unknown("denied", "new")})
    assert compare(good, bad) == ()
    assert [(gap.path, gap.status, gap.reason) for gap in standing_gaps(good, bad)] == [("env/A", "denied", "new")]


def test_a_probe_without_answer_on_both_sides_is_one_standing_gap():
    good, bad = snapshot(nvml=ProbeResult("denied")), snapshot(nvml=ProbeResult("denied"))
    assert [gap.path for gap in standing_gaps(good, bad)] == ["probes/nvml"]


def test_a_probe_that_was_not_planned_on_one_side_leaves_its_facts_unknown():
    good, bad = snapshot({"packages/x/verified": {"files": 1}}), without(snapshot(), "record")
    found = changes(good, bad)
    assert found.keys() == {"probes/record"}
    assert found["probes/record"].bad == Unknown("not_recorded", "record: was not asked")


def test_a_fact_that_no_probe_of_the_other_side_answers_for_is_unknown():
    good, bad = snapshot({"sources/sglang/files/a.py": "sha256:1 2"}), without(snapshot(), "sources")
    assert kinds(good, bad) == {"probes/sources": "unknown"}


def test_a_new_kind_of_fact_of_an_old_probe_keeps_both_sides_honest():
    old = replace(snapshot(), probes={"env": ProbeResult("ok", tells=("env/*",))})
    new = replace(snapshot({"shell/A": "1"}), probes={"env": ProbeResult("ok", tells=("env/*", "shell/*"))})
    change = changes(old, new)["probes/env"]
    assert (change.kind, isinstance(change.good, Unknown)) == ("unknown", True)


def test_a_volatile_fact_is_folded():
    change = changes(snapshot({"system/uptime_s": 1}), snapshot({"system/uptime_s": 2}))["system/uptime_s"]
    assert (change.is_folded, change.follows) == (True, None)


def test_a_glob_of_either_side_makes_a_fact_volatile():
    good = snapshot({"os/id": "a"})
    assert changes(good, replace(snapshot({"os/id": "b"}), volatile=("os/id",)))["os/id"].is_folded


def test_facts_of_a_server_that_does_not_run_are_unknown_and_not_removed():
    good = snapshot({**start(94, 20, 0.8, running=True), "servers/sglang/scheduler_TP0/env/A": "1"})
    found = changes(good, snapshot({**start(94, 20, 0.8), **no_server()}))
    assert not [path for path, change in found.items() if change.kind == "removed"]
    assert found["servers/sglang/given"].good == Known("1 facts")


def test_a_kind_of_server_that_is_named_on_one_side_only_and_runs_on_neither_is_no_change():
    bad = snapshot({key.replace("sglang", "vllm"): value for key, value in no_server().items()})
    assert compare(snapshot(), bad) == ()


def test_a_companion_of_an_unknown_fact_is_not_removed():
    good = snapshot({"packages/x/text_version": "1", "packages/x/text_file": "/x/version.py"})
    assert kinds(good, snapshot({"packages/x/text_version": unknown("timeout")})) == {"packages/x/text_version": "unknown"}


def test_a_secret_under_another_key_is_unknown():
    good = replace(snapshot({"env/API_KEY": {"keyed": "hmac-sha256:1"}}), redaction={"key_id": "a"})
    bad = replace(snapshot({"env/API_KEY": {"keyed": "hmac-sha256:2"}}), redaction={"key_id": "b"})
    assert kinds(good, bad) == {"env/API_KEY": "unknown"}


def test_a_secret_inside_a_text_under_another_key_is_unknown():
    good = replace(snapshot({"kernel/cmdline": "x=[secret hmac-sha256:0a]"}), redaction={"key_id": "a"})
    bad = replace(snapshot({"kernel/cmdline": "x=[secret hmac-sha256:0b]"}), redaction={"key_id": "b"})
    assert kinds(good, bad) == {"kernel/cmdline": "unknown"}


def test_a_secret_under_the_same_key_is_changed():
    assert kinds(snapshot({"env/T": {"keyed": "1"}}), snapshot({"env/T": {"keyed": "2"}})) == {"env/T": "changed"}


def test_a_masked_secret_against_a_keyed_one_is_unknown():
    assert kinds(snapshot({"env/T": {"keyed": "1"}}), snapshot({"env/T": {"masked": True}})) == {"env/T": "unknown"}


def test_a_local_label_that_one_source_leaves_out_is_no_change():
    dump = Snapshot(
        "gpu-a", None, source="pip-list", probes={"pip-list": ProbeResult("ok", tells=("packages/*/version",))}, facts={"packages/torch/version": "2.6.0"}
    )
    assert "packages/torch/version" not in changes(snapshot({"packages/torch/version": "2.6.0+cu124"}), dump)


def test_a_local_label_that_came_or_went_in_one_source_is_another_build():
    assert kinds(snapshot(package("torch", "2.6.0")), snapshot(package("torch", "2.6.0+cu126")))["packages/torch/version"] == "changed"


def test_a_nested_value_tells_how_it_differs():
    good, bad = snapshot({"packages/x/requires": ["a", "b<2"]}), snapshot({"packages/x/requires": ["a", "b<3"]})
    assert changes(good, bad)["packages/x/requires"].detail == "- b<2, + b<3"


def test_twenty_thousand_facts_are_compared_at_once():
    good = snapshot({f"sources/sglang/files/d{number % 97}/f{number}.py": f"sha256:{number} 1" for number in range(20000)})
    bad = snapshot({path: value if number % 2 else value + "0" for number, (path, value) in enumerate(good.facts.items())})
    begin = time.perf_counter()
    assert len(compare(good, bad)) == 10000
    assert time.perf_counter() - begin < 20
