from __future__ import annotations

from dataclasses import replace

import pytest

from driftwatch.model import ProbeResult, Snapshot, Symptom
from tests.explain.below import host, symptom
from tests.explain.cases import package, places, suspect, told

FABRIC = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized"
DRIVER = {"driver/module/version": "535.230.02", "driver/library/libcuda/version": "535.230.02"}


def fabric(manager="535.183.01", driver="535.183.01", active="active", since="2026-02-27T09:00:00Z"):
    facts = {"fabricmanager/version": manager, "driver/module/version": driver, "kernel/boot_id": "b7"}
    return host({**facts, "services/nvidia-fabricmanager/active": active, "services/nvidia-fabricmanager/since": since})


def test_a_fabric_manager_that_the_driver_left_behind_is_blamed_though_it_never_moved():
    found = told(fabric(), fabric(driver="535.230.02", active="failed"), symptom("startup-crash", FABRIC))
    assert (found.suspects[0].subject.name, found.suspects[0].mark, found.suspects[0].strength) == ("nvidia-fabricmanager", "!", "strong")


def test_a_fabric_manager_that_was_of_another_version_before_makes_the_baseline_doubtful():
    snap = fabric(manager="535.129.03")
    assert told(snap, snap, symptom("startup-crash", FABRIC)).doubts[0].startswith("the fabric manager was of another version than the driver on the good side")


def test_a_fabric_manager_that_agrees_on_both_sides_is_ruled_out_and_one_that_is_unknown_is_not():
    assert places(told(fabric(), fabric(), symptom("hang")), "nvidia-fabricmanager") == ["ruled_out"]
    unknown = host({"driver/module/version": "535.183.01", "fabricmanager/version": {"unknown": "denied", "reason": "dpkg"}})
    assert places(told(fabric(), unknown, symptom("hang")), "nvidia-fabricmanager") == []


def test_a_fabric_manager_is_not_ruled_out_where_a_restart_could_hide():
    snap = fabric(since={"unknown": "denied"})
    assert places(told(snap, snap, symptom("hang")), "nvidia-fabricmanager") == []


def test_a_service_that_needs_the_driver_is_no_cause_where_no_module_is_loaded():
    good = host({**DRIVER, "services/nvidia-persistenced/active": "active"})
    bad = host({"driver/library/libcuda/version": "535.230.02", "services/nvidia-persistenced/active": "failed"})
    found = told(good, bad, symptom("device-lost"))
    assert found.suspects[0].subject.name == "nvidia kernel module missing"
    assert all(one.strength == "weak" for one in found.suspects[1:])


def test_a_gpu_that_another_module_drives_is_not_called_a_module_that_is_missing():
    gpu = {f"pci/0000:{bus}:00.0/kind": "gpu" for bus in ("08", "09")}
    good = host({**DRIVER, **gpu, **{path.replace("kind", "driver"): "nvidia" for path in gpu}})
    log = {"kernel_log/nvrm": {"count": 1, "lines": ["NVRM: GPU 0000:08:00.0 is already bound to Nouveau"]}}
    bad = host({"driver/library/libcuda/version": "535.230.02", **gpu, **{path.replace("kind", "driver"): "nouveau" for path in gpu}, **log})
    found = told(good, bad, symptom("device-lost"))
    assert [(one.subject.kind, one.subject.name, one.strength) for one in found.suspects] == [("kernel-module", "nouveau", "strong")]
    assert found.verdict.startswith("The module nouveau drives 2 GPUs that nvidia drove on the good side")


SILENT = ProbeResult("timeout", reason="nvidia-smi -q -x: did not end in 14 s")


@pytest.mark.parametrize(("before", "text", "expected"), [
    (ProbeResult("ok"), "", ["likely"]), (ProbeResult("ok"), "TimeoutError: nvidia-smi did not answer within 60 s", ["strong"]), (SILENT, "", [])])
def test_a_driver_that_answered_and_no_longer_does_is_a_suspect(before, text, expected):
    good, bad = (host(DRIVER, nvml=one) for one in (before, SILENT))
    found = [one for one in told(good, bad, symptom("hang", text)).suspects if one.subject.kind == "driver"]
    assert [one.strength for one in found] == expected


def test_the_servers_own_service_is_its_symptom():
    found = told(host({"services/vllm/active": "active"}), host({"services/vllm/active": "failed"}), symptom("startup-crash"))
    assert found.suspects == ()


