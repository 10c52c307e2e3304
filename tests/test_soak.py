"""The soak (benchmarks/soak.py): a very short one runs through, and each of its judges can say no."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.soak import order
from benchmarks.soak_faults import ADDRESSES_ASKED, ENV_ASKED, HOSTS, Trial
from benchmarks.soak_judge import accounted, ill_told, untrue
from benchmarks.soak_watch import Births, forget_peak, growth, make_old, peak_mib, temporaries
from driftwatch.capture.plan import plan_for
from driftwatch.model import ProbeResult, Snapshot

ROOT = Path(__file__).parents[1]
SEED = "30"
SILENT_HOST, REFUSING_HOST = f"gpu-{HOSTS - 1}", f"gpu-{HOSTS}"
NAMES = [f"gpu-{number:02}" for number in range(1, HOSTS + 1)]
LAB = SimpleNamespace(hosts=dict(zip(NAMES, ADDRESSES_ASKED, strict=True)))


def answered(**facts):
    """Return a snapshot in which all that the soak asks of a host answered."""
    plan = plan_for(only=ENV_ASKED)
    probes = {offer.probe.name: ProbeResult("ok", tells=offer.probe.tells) for offer in plan.asked if offer.probe.name in ENV_ASKED}
    left_out = {probe.name: ProbeResult("not_recorded", reason=why, tells=probe.tells) for probe, why in plan_for(skip=ENV_ASKED).left_out.values()}
    others = {offer.probe.name: ProbeResult("not_recorded", reason="not asked", tells=offer.probe.tells) for offer in plan_for(skip=ENV_ASKED).asked}
    return Snapshot("gpu-01", "2026-03-02T10:00:00Z", probes={**others, **left_out, **probes}, facts={"env/A": "1", **facts})


def became(snapshot, name, result):
    return replace(snapshot, probes={**snapshot.probes, name: result})


def rows(**states):
    """Return the rows of an audit in which all that can be is the same, but for some; gpu_02 names gpu-02."""
    told = {**dict.fromkeys(NAMES, "same"), SILENT_HOST: "unreachable", REFUSING_HOST: "unreachable"}
    return [{"host": host, "state": states.get(host.replace("-", "_"), state)} for host, state in told.items()]


def test_two_snapshots_and_one_audit_under_faults_end_well(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("the soak needs root, for mount namespaces and a small disk")
    argv = [sys.executable, ROOT / "benchmarks/soak.py", "--seed", SEED, "--snapshots", "2", "--audits", "1"]
    ran = subprocess.run(argv, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, timeout=180, check=False)
    if "CalledProcessError" in ran.stderr and "mount" in ran.stderr:
        pytest.skip("no small disk can be mounted here")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, f"seed {SEED}: nothing failed"), ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_audits_are_spread_among_the_snapshots():
    assert [kind[0] for kind, _ in order(6, 2)] == list("ssasssas")


def test_a_probe_without_a_word_a_reason_or_an_answer_is_not_accounted_for():
    whole = answered()
    assert list(accounted(whole, ENV_ASKED)) == []
    silent = replace(whole, probes={name: one for name, one in whole.probes.items() if name != "env"})
    assert [len(list(accounted(one, ENV_ASKED))) for one in (
        silent, became(whole, "env", ProbeResult("lost")), became(whole, "env", ProbeResult("not_recorded", reason="not asked")),
        became(whole, "git", ProbeResult("ok")), became(whole, "env", ProbeResult("error", reason="our fault: x")),
    )] == [1, 1, 1, 1, 1]


def test_what_was_there_is_not_absent_and_may_be_unknown():
    good = answered()
    gone = replace(good, facts={})
    assert len(list(untrue(gone, good, ENV_ASKED))) == 1
    assert len(list(untrue(became(gone, "env", ProbeResult("absent")), good, ENV_ASKED))) == 2
    assert list(untrue(became(gone, "env", ProbeResult("timeout", reason="no answer")), good, ENV_ASKED)) == []


@pytest.mark.parametrize(("fault", "state", "is_wrong"), [
    ("stalls", "same", True), ("stalls", "unseen", False), ("drifts", "drift", False), ("floods", "drift", True), ("chatters", "same", False),
])
def test_a_sick_host_is_never_the_same_and_only_one_that_drifted_is_told_to_have(fault, state, is_wrong):
    trial = Trial("night", ("audit",), hosts={"gpu-02": fault})
    assert bool(list(ill_told(rows(gpu_02=state), trial, LAB))) is is_wrong


def test_a_host_without_a_fault_has_not_drifted_and_one_that_is_not_there_is_out_of_reach():
    trial = Trial("night", ("audit",))
    assert [len(list(ill_told(one, trial, LAB))) for one in (rows(), rows(gpu_03="drift"), rows(gpu_19="unseen"), rows()[1:])] == [0, 1, 1, 1]


LEAVES = """
import subprocess, sys, threading
from benchmarks.soak_watch import Watch
watch, stop = Watch(), threading.Event()
print(watch.left(0.2))
thread = threading.Thread(target=stop.wait, name="forgotten", daemon=True)
thread.start()
child = subprocess.Popen(["sleep", "60"])
kept = open(sys.argv[1], "w")
print(*watch.left(0.2), sep="\\n")
child.kill()
child.wait()
"""


def test_a_process_a_descriptor_and_a_thread_that_were_left_are_named(tmp_path):
    argv = [sys.executable, "-c", LEAVES, str(tmp_path / "kept")]  # a process of its own: the watch makes it a subreaper, and ours must stay what it is
    ran = subprocess.run(argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60, check=True)
    before, *left = ran.stdout.splitlines()
    assert (before, [one.split()[0] for one in left]) == ("[]", ["process", "descriptor", "thread"])
    assert "sleep 60" in left[0]
    assert str(tmp_path / "kept") in left[1]


def test_the_peak_of_memory_begins_anew():
    forget_peak()
    before = peak_mib()
    block = bytearray(b"x" * (64 << 20))
    grown = peak_mib()
    del block
    forget_peak()
    assert grown > before + 60
    assert peak_mib() < grown - 30


def test_growth_is_that_of_the_last_quarter_over_the_first():
    assert growth([10, 12, 50, 11, 10, 10, 13, 15]) == 15 / 12
    assert growth([1.0]) is None


def test_temporary_files_are_seen_as_they_are_made_and_can_be_made_old(tmp_path):
    (tmp_path / "a").mkdir()
    births = Births(tmp_path)
    (tmp_path / "a/.tmp-1-aa").touch()
    (tmp_path / "a/other").touch()
    assert births.count(1.0) == 1
    births.close()
    make_old(temporaries(tmp_path))
    assert (tmp_path / "a/.tmp-1-aa").stat().st_mtime < (tmp_path / "a/other").stat().st_mtime - 3600
