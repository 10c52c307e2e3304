"""What a host takes from a server: devices, files, programs, a library's code, a service's work. The server did not move."""

from __future__ import annotations

import pytest

from tests.explain.below import cards, host, symptom
from tests.explain.cases import package, suspect, told, unknown

CRASH = "startup-crash"
DEVICES = "services/ollama/unit/PrivateDevices"


def names(explanation):
    return [one.subject.name for one in explanation.suspects]


def test_a_unit_that_newly_hides_devices_stands_before_what_else_it_newly_hides():
    bad = {DEVICES: "true", "services/ollama/unit/PrivateTmp": "true"}
    found = told(host(), host(bad), symptom("device-lost", "no compatible GPUs were discovered"))
    assert (found.suspects[0].subject.kind, names(found)[0]) == ("service", "PrivateDevices (ollama.service)")
    assert found.suspects[0].confidence >= 0.8


def test_a_unit_that_hid_devices_before_is_no_suspect():
    assert told(host({DEVICES: "true"}), host({DEVICES: "true"}), symptom("device-lost")).suspects == ()


def tmp(options, **more):
    top = "mounts/%2Ftmp"
    return host({f"{top}/type": "tmpfs", f"{top}/source": "tmpfs", f"{top}/options": options, "mounts/%2F/type": "ext4", **more})


@pytest.mark.parametrize(("text", "is_sure"), [
    ("ImportError: /tmp/torchinductor_llm/x.main.so: failed to map segment from shared object", True),
    ("ImportError: /opt/x.so: undefined symbol: f", False),
])
def test_a_mount_that_newly_forbids_programs_is_blamed_where_the_error_is_of_that(text, is_sure):
    one = suspect(told(tmp("rw,nosuid"), tmp("rw,nosuid,noexec"), symptom("import-error", text)), "mount", "/tmp")
    assert (one is not None and one.confidence >= 0.8) == is_sure


def test_a_new_mount_that_forbids_programs_over_the_path_of_the_error_is_blamed():
    text = "ImportError: /tmp/torchinductor_llm/x.main.so: failed to map segment from shared object"
    one = told(host({"mounts/%2F/type": "ext4"}), tmp("rw,nosuid,noexec"), symptom("startup-crash", text)).suspects[0]
    assert (one.subject.kind, one.subject.name, one.strength) == ("mount", "/tmp", "strong")


def models(kib):
    top = "mounts/%2Fmnt%2Fmodels"
    return host({f"{top}/type": "nfs4", f"{top}/source": "nas:/m", f"{top}/holds": ["model"], f"{top}/read_ahead_kib": kib})


@pytest.mark.parametrize(("good", "bad", "klass", "expected"), [
    (15360, 128, "slow", ["/mnt/models"]), (128, 15360, "slow", []), (15360, 128, "wrong-output", []), (15360, unknown("denied"), "slow", []),
])
def test_a_mount_that_is_read_with_much_less_ahead_is_told_for_a_slow_server(good, bad, klass, expected):
    assert names(told(models(good), models(bad), symptom(klass))) == expected


STUB, REAL = "/usr/local/cuda/lib64/stubs/libcuda.so", "/usr/lib/x86_64-linux-gnu/libcuda.so.550.1"


def test_a_stub_that_the_loader_picks_is_blamed_and_one_that_it_always_picked_is_a_doubt():
    good, bad = (host({"loader/picks/libcuda.so.1": one}) for one in (REAL, STUB))
    error = symptom(CRASH, "Error 34: CUDA driver is a stub library")
    assert (names(told(good, bad, error)), told(good, bad, error).suspects[0].strength) == (["libcuda.so.1"], "strong")
    assert told(bad, bad, error).doubts


def installed(*packages):
    return host({f"os_packages/{name}/version": "3.12.3" for name in packages} | {"os_packages_other/cowsay": "1" if packages else None})


@pytest.mark.parametrize(("text", "expected"), [
    ("Command '['/usr/bin/gcc', '/tmp/a.c', '-lcuda']' returned non-zero exit status 1.", ["python3-dev"]),
    ("/tmp/a.c:5:10: fatal error: Python.h: No such file or directory", ["python3-dev"]),
    ("/usr/bin/ld: cannot find -lnuma", []),
    ("torch.OutOfMemoryError: CUDA out of memory", []),
])
def test_removed_packages_are_one_suspect_where_the_error_lacks_what_they_bring(text, expected):
    assert names(told(installed("python3-dev", "libpython3.12-dev"), installed(), symptom(CRASH, text))) == expected


