"""A good side that was not read is no good side that was clean: what the bad side alone tells weighs less there, and is never told as new."""

from __future__ import annotations

import re

import pytest

from driftwatch.model import ProbeResult
from tests.explain.below import ADDRESSES, GPUS, host, symptom
from tests.explain.cases import told, unknown

DENIED = ProbeResult("denied", reason="root only")
HOLDER = {"count": 1, "used_mib": 9000, "pids": [7]}
CARD = {f"gpus/{GPUS[0]}/pci": ADDRESSES[0], f"gpus/{GPUS[0]}/ecc/current": "Enabled"}
LOGGED = {"count": 3, "lines": ["blk_update_request: I/O error, dev nvme0n1"]}
REFUSED = {"count": 1, "lines": ["nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client"]}
OF_GROUP = {"count": 1, "lines": ["Memory cgroup out of memory: Killed process 7 (python)"]}
OF_HOST = {"count": 1, "lines": ["Out of memory: Killed process 7 (python)"]}
SERVICE = "holders/nvidia-cuda-mps-server"
CACHE = {"caches/triton/path": "/root/.triton/cache", "caches/triton/files": 9}
LIBRARY = {"libraries/libcudnn/files": ["/a/libcudnn.so.9", "/b/libcudnn.so.9"], "libraries/libcudnn/mixed": ["9.19 (/a)", "9.23 (/b)"]}
MIG = {f"gpus/{GPUS[0]}/mig/current": "Enabled", f"gpus/{GPUS[0]}/mig/devices": 0}
OBJECT = "objects/flash-attn/flash_attn_2_cuda.so/unresolved"
OBJECTS = {"packages/flash-attn/version": "2.8", "packages/torch/version": "2.9"}


@pytest.mark.parametrize(
    ("facts", "more", "silent"),
    [
        ({}, {"kernel_log/io_error": LOGGED}, {"kernel_log": DENIED}),
        ({}, {"kernel_log/module_refused": REFUSED}, {"kernel_log": DENIED}),
        ({}, {"kernel_log/oom_kill": OF_GROUP}, {"kernel_log": DENIED}),
        ({}, {"kernel_log/oom_kill": OF_HOST}, {"kernel_log": DENIED}),
        (CARD, {f"kernel_log/xid/{ADDRESSES[0]}/79": 1}, {"kernel_log": DENIED}),
        ({}, {f"{SERVICE}/count": 1}, {"holders": DENIED}),
        ({}, {"holders/python3/orphans": 2, "holders/python3/count": 2}, {"holders": DENIED}),
        (CACHE, {"caches/triton/empty_files": ["a/b.json"]}, {}),
        ({"loader/order": ["/usr/lib"]}, {"loader/picks/libcuda.so.1": "/usr/local/cuda/compat/libcuda.so.1"}, {}),
        (CARD, MIG, {}),
        (CARD, {f"gpus/{GPUS[0]}/event_reasons": ["hw_slowdown"]}, {}),
        (CARD, {f"gpus/{GPUS[0]}/unattributed_mib": 9000, f"gpus/{GPUS[1]}/holders/Xorg": {"count": 1, "used_mib": 9}}, {}),
        (OBJECTS, {OBJECT: {"count": 1, "some": ["c10::Error"]}}, {"objects": DENIED}),
    ],
    ids=lambda given: next(iter(given), "") if isinstance(given, dict) else "",
)
def test_what_the_good_side_does_not_tell_weighs_less_than_what_it_is_known_not_to_have(facts, more, silent):
    shown = {path: value for path, value in facts.items() if path not in more}
    always = {f"gpus/{GPUS[1]}/holders/Xorg": {"count": 1, "used_mib": 9}}
    silent_facts = {} if silent else dict.fromkeys(more, unknown("timeout"))
    bad = host({**always, **facts, **more}, objects=ProbeResult("ok"))
    clean = told(host({**always, **shown}, objects=ProbeResult("ok")), bad, symptom("startup-crash")).suspects[0]
    found = told(host({**always, **shown, **silent_facts, **always}, **{"objects": ProbeResult("ok"), **silent}), bad, symptom("startup-crash"))
    same = next(one for one in found.suspects if one.subject == clean.subject)
    words = " ".join(term.says for term in same.because)
    assert same.confidence < clean.confidence
    assert "on the good side is not known" in words
    assert re.search("side: none|no fault logged|was not before|side from one", words) is None
    assert same.good not in ("none", "no fault logged", "one folder", "resolved", "whole", "not throttled", "off")


def test_a_suspect_that_is_listed_is_never_the_same():
    found = told(host(kernel_log=DENIED), host({"kernel_log/io_error": LOGGED}), symptom("hang"))
    assert (found.word, found.exit_code) == ("UNKNOWN", 3)
    assert found.suspects[0].subject.name == "I/O errors"


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (host({"os/id": "x"}, kernel_log=ProbeResult("timeout")), host({"os/id": "x"}, kernel_log=ProbeResult("timeout"))),
        (host({"os/id": "x"}, loader_order=ProbeResult("timeout")), host({"os/id": "x"})),
        (host({"os/id": "x"}, firmware=ProbeResult("died")), host({"os/id": "x"})),
    ],
    ids=["both", "good", "good, of no rule"],
)
def test_sides_of_which_a_probe_gave_no_answer_are_never_the_same(good, bad):
    assert told(good, bad).word == "UNKNOWN"


