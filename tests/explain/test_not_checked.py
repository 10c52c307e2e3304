from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.explain.settle import command_for_all
from driftwatch.model import ProbeResult, Symptom
from tests.explain.cases import OOM, case_of, no_server, package, snapshot, start, told, unknown, without


def entries(good, bad, symptom=None):
    return {one.subject.name: one for one in told(good, bad, symptom).not_checked}


def test_a_probe_that_hung_is_one_entry_with_what_is_known_of_it():
    hung = ProbeResult(
        "timeout", deadline_s=20, reason="nvmlInit did not return", left_behind=({"pid": 51877, "state": "D", "wchan": "rwsem_down_read_slowpath"},)
    )
    one = entries(snapshot({"gpus/GPU-1/name": "x"}), snapshot({"gpus/count": 8}, nvml=hung), OOM)["nvml"]
    assert (one.status, one.side, one.reason, one.matters) == ("timeout", "bad", "nvmlInit did not return", True)
    assert one.detail == "pid 51877 left behind in state D, rwsem_down_read_slowpath; told before: 1 fact"
    assert one.settle == "driftwatch snapshot gpu-a --only nvml --deadline nvml=80"


def test_a_denied_probe_is_asked_again_as_root():
    assert entries(snapshot({"env/A": "1"}), snapshot(env=ProbeResult("denied")))["env"].settle == "driftwatch snapshot root@gpu-a --only env"


@pytest.mark.parametrize(("more", "command"), [
    ({"agent": {"uid": 0}}, "driftwatch snapshot gpu-a"),
    ({"host": "here"}, "sudo driftwatch snapshot"),
    ({"host": "here", "agent": {"uid": 0}}, "driftwatch snapshot"),
    ({"host": None, "source": "pip-list"}, "driftwatch snapshot root@HOST"),
    ({"extra": {"view": {"inside": "docker", "container": "web", "of": "gpu-a"}}}, "driftwatch snapshot docker://web@gpu-a"),
    ({"extra": {"view": {"inside": "docker", "container": "web", "of": "here"}}}, "driftwatch snapshot docker://web"),
    ({"extra": {"view": {"inside": "kubernetes", "namespace": "ml", "pod": "web-0"}}}, "driftwatch snapshot kubectl://ml/web-0"),
    ({"extra": {"view": {"inside": "slurm step", "job": "7"}}}, "driftwatch snapshot slurm://gpu-a"),
])
def test_the_command_that_asks_again_works_where_it_is_pasted(more, command):
    case = replace(case_of(snapshot(), replace(snapshot(), **more)), here="here")
    assert command_for_all(case, ["env"], is_denied=True) == f"{command} --only env"


def test_the_good_side_is_past_and_cannot_be_asked_again():
    assert entries(snapshot(env=ProbeResult("timeout")), snapshot({"env/A": "1"}))["env"].settle == ""


def test_whether_a_gap_matters_depends_on_the_symptom():
    good, bad = snapshot(package("torch", "1")), snapshot(package("torch", "1"), versions=ProbeResult("timeout"))
    assert {klass: entries(good, bad, Symptom(klass, None))["versions"].matters for klass in ("oom", "import-error")} == {"oom": False, "import-error": True}


def test_what_matters_comes_first():
    found = told(snapshot(package("torch", "1")), snapshot(versions=ProbeResult("timeout"), nvml=ProbeResult("timeout")), OOM)
    assert [one.matters for one in found.not_checked] == sorted((one.matters for one in found.not_checked), reverse=True)


def test_many_facts_of_one_probe_are_one_entry():
    good = snapshot({f"packages/p{number}/text_version": "1" for number in range(300)})
    bad = snapshot({f"packages/p{number}/text_version": unknown("error", f"p{number}: I/O error") for number in range(300)})
    found = entries(good, bad)
    assert found.keys() == {"versions"}
    assert found["versions"].reason.startswith("p0/text_version, p1/text_version, p10/text_version, p100/text_version and 296 more: p0: I/O error")


def test_one_package_that_hung_is_named_itself():
    good, bad = (
        snapshot(package("sgl-kernel", "1", text_version="1")),
        snapshot(package("sgl-kernel", "1", text_version=unknown("timeout", "sgl_kernel: did not answer"))),
    )
    assert entries(good, bad)["sgl-kernel"].reason == "text_version: sgl_kernel: did not answer"


def test_a_server_that_does_not_run_is_one_entry():
    good = snapshot(
        {**start(94, 20, 0.8, running=True), "servers/sglang/given/tp_size": "8", "servers/sglang/env/A": "1", "servers/sglang/limits/open_files": 1}
    )
    assert [one.subject.name for one in told(good, snapshot({**start(94, 20, 0.8), **no_server()}), OOM).not_checked] == ["servers"]


def test_a_log_that_nobody_named_can_still_be_named_for_the_good_side():
    good = snapshot({"servers/sglang/running": True, "servers/sglang/log": unknown("not_recorded", "no server log was named: --log FILE")})
    found = told(good, snapshot({"servers/sglang/running": True, "servers/sglang/log/path": "/x"}))
    assert found.not_checked[0].settle == "driftwatch snapshot gpu-a --only servers --log FILE"


def test_a_partial_snapshot_leaves_the_rest_not_checked():
    found = entries(snapshot({**package("torch", "1"), "driver/module/version": "1"}), without(snapshot(package("torch", "1")), "driver"))
    assert (found["driver"].status, found["driver"].side) == ("not_recorded", "bad")


def test_there_are_never_more_than_twenty_entries():
    names = [f"p{number}" for number in range(60)]
    probes = {name: ProbeResult("timeout", tells=(f"{name}/*",)) for name in names}
    assert len(told(snapshot(), snapshot(**{name: ProbeResult("ok", tells=(f"{name}/*",)) for name in names})).not_checked) == 0
    assert len(told(snapshot(**{name: ProbeResult("ok", tells=(f"{name}/*",)) for name in names}), snapshot(**probes)).not_checked) == 20


@pytest.mark.parametrize(("side", "told_as"), [("bad", "broken"), ("good", "good")])
def test_a_side_that_was_not_reached_is_one_question_and_the_verdict_tells_why(side, told_as):
    whole = snapshot({**no_server(), **package("torch", "2.9.1")})
    probes = {name: ProbeResult("lost", reason="no answer on port 22 within 10 s", tells=one.tells) for name, one in whole.probes.items()}
    lost = replace(whole, facts={}, probes=probes)
    found = told(*((whole, lost) if side == "bad" else (lost, whole)))
    assert found.word == "UNKNOWN"
    assert found.verdict == f"The {told_as} side was not reached: no answer on port 22 within 10 s. Nothing of it is known, so nothing was compared."
    assert [(one.subject.name, one.status, one.side, one.reason) for one in found.not_checked] == [
        ("every probe", "lost", side, "no answer on port 22 within 10 s")]


def test_many_probes_are_asked_again_in_words_that_a_terminal_holds():
    names = [f"a-long-probe-{number}" for number in range(9)]
    words = command_for_all(case_of(snapshot(), snapshot()), names, is_denied=False).split()
    assert ",".join(words[4::2]).split(",") == names
    assert set(words[3::2]) == {"--only"}
    assert max(map(len, words)) <= 64