def test_persistence_mode_that_went_off_names_its_service():
    good, bad = (host({"gpus/GPU-a/persistence": mode, "gpus/GPU-a/pci": "0000:9c:00.0"}) for mode in ("Enabled", "Disabled"))
    assert told(good, bad, symptom("slow")).suspects[0].subject.name == "nvidia-persistenced"


def test_a_refused_module_names_itself_and_the_partner_that_moved():
    good = host({"modules/nvidia_peermem/loaded": True, "modules/ib_core/srcversion": "4B1C", "modules/ib_core/loaded": True})
    lines = ["nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client"]
    bad = host({"kernel_log/module_refused": {"count": 1, "lines": lines}, "modules/ib_core/srcversion": "9D2F", "modules/ib_core/loaded": True})
    one = told(good, bad, symptom("startup-crash", "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument")).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("kernel-module", "nvidia_peermem", "strong")
    assert "ib_core is of another build now, and it was not built anew" in [term.says for term in one.because]


def test_a_module_that_both_kernels_refused_is_no_news():
    snap = host({"kernel_log/module_refused": {"count": 1, "lines": ["nvidia_peermem: Unknown symbol x (err -22)"]}})
    assert told(snap, snap, symptom("startup-crash")).suspects == ()


def test_a_kernel_without_the_module_is_told_as_the_reason():
    good = host({**DRIVER, "kernel/release": "5.15.0-88"})
    bad = host({"driver/library/libcuda/version": "535.230.02", "kernel/release": "5.15.0-116", "kernel/installed/5.15.0-116": {"nvidia_module": False}})
    one = told(good, bad, symptom("device-lost")).suspects[0]
    assert one.subject.kind == "kernel-module"
    assert "/lib/modules/5.15.0-116 holds no NVIDIA module: it was built for another kernel only, or not by dkms" in [term.says for term in one.because]


def test_an_upgrade_after_the_boot_is_dated_and_named():
    good = host({**DRIVER, "os_packages/libnvidia-compute-535/version": "535.230.02-1"})
    upgrade = {
        "at": "2026-03-01T06:00:00Z",
        "tool": "unattended-upgrades",
        "by": None,
        "command": "",
        "packages": {"libnvidia-compute-535": ["535.230.02-1", "535.247.01-1"]},
    }
    bad = host(
        {
            "driver/module/version": "535.230.02",
            "driver/library/libcuda/version": "535.247.01",
            "os_packages/libnvidia-compute-535/version": "535.247.01-1",
            "kernel/booted_at": "2026-02-01T00:00:00Z",
            "os_changes/2026-03-01T06:00:00Z": upgrade,
        }
    )
    says = [term.says for term in told(good, bad, symptom("device-lost")).suspects[0].because]
    assert "unattended-upgrades, 2026-03-01 06:00Z installed another driver after this kernel had been booted: the module in memory is the old one" in says


def test_a_container_toolkit_that_moved_is_one_subject_with_its_packages():
    names = ("nvidia-container-toolkit", "libnvidia-container1", "nvidia-container-toolkit-base")
    good, bad = (
        host({**{f"os_packages/{name}/version": version for name in names}, "containers/vllm/runtime": "nvidia", "containers/vllm/image": "v"})
        for version in ("1.19.0-1", "1.19.1-1")
    )
    found = told(good, bad, symptom("startup-crash", "cuInit(0) failed -> CUDA_ERROR_UNKNOWN: unknown error"))
    assert [(one.subject.kind, one.subject.name, one.strength) for one in found.suspects] == [("container", "nvidia-container-toolkit", "strong")]


def test_another_container_without_gpus_weighs_nothing():
    bad = host({"containers/cadvisor/image": "cadvisor:v0.49", "containers/cadvisor/runtime": "runc", "containers/cadvisor/state": "running"})
    assert told(host(), bad, symptom("startup-crash")).suspects == ()


def test_a_device_list_made_for_another_driver_is_a_broken_pair():
    listing = {"kind": "nvidia.com/gpu", "devices": 2, "driver": ["535.230.02"], "digest": "sha256:x"}
    good = host({**DRIVER, "container_runtime/cdi/%2Fetc%2Fcdi%2Fnvidia.yaml": listing})
    bad = host({"driver/module/version": "550.1", "driver/library/libcuda/version": "550.1", "container_runtime/cdi/%2Fetc%2Fcdi%2Fnvidia.yaml": listing})
    one = told(good, bad, symptom("device-lost")).suspects[0]
    assert (one.subject.name, one.mark, one.strength) == ("CDI file /etc/cdi/nvidia.yaml", "!", "strong")


