from __future__ import annotations

import pytest

from tests.explain.below import GPUS, cards, host, symptom
from tests.explain.cases import places, suspect, told, unknown

BUSY = "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable"


def modes(mode, **more):
    return host({**cards(compute_mode=mode, **more), f"gpus/{GPUS[1]}/holders/jupyter": {"count": 1, "pids": [7], "used_mib": 900}})


def test_a_card_that_was_set_to_one_process_is_blamed_with_the_process_that_is_on_it():
    one = told(modes("Default"), modes(("Default", "Exclusive_Process")), symptom("startup-crash", BUSY)).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("gpu", "compute mode of GPU 0000:41:00.0", "strong")
    assert "another process is on it: jupyter" in [term.says for term in one.because]


def test_cards_that_moved_alike_are_one_suspect():
    found = told(modes("Default"), modes("Prohibited"), symptom("startup-crash"))
    assert [one.subject.name for one in found.suspects] == ["compute mode of 2 of 2 GPUs"]


@pytest.mark.parametrize(("good", "bad", "klass"), [("Exclusive_Process", "Default", "startup-crash"), ("Default", "Exclusive_Process", "slow")])
def test_a_card_that_was_opened_or_a_symptom_that_no_refusal_makes_leaves_it_weak(good, bad, klass):
    assert all(one.strength == "weak" for one in told(modes(good), modes(bad), symptom(klass)).suspects)


def test_a_compute_mode_that_is_not_known_is_no_suspect():
    assert told(modes("Default"), modes(unknown("timeout", "nvidia-smi")), symptom("startup-crash", BUSY)).suspects == ()


@pytest.mark.parametrize(("klass", "is_likely"), [("wrong-output", True), ("startup-crash", False)])
def test_error_correction_that_was_switched_off_matters_for_what_comes_out(klass, is_likely):
    found = told(host(cards(ecc__current="Enabled")), host(cards(ecc__current="Disabled")), symptom(klass))
    assert (found.suspects[0].subject.name, found.suspects[0].confidence >= 0.5) == ("ECC mode of 2 of 2 GPUs", is_likely)


def sysctl(name, value, **more):
    return host({f"limits/sysctl/{name}": value, **more})


def test_a_setting_that_moves_pages_is_told_for_a_slow_server_with_its_counter():
    good, bad = (sysctl("kernel.numa_balancing", value, **{"memory/events/numa_pages_migrated": pages}) for value, pages in ((0, 0), (1, 9_000_000)))
    one = told(good, bad, symptom("slow")).suspects[0]
    assert (one.subject.kind, one.subject.name) == ("kernel", "kernel.numa_balancing")
    assert any("numa pages migrated 0 → 9,000,000" in term.says for term in one.because)


@pytest.mark.parametrize(("name", "good", "bad", "klass", "text"), [
    ("vm.max_map_count", 262144, 65530, "startup-crash", "OSError: [Errno 12] Cannot allocate memory"),
    ("kernel.pid_max", 4194304, 32768, "startup-crash", "RuntimeError: can't start new thread"),
    ("vm.overcommit_memory", 0, 2, "oom", "std::bad_alloc"),
    ("vm.zone_reclaim_mode", 0, 1, "slow", None),
    ("net.core.rmem_max", 134217728, 212992, "slow", None),
])
def test_a_setting_is_told_where_the_symptom_is_of_its_work(name, good, bad, klass, text):
    assert told(sysctl(name, good), sysctl(name, bad), symptom(klass, text)).suspects[0].subject.name == name


@pytest.mark.parametrize(("name", "good", "bad"), [
    ("vm.max_map_count", 65530, 1048576), ("net.ipv4.tcp_rmem", "4096 87380 6291456", "4096 131072 6291456"), ("kernel.dmesg_restrict", 0, 1),
    ("kernel.numa_balancing", None, 1),
])
def test_a_limit_that_rose_and_a_setting_of_no_work_are_no_suspects(name, good, bad):
    assert told(sysctl(name, good), sysctl(name, bad), symptom("slow")).suspects == ()


def test_a_setting_of_other_work_than_the_symptoms_stays_weak():
    found = told(sysctl("kernel.numa_balancing", 0), sysctl("kernel.numa_balancing", 1), symptom("import-error"))
    assert all(one.strength == "weak" for one in found.suspects)


BOOT = {"kernel/boot_id": "11-22"}
AGREES = {"fabricmanager/version": "575.51.03", "driver/module/version": "575.51.03", "services/nvidia-fabricmanager/active": "active"}
SHARED = "nvls.cc:301 NCCL WARN Cuda failure 1 'invalid argument'"


