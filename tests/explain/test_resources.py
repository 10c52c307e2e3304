from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.explain.words import TIMES
from driftwatch.model import ProbeResult
from tests.explain.below import cards, host, symptom
from tests.explain.cases import snapshot, suspect, told, unknown

NO_FILES = "OSError: [Errno 24] Too many open files"
NO_SHM = "include/shm.h:28 NCCL WARN Call to posix_fallocate failed: No space left on device"


def files(soft):
    return host({"servers/vllm/running": True, "servers/vllm/limits/open_files": {"hard": 1048576, "soft": soft}})


def test_the_limit_that_the_errno_names_is_blamed():
    one = told(files(131072), files(1024), symptom("startup-crash", NO_FILES)).suspects[0]
    assert (one.subject.kind, one.subject.name, one.good, one.bad, one.strength) == ("limit", "open files limit (nofile)", "131,072", "1,024", "strong")


def test_a_limit_that_is_named_and_roomy_is_not():
    one = suspect(told(files(1048576), files(1048576), symptom("startup-crash", NO_FILES)), "limit", "open files limit (nofile)")
    assert one is None or one.confidence < 0.5


def test_a_limit_that_rose_is_no_suspect():
    assert told(files(1024), files(131072), symptom("startup-crash")).suspects == ()


def test_an_unchanged_shared_memory_meets_the_library_that_moved():
    good, bad = (host({"shm/size_bytes": 64 << 20, "os_packages/libnccl2/version": version}) for version in ("2.6.4-1", "2.7.3-1"))
    found = told(good, bad, symptom("startup-crash", NO_SHM))
    assert [(one.subject.kind, one.subject.name) for one in found.suspects] == [("limit", "/dev/shm"), ("nccl", "libnccl2")]
    assert "libnccl2 2.6.4-1 → 2.7.3-1" in found.verdict


def test_a_full_disk_is_not_taken_for_shared_memory():
    good, bad = (host({"disks/%2Fdata/size_bytes": 10**12, "disks/%2Fdata/free_bytes": free, "shm/size_bytes": 64 << 20}) for free in (10**11, 4096))
    found = told(good, bad, symptom("runtime-crash", "OSError: [Errno 28] No space left on device"))
    assert [(one.subject.kind, one.subject.name) for one in found.suspects] == [("disk", "/data")]