def test_a_container_that_lost_its_gpus_is_blamed_only_where_the_hosts_driver_is_whole():
    facts = {**DRIVER, "containers/vllm/device_requests": [{"Count": -1}], "containers/vllm/image": "v"}
    text = symptom("device-lost", "Failed to initialize NVML: Unknown Error")
    assert told(host(facts), host(facts), text).suspects[0].subject.name == "device rules of the container (cgroup)"
    broken = host({**facts, "driver/library/libcuda/version": "550.1"})
    assert suspect(told(host(facts), broken, text), "container", "device rules of the container (cgroup)") is None


@pytest.mark.parametrize(("packages", "is_blamed"), [({"systemd": ["255.4-8.5", "255.4-8.6"]}, True), ({"less": ["590-1", "590-2"]}, False)])
def test_an_unknown_error_of_cuda_is_of_a_container_that_lost_its_gpus_only_where_systemd_was_moved(packages, is_blamed):
    facts = {**DRIVER, "containers/vllm/device_requests": [{"Count": -1}], "containers/vllm/image": "v"}
    upgrade = {"os_changes/2026-03-02T06:21:40Z": {"at": "2026-03-02T06:21:40Z", "command": "/usr/bin/unattended-upgrade", "packages": packages, "tool": "apt"}}
    sides = replace(host(facts), taken_at="2026-03-01T10:00:00Z"), host({**facts, **upgrade})
    found = told(*sides, symptom("device-lost", "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment"))
    assert (suspect(found, "container", "device rules of the container (cgroup)") is not None) is is_blamed


MISMATCH = Symptom("runtime-crash", "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH")


def cudnn(release=None, wheel="9.20.0.48", **more):
    files = {} if release is None else {"cudnn/on_disk": [f"/usr/lib/x86_64-linux-gnu/libcudnn{part}.so.{release}.0" for part in ("", "_ops")]}
    return host({**package("nvidia-cudnn-cu13", wheel), **files, **more}, dump=ProbeResult("ok", tells=("cudnn/*", "os_packages/*", "os_packages_other/*")))


@pytest.mark.parametrize(("good", "bad", "shown"), [
    (cudnn(), cudnn("9.23"), ("absent", "9.23")),
    (cudnn("9.20"), cudnn("9.23"), ("9.20", "9.23")),
    (cudnn("9.20", "9.20.0.48"), cudnn("9.20", "9.23.0.11"), ("9.20", "9.20")),
    (cudnn(), cudnn(**{"os_packages_other/libcudnn9-cuda-13": "9.23.1.2-1"}), ("absent", "9.23")),
    (replace(cudnn(), probes={}), cudnn("9.23"), ("not known", "9.23")),
])
def test_a_cudnn_of_the_system_beside_the_wheels_of_another_release_is_a_suspect(good, bad, shown):
    found = suspect(told(good, bad, MISMATCH), "library", "libcudnn")
    assert (found.good, found.bad) == shown


@pytest.mark.parametrize(("good", "bad"), [(cudnn("9.23"), cudnn("9.23")), (cudnn("9.23"), cudnn()), (cudnn(), cudnn())])
def test_a_cudnn_of_the_system_that_stood_there_before_is_none(good, bad):
    assert suspect(told(good, bad, MISMATCH), "library", "libcudnn") is None


@pytest.mark.parametrize("text", ["failed to initialize NVML: Driver/library version mismatch", None])
def test_packages_of_the_driver_that_moved_are_a_suspect_where_nobody_told_which_module_is_loaded(text):
    name = "os_packages/libnvidia-compute-580-server/version"
    asked = {"os_packages": ProbeResult("ok", tells=("os_packages/*",))}
    good, bad = (Snapshot("gpu-a", None, probes=asked, facts={name: f"{version}-0ubuntu0.24.04.1"}) for version in ("580.126.09", "580.159.03"))
    (one,) = told(good, bad, Symptom("device-lost", text)).suspects
    assert (one.subject.name, one.good, one.bad) == ("NVIDIA driver", "580.126.09", "580.159.03")
    assert "the loaded module is not known" in one.verdict
    assert any("a module which is older" in term.says for term in one.because) is (text is not None)