def fabric(since, boot="11-22"):
    return host({**AGREES, "kernel/boot_id": boot, "services/nvidia-fabricmanager/since": since})


def test_a_fabric_manager_that_was_restarted_under_the_gpus_is_blamed_for_what_goes_over_the_fabric():
    one = told(fabric("2026-03-01T09:00:00Z"), fabric("2026-03-04T03:00:00Z"), symptom("startup-crash", SHARED)).suspects[0]
    assert (one.subject.name, one.strength) == ("nvidia-fabricmanager", "strong")


def test_a_restart_is_neither_a_suspect_without_a_failure_nor_ruled_out():
    assert places(told(fabric("2026-03-01T09:00:00Z"), fabric("2026-03-04T03:00:00Z")), "nvidia-fabricmanager") == []


def test_a_restart_is_weak_beside_an_error_of_other_work():
    found = told(fabric("2026-03-01T09:00:00Z"), fabric("2026-03-04T03:00:00Z"), symptom("startup-crash", "ImportError: cannot import name 'x' from 'y'"))
    assert places(found, "nvidia-fabricmanager") == ["suspects"]
    assert found.suspects[0].strength == "weak"


def test_a_start_that_came_with_a_boot_leaves_it_ruled_out():
    found = told(fabric("2026-03-01T09:00:00Z"), fabric("2026-03-04T03:00:00Z", "33-44"), symptom("startup-crash", SHARED))
    assert places(found, "nvidia-fabricmanager") == ["ruled_out"]


def killed(count, most="max", lines=(), **more):
    log = {"kernel_log/oom_kill": {"count": len(lines), "lines": list(lines)}} if lines else {}
    group = {"group": "/system.slice/llm.service", "memory_max_bytes": most, "oom_kills": count}
    return host({**{f"cgroup/servers/sglang/{name}": value for name, value in group.items()}, "memory/oom_kills": count, **log, **more})


OF_GROUP, OF_HOST = "Memory cgroup out of memory: Killed process PID (python3)", "Out of memory: Killed process PID (python3)"


def test_processes_killed_at_their_groups_limit_blame_the_limit_and_not_the_host():
    order = {"limits/unit/llm.service/MemoryMax": "32G"}
    found = told(killed(0), killed(2, 32 << 30, [OF_GROUP], **order), symptom("oom", "Killed"))
    assert [(one.subject.kind, one.subject.name, one.strength) for one in found.suspects] == [("limit", "memory.max of sglang", "strong")]
    assert found.suspects[0].carrier == "ordered by unit/llm.service/MemoryMax"


def test_a_group_that_is_gone_is_told_by_the_order_that_moved():
    good, bad = host({"limits/unit/llm.service/MemoryMax": "200G"}), host({
        "limits/unit/llm.service/MemoryMax": "20G", "kernel_log/oom_kill": {"count": 1, "lines": [OF_GROUP]}})
    found = told(good, bad, symptom("oom"))
    assert [(one.subject.kind, one.subject.name) for one in found.suspects] == [("limit", "memory limit of llm")]


def test_a_kill_for_the_hosts_sake_is_the_hosts_though_the_group_counts_it():
    found = told(killed(0, 32 << 30), killed(2, 32 << 30, [OF_HOST]), symptom("oom", "Killed"))
    assert [one.subject.name for one in found.suspects] == ["memory of the host"]


def test_a_limit_that_is_known_to_be_unlimited_was_not_reached():
    snap = host({"servers/vllm/running": True, "servers/vllm/limits/address_space_bytes": {"hard": "unlimited", "soft": "unlimited"}})
    assert told(snap, snap, symptom("startup-crash", "ibv_create_qp: Cannot allocate memory")).suspects == ()


def data(options):
    return host({"mounts/%2Fsrv%2Fweights/type": "xfs", "mounts/%2Fsrv%2Fweights/source": "/dev/sdb", "mounts/%2Fsrv%2Fweights/options": options,
                 "mounts/%2F/type": "ext4", "mounts/%2F/source": "/dev/sda", "mounts/%2F/options": "rw"})


def test_a_mount_that_became_read_only_is_blamed_for_the_path_on_it():
    text = "OSError: [Errno 30] Read-only file system: '/srv/weights/cache/refs'"
    one = told(data("rw,noatime"), data("ro,noatime"), symptom("startup-crash", text)).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength, one.good, one.bad) == ("mount", "/srv/weights", "strong", "rw,noatime", "ro,noatime")