def test_a_memory_limit_of_the_group_that_fell_is_told():
    good, bad = (host({"cgroup/own/memory_max_bytes": most}) for most in ("max", 64 << 30))
    one = told(good, bad, symptom("runtime-crash", "Killed")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("limit", "memory.max of our own group", "strong")


def test_a_limit_of_the_container_that_the_server_shares_with_us_is_told_once():
    tops = ("cgroup/own", "cgroup/servers/sglang")
    good, bad = (host({f"{top}/{what}": value for top in tops for what, value in (("group", "/"), ("memory_max_bytes", most))}) for most in ("max", 64 << 30))
    found = told(good, bad, symptom("runtime-crash", "Killed"))
    assert [one.subject.name for one in found.suspects] == ["memory.max of sglang"]


def unified(cached, free, name="NVIDIA GB10"):
    memory = {"total_kib": 127_600_000, "Cached_kib": cached, "MemFree_kib": free, "MemAvailable_kib": 118_000_000}
    own = {} if name == "NVIDIA GB10" else {"memory_total_mib": 81920}
    return host({**cards(name=name, **own), **{f"system/memory/{key}": value for key, value in memory.items()}})


def test_page_cache_that_fills_shared_memory_is_named_though_it_counts_as_available():
    one = told(unified(6_200_000, 112_000_000), unified(118_000_000, 1_200_000), symptom("oom", "Killed")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("host-memory", "page cache", "strong")


@pytest.mark.parametrize(("name", "klass"), [("NVIDIA H100", "oom"), ("NVIDIA GB10", None)])
def test_page_cache_is_no_trouble_beside_a_gpu_with_its_own_memory_nor_without_a_symptom(name, klass):
    asked = symptom(klass) if klass else None
    assert told(unified(6_200_000, 112_000_000, name), unified(118_000_000, 1_200_000, name), asked).suspects == ()


def test_processes_that_the_kernel_killed_are_told_once_they_are_new():
    log = {"kernel_log/oom_kill": {"count": 1, "lines": ["Out of memory: Killed process (python3)"]}}
    assert told(host(), host(log), symptom("runtime-crash", "Killed")).suspects[0].subject.name == "memory of the host"
    assert told(host(log), host(log), symptom("runtime-crash", "Killed")).suspects == ()


def mount(kind="ext4", source="/dev/nvme0n1", answers=None, **more):
    answers = True if answers is None else answers
    return host({"mounts/%2Fdata/type": kind, "mounts/%2Fdata/source": source, "mounts/%2Fdata/answers": answers, "mounts/%2Fdata/holds": ["model"], **more})


def test_a_mount_that_gives_no_answer_is_blamed_with_the_tasks_that_wait_in_it():
    more = {
        "tasks/stuck/VLLM::Worker": {"count": 4, "wchan": "rpc_wait_bit_killable"},
        "kernel_log/nfs": {"count": 2, "lines": ["nfs: server nas not responding"]},
    }
    one = told(mount(), mount("nfs4", "nas:/data", unknown("timeout", "/data: did not answer"), **more), symptom("hang")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("mount", "/data", "strong")
    assert "4 tasks sit in uninterruptible sleep inside a file system: VLLM::Worker" in [term.says for term in one.because]


def test_a_mount_that_was_not_asked_is_not_blamed():
    assert told(mount(), mount(answers=unknown("not_recorded", "not recorded")), symptom("hang")).suspects == ()


def test_a_new_mount_that_nothing_uses_is_no_suspect():
    bad = host({"mounts/%2Fmnt%2Flogs/type": "nfs4", "mounts/%2Fmnt%2Flogs/source": "nas:/logs", "mounts/%2Fmnt%2Flogs/answers": True})
    assert told(host(), bad, symptom("startup-crash")).suspects == ()


def cold(cached, text, kind="nfs4"):
    good, bad = (mount(kind, "nas:/models", **{"system/memory/Cached_kib": now, "kernel/booted_at": at}) for now, at in ((68_000_000, "a"), (cached, "b")))
    return told(good, bad, symptom("startup-crash", text))


def test_a_model_on_the_network_behind_an_empty_cache_is_slow_to_load():
    one = cold(900_000, "timed out waiting for llama runner to start").suspects[0]
    assert (one.subject.kind, one.subject.name, one.good, one.bad) == ("mount", "/data", "cache warm", "cache cold")


@pytest.mark.parametrize(("cached", "text", "kind"), [(900_000, "KeyError: 'x'", "nfs4"), (60_000_000, "timed out", "nfs4"), (900_000, "timed out", "ext4")])
def test_an_empty_cache_alone_is_what_every_boot_leaves(cached, text, kind):
    assert cold(cached, text, kind).suspects == ()


def library(files, mixed=None, **more):
    return host({"libraries/libcudnn/files": files, "libraries/libcudnn/mixed": mixed, **more})


def test_one_family_from_two_folders_names_the_file_that_is_new():
    wheel, system = "/venv/nvidia/cudnn/lib/libcudnn.so.9", "/usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9.23.0"
    bad = library([system, wheel], ["9.19.0 (/venv/nvidia/cudnn/lib)", "9.23.0 (/usr/lib/x86_64-linux-gnu)"])
    one = told(library([wheel]), bad, symptom("runtime-crash", "RuntimeError: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("library", system, "strong")


def test_a_mixture_of_before_makes_the_baseline_doubtful():
    snap = library(["/a/x", "/b/y"], ["1 (/a)", "2 (/b)"])
    assert told(snap, snap, symptom("runtime-crash")).doubts[0].startswith("libcudnn was mapped from several folders")


def test_a_compatibility_libcuda_that_comes_first_is_named():
    good, bad = (
        host({"loader/picks/libcuda.so.1": path, "driver/module/version": "570.1"})
        for path in ("/usr/lib/x86_64-linux-gnu/libcuda.so.570.1", "/usr/local/cuda-12.4/compat/libcuda.so.550.54")
    )
    one = told(good, bad, symptom("startup-crash", "Error 803: system has unsupported display driver / cuda driver combination")).suspects[0]
    assert (one.subject.kind, one.bad) == ("library", "/usr/local/cuda-12.4/compat/libcuda.so.550.54")


def cache(**more):
    return host({"caches/triton/path": "/data/cache/triton", "caches/triton/files": 12, **{f"caches/triton/{name}": value for name, value in more.items()}})


def test_a_cache_with_a_file_that_was_cut_off_is_blamed():
    one = told(
        cache(), cache(empty_files=["AB/moe.json"]), symptom("runtime-crash", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)")
    ).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("cache", "/data/cache/triton", "strong")
    assert "/data/cache/triton/AB/moe.json" in one.verdict


def test_a_cache_that_was_damaged_before_is_not():
    snap = cache(damaged_files=["AB/moe.json"])
    assert told(snap, snap, symptom("runtime-crash")).suspects == ()


def test_ranks_that_no_longer_have_a_variable_alike_are_told():
    good, bad = (
        host({"servers/torchrun/worker/env/CUDA_VISIBLE_DEVICES": value, "servers/torchrun/running": True, "slurm/version": version})
        for value, version in (("0,1,2,3", "20.11"), (["0", "1", "2", "3"], "21.08"))
    )
    one = told(good, bad, symptom("startup-crash", "RuntimeError: GPU devices for host do not match")).suspects[0]
    assert (one.subject.name, one.strength) == ("CUDA_VISIBLE_DEVICES", "strong")
    assert any(term.says.startswith("its ranks no longer have it alike: 4 values") for term in one.because)


def test_workers_that_outlived_their_server_are_named_where_nvml_lists_nobody():
    one = told(host(), host({"holders/sglang::scheduler/orphans": 8, "holders/sglang::scheduler/pids": [11, 12]}), symptom("oom")).suspects[0]
    assert (one.subject.kind, one.subject.name) == ("gpu-process", f"sglang::scheduler {TIMES}8")


def test_a_library_of_which_the_text_says_that_it_lacks_a_version_is_named_by_the_file_that_is_found_now():
    good, bad = (
        host({"loader/picks/libstdc++.so.6": path}) for path in ("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", "/opt/conda/lib/libstdc++.so.6.0.29")
    )
    one = told(good, bad, symptom("import-error", "ImportError: /opt/conda/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("library", "/opt/conda/lib/libstdc++.so.6.0.29", "strong")


def test_an_extension_of_a_distribution_is_left_to_the_rules_for_packages():
    text = "ImportError: /venv/lib/python3.12/site-packages/torch/lib/libtorch.so: cannot open shared object file"
    assert told(host(), host(), symptom("import-error", text)).suspects == ()


def test_a_limit_that_was_unlimited_and_that_nothing_orders_otherwise_is_no_likely_one():
    unit = {"limits/unit/vllm.service/LimitMEMLOCK": "infinity"}
    limits = [f"servers/vllm/limits/{name}" for name in ("locked_memory_bytes", "address_space_bytes")]
    good = host({**unit, **dict.fromkeys(limits, "unlimited"), "kernel/release": "6.17.0-1032"})
    bad = host({**unit, **dict.fromkeys(limits, unknown("not_recorded")), "kernel/release": "7.0.0-1019"})
    found = told(good, bad, symptom("startup-crash", "NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory")).suspects
    assert (found[0].subject.kind, {one.strength for one in found[1:]} <= {"weak"}) == ("kernel", True)


def test_a_cold_cache_is_no_cause_where_the_kernel_killed_for_want_of_memory():
    top = "mounts/%2Fmodels"
    facts = {f"{top}/type": "nfs4", f"{top}/source": "nas:/m", f"{top}/holds": ["model"]}
    good = host({**facts, "system/memory/Cached_kib": 65 << 20})
    bad = host({**facts, "system/memory/Cached_kib": 17 << 20, "kernel_log/oom_kill": {"count": 1, "lines": ["Killed process 9 (ollama)"]}})
    found = told(good, bad, symptom("startup-crash", "timed out waiting for llama runner to start")).suspects
    assert "mount" not in [one.subject.kind for one in found]


NET = {"os_packages/libibverbs1/version": "39.0-1", "os_packages/zlib1g/version": "1.2"}
CURL = {"os_packages/curl/version": "7.81", "os_packages_listed/like": [["ibverbs", "curl"]], "os_packages_listed/to": "openssh-client"}


@pytest.mark.parametrize(
    ("listed", "is_blamed"), [(CURL, True), ({**CURL, "os_packages_listed/to": "curl"}, False), ({"os_packages/curl/version": "7"}, False)])
def test_a_package_of_the_wire_that_an_ordered_list_passes_over_is_gone(listed, is_blamed):
    good, bad = (replace(snapshot(facts), probes={"transcript": ProbeResult("ok")}) for facts in ({**NET, **CURL}, listed))
    found = suspect(told(good, bad, symptom("slow")), "network", "libibverbs1")
    assert (found is not None) is is_blamed