def test_what_one_user_may_not_read_on_either_side_leaves_a_healthy_host_the_same():
    snap = host({"os/id": "x"}, kernel_log=DENIED, holders=DENIED)
    assert (told(snap, snap).word, told(snap, snap).exit_code) == ("SAME", 0)


def test_the_same_counts_the_probes_of_both_sides():
    good = host({"os/id": "x", "tasks/stuck/x": unknown("denied")}, kernel_log=DENIED)
    found = told(good, host({"os/id": "x", "tasks/stuck/x": unknown("denied")}, kernel_log=ProbeResult("denied"), firmware=ProbeResult("absent")))
    many = len(good.probes)
    assert found.verdict.startswith(f"{many - 1} of {many} probes, ")


def cdi(module, driver):
    return host({"driver/module/version": module, "container_runtime/cdi/%2Fetc%2Fcdi%2Fnvidia.yaml": {"driver": [driver]}})


def test_a_device_list_of_another_driver_that_was_there_before_makes_the_baseline_doubtful():
    found = told(cdi("580.1", "570.2"), cdi("580.1", "570.2"), symptom("startup-crash"))
    assert (found.suspects, found.doubts) == ((), ("on the good side /etc/cdi/nvidia.yaml already named libraries of driver 570.2, and 580.1 was loaded",))


def test_libraries_that_were_mixed_otherwise_before_make_the_baseline_doubtful():
    good = host({**LIBRARY, "libraries/libcudnn/mixed": ["9.10 (/a)", "9.23 (/c)"]})
    found = told(good, host(LIBRARY), symptom("runtime-crash"))
    assert (found.suspects, found.doubts) == ((), ("libcudnn was mapped from several folders on the good side already: 9.10 (/a) and 9.23 (/c)",))


@pytest.mark.parametrize(("booted", "is_told"), [("2026-03-01T08:00:00Z", True), ("2026-02-01T08:00:00Z", False), (unknown("denied"), False)])
def test_a_boot_is_told_only_where_it_is_known(booted, is_told):
    facts = {"models/m/path": "/data/m", "mounts/%2Fdata/type": "nfs4", "kernel/booted_at": "2026-02-01T08:00:00Z"}
    good, bad = ({**facts, "system/memory/Cached_kib": kib, **CACHE} for kib in (400 << 20, 1 << 20))
    found = told(host(good), host({**bad, "kernel/booted_at": booted, "caches/triton/empty_files": ["x"]}), symptom("slow"))
    words = " ".join(f"{one.verdict} {[term.says for term in one.because]}" for one in found.suspects)
    assert "page cache" in words
    assert "damaged file" in words
    assert ("boot" in words) is is_told


def run(at, name):
    return {f"os_changes/{at}": {"at": at, "tool": "apt", "by": "ops", "packages": {name: ["1", "2"]}}}


def test_a_run_of_a_package_tool_is_new_only_where_the_good_side_could_have_told_it():
    bad = host({**run("2019-05-01T10:00:00Z", "docker-ce"), "os_packages/docker-ce/version": "2"})
    found = told(host({"os_packages/docker-ce/version": "1"}, os_changes=DENIED), bad)
    assert found.suspects[0].carrier == ""
    later = host({**run("2026-03-02T11:00:00Z", "docker-ce"), "os_packages/docker-ce/version": "2"})
    assert "apt by ops" in told(host({"os_packages/docker-ce/version": "1"}, os_changes=DENIED), later).suspects[0].carrier


def test_each_package_of_the_container_toolkit_goes_back_to_its_own_version():
    new, one, other = (f"os_packages/{name}/version" for name in ("libnvidia-container-tools", "libnvidia-container1", "nvidia-container-toolkit"))
    found = told(host({one: "1.17.3-1", other: "1.17.4-1"}), host({new: "1.19.1-1", one: "1.19.1-1", other: "1.19.1-1"}))
    assert [command.run for command in found.suspects[0].commands if command.label == "try"] == [
        "apt-get install --allow-downgrades libnvidia-container1=1.17.3-1 nvidia-container-toolkit=1.17.4-1"]


def test_two_long_names_stay_two():
    name = "/etc/cdi/" + "a" * 120
    facts = {f"container_runtime/cdi/{one.replace('/', '%2F')}": {"driver": ["570.2"]} for one in (f"{name}1.yaml", f"{name}2.yaml")}
    found = told(host({"driver/module/version": "580.1"}), host({"driver/module/version": "580.1", **facts}), symptom("startup-crash"))
    assert len({one.subject for one in found.suspects if one.subject.name.startswith("CDI")}) == 2