@pytest.mark.parametrize(("good", "bad", "path"), [("rw", "ro", "/var/lib/x"), ("rw,noatime", "rw,relatime", "/var/lib/x"), ("ro", "rw", "/srv/weights/x")])
def test_a_path_elsewhere_or_another_option_is_no_strong_suspicion(good, bad, path):
    found = told(data(good), data(bad), symptom("startup-crash", f"OSError: [Errno 30] Read-only file system: '{path}'"))
    assert suspect(found, "mount", "/srv/weights") is None or found.suspects[0].strength != "strong"


PORT = "infiniband/{}/ports/1/rate"


def ports(rate, **more):
    return host({PORT.format("mlx5_4"): rate, PORT.format("mlx5_5"): "200 Gb/sec (4X HDR)", **more})


def test_a_port_that_came_up_slower_than_its_siblings_is_likely():
    log = {"kernel_log/mlx5": {"count": 1, "lines": ["mlx5_core 0000:5e:00.0 mlx5_4: Port: 1 Link DOWN"]}}
    one = told(ports("200 Gb/sec (4X HDR)"), ports("50 Gb/sec (4X SDR)", **log), symptom("slow")).suspects[0]
    assert (one.subject.name, one.strength) == ("mlx5_4", "strong")
    assert "others of this host run at what it had" in [term.says for term in one.because]


@pytest.mark.parametrize(("good", "bad", "is_likely"), [
    ("intel_iommu=on iommu=pt", "intel_iommu=on", True), ("amd_iommu=off", "amd_iommu=on", True), ("intel_iommu=on", "intel_iommu=on iommu=pt", False)])
def test_translation_that_came_weighs_more_than_translation_that_went(good, bad, is_likely):
    one = told(*(host({"kernel/cmdline": f"BOOT_IMAGE=/vmlinuz ro {options}"}) for options in (good, bad)), symptom("wrong-output")).suspects[0]
    assert (one.subject.name, any("is translated now" in term.says for term in one.because)) == ("IOMMU", is_likely)


def test_a_module_that_was_refused_for_its_key_is_told_as_refused():
    good = host({"driver/module/version": "560.35.03", "driver/on_disk/version": "560.35.03"})
    bad = host({"driver/on_disk/version": "560.35.03", "kernel_log/module_refused": {"count": 1, "lines": ["Loading of unsigned module is rejected"]}})
    one = told(good, bad, symptom("device-lost")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.bad, one.strength) == ("kernel-module", "nvidia kernel module", "refused by the kernel", "strong")
    assert "Secure Boot" in one.verdict


@pytest.mark.parametrize(("good", "bad", "shown"), [
    ({"worker/limits/cpus": ["0-13", "14-27"]}, {"worker/limits/cpus": ["0", "14-27"]}, ("14", "1")),
    ({"limits/cpus": "0-223"}, {"limits/cpus": "0-223", "scheduler_TP1/limits/cpus": "0-13,56-69"}, ("224", "28")),
    ({"limits/cpus": "0-13"}, {"limits/cpus": "56-69"}, None), ({}, {"limits/cpus": "0"}, None),
    ({"limits/cpus": "0-13"}, {"limits/cpus": ["x", 7]}, None),
])
def test_a_server_whose_processes_may_run_on_fewer_cpus_is_a_suspect(good, bad, shown):
    sides = [host({f"servers/torchrun/{name}": value for name, value in side.items()}) for side in (good, bad)]
    found = suspect(told(*sides, symptom("slow")), "limit", "CPU affinity of torchrun")
    assert (found and (found.good, found.bad)) == shown


def test_a_job_system_that_moved_is_blamed_for_fewer_cpus():
    sides = [host({"servers/torchrun/limits/cpus": cpus, "slurm/version": version}) for cpus, version in (("0-13", "21.08.8"), ("0", "22.05.2"))]
    found = suspect(told(*sides, symptom("slow")), "service", "slurm")
    assert any("the job system that starts them moved: slurm 21.08.8 → 22.05.2" in term.says for term in found.because)


def test_a_setting_of_small_programs_in_the_kernel_is_likelier_where_the_error_speaks_of_them():
    sides = [host({"limits/sysctl/net.core.bpf_jit_harden": value}) for value in (0, 2)]
    texts = ("x", "runc: unable to create new device filters program: load program: invalid argument")
    weak, strong = (suspect(told(*sides, symptom("startup-crash", text)), "kernel", "net.core.bpf_jit_harden") for text in texts)
    assert strong.confidence > weak.confidence + 0.1


def test_reserved_huge_pages_are_likelier_where_the_host_had_too_little_memory():
    sides = [host({"memory/hugepages/2048kB/total": total}) for total in (0, 943718)]
    weak, strong = (told(*sides, symptom("startup-crash", text)).suspects for text in ("x", "ValueError: Not enough host memory available"))
    assert strong[0].confidence > (weak[0].confidence if weak else 0)