USER = "/srv/llm/.local/lib/python3.12/site-packages"
IMPORT = f"ImportError: cannot import name 'X' from 'transformers.utils' ({USER}/transformers/utils.py)"


@pytest.mark.parametrize(("frame", "expected"), [("/opt/venv/lib/python3.12/site-packages/vllm/a.py", [USER]), ("/elsewhere/site-packages/vllm/a.py", [])])
def test_a_copy_of_a_package_outside_the_environment_is_blamed_where_the_log_is_of_that_environment(frame, expected):
    one = host(package("transformers", "5.1", location="/opt/venv/lib/python3.12/site-packages") | package("vllm", "0.9"))
    assert names(told(one, one, symptom("import-error", IMPORT), f'File "{frame}", line 1')) == expected


def test_a_license_that_a_virtual_gpu_lost_is_told_for_a_slow_server():
    found = told(host(cards(license="Licensed")), host(cards(license="Unlicensed")), symptom("slow"))
    assert (names(found), found.suspects[0].strength) == (["vGPU license"], "strong")


@pytest.mark.parametrize(("name", "text", "is_sure"), [
    ("rpc-statd", "OSError: [Errno 37] No locks available", True),
    ("chrony", "An error occurred (RequestTimeTooSkewed) when calling ListObjectsV2", True),
    ("systemd-resolved", "socket.gaierror: Temporary failure in name resolution", True),
    ("model-sync", "ConnectionError: model-sync did not answer", True),
    ("chrony", "ValueError: bad shape", False),
])
def test_a_service_that_stopped_is_likely_where_the_error_is_of_its_work(name, text, is_sure):
    good, bad = (host({f"services/{name}/active": state, "system/other": state}) for state in ("active", "failed"))
    one = suspect(told(good, bad, symptom(CRASH, text)), "service", name)
    assert (one is not None and one.confidence >= 0.7) == is_sure


def test_an_engine_that_stopped_under_the_server_stands_before_its_packages():
    states = (("active", "running", "27.5.1"), ("inactive", "exited", "27.5.2"))
    good, bad = (
        host({"services/docker/active": one, "containers/vllm/state": two, "containers/vllm/runtime": "nvidia", "os_packages/docker-ce/version": three})
        for one, two, three in states
    )
    assert names(told(good, bad, symptom("runtime-crash", "EngineCore died unexpectedly")))[0] == "docker"


def test_settings_of_an_engine_that_give_no_gpu_weigh_little():
    good, bad = (host({"container_runtime/docker/log-opts": {"max-size": size}, "os_packages/htop/version": size}) for size in ("100m", "200m"))
    assert all(one.strength == "weak" for one in told(good, bad, symptom(CRASH)).suspects)


def module(flavour, count):
    cards_there = cards() if count else {}
    return host({**cards_there, "driver/module/version": "580.1", "driver/module/flavour": flavour, "driver/version": "580.1" if count else None,
                 "gpus/count": count})


def test_a_driver_of_another_kind_that_no_gpu_answers_stands_before_the_gpus_that_are_gone():
    found = told(module("open", 2), module("proprietary", 0), symptom("device-lost", "No accelerator is available"))
    assert [one.subject.kind for one in found.suspects] == ["driver", "gpu"]


def test_a_tool_that_no_longer_tells_the_drivers_version_moved_no_driver():
    assert suspect(told(module("open", 2), module("open", 0), symptom("device-lost")), "driver", "NVIDIA driver") is None


def test_a_lock_whose_builder_the_kernel_killed_stands_before_the_memory_of_the_host():
    line = "Out of memory: Killed process PID (cc1plus) total-vm:9912344kB"
    bad = {"caches/torch_extensions/lock_files": ["x/lock"], "caches/torch_extensions/path": "/c", "kernel_log/oom_kill": {"count": 1, "lines": [line]}}
    assert names(told(host(), host(bad), symptom("hang"))) == ["/c/x/lock", "memory of the host"]


def test_what_sets_all_of_a_locale_stands_before_what_it_overrules():
    good, bad = (host({f"env/{name}": value}) for name, value in (("LANG", "C.UTF-8"), ("LC_ALL", "POSIX")))
    assert names(told(good, bad, symptom(CRASH, "UnicodeDecodeError: 'ascii' codec can't decode byte")))[:2] == ["LC_ALL", "LANG"]
