"""NVML through the real pynvml, in a child process, against a library that works, refuses, loses a GPU, hangs, crashes or is none; else nvidia-smi."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from driftwatch.agent.collectors import nvml
from driftwatch.agent.loader import FOLDERS
from driftwatch.agent.probe import Unknown
from driftwatch.model import ProbeResult, Snapshot, matches
from driftwatch.model import Unknown as NoAnswer
from tests.agent.recording import recorded, told
from tests.lab import nvml_stand_in
from tests.lab.nvml_stand_in import LIBRARY

CARD = "gpu NVIDIA_RTX_PRO_6000_Blackwell 97887 600"
HEALTHY = f"driver 570.86.15\ncuda 12080\n{CARD} 10 5 5 16 16 0 0\n{CARD} 71234 1 5 8 16 8 2\n"
FIRST, SECOND = (f"gpus/GPU-fa4e0000-0000-0000-0000-00000000000{number}" for number in (0, 1))
SMI = "nvidia-smi -q -x"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return nvml_stand_in.build(tmp_path_factory.mktemp("nvml"))


def ask(library, state):
    return nvml_stand_in.told(nvml_stand_in.start("nvml", library, state))


def test_a_whole_gpu_is_told_by_the_agreed_paths(library):
    answer = ask(library, HEALTHY)
    assert (answer.status, answer.facts["nvml/how"], answer.facts["gpus/count"]) == ("ok", "nvml", 2)
    assert (answer.facts["driver/version"], answer.facts["cuda/driver"], answer.facts["nvml/version"]) == ("570.86.15", "12.8", "12.570.86.15")
    assert answer.below(SECOND) == {
        "name": "NVIDIA RTX PRO 6000 Blackwell", "pci": "0000:02:00.0", "index": 1,
        "vbios": "98.02.81.00.07", "compute_mode": "Default", "compute_capability": "12.0", "persistence": "Enabled",
        "memory_api": "v2", "memory_total_mib": 97887, "memory_used_mib": 71234, "memory_free_mib": 26053, "memory_reserved_mib": 600,
        "unattributed_mib": 71234, "pstate": "P0", "temperature_c": 45, "utilization_percent": 0, "event_reasons": ["hw_slowdown"],
        "clocks/graphics_mhz": 2259, "clocks/sm_mhz": 2259, "clocks/memory_mhz": 12481, "clocks/video_mhz": 1762,
        "clocks_max/graphics_mhz": 2430, "clocks_max/sm_mhz": 2430, "clocks_max/memory_mhz": 12481, "clocks_max/video_mhz": 1895,
        "power_limit_w": 600.0, "power_limit_requested_w": 600.0, "power_limit_default_w": 600.0, "power_draw_w": 71.25,
        "ecc/current": "Enabled", "ecc/pending": "Enabled", "ecc/volatile_corrected": 0, "ecc/volatile_uncorrected": 2,
        "ecc/aggregate_corrected": 0, "ecc/aggregate_uncorrected": 2,
        "remapped_rows/corrected": 0, "remapped_rows/uncorrected": 0, "remapped_rows/pending": False, "remapped_rows/failed": False,
        "link/generation": 1, "link/generation_max": 5, "link/width": 8, "link/width_max": 16,
    }


def test_the_license_of_a_virtual_gpu_is_told_and_a_gpu_that_needs_none_tells_none(library):
    states = "".join(f"value nvmlDeviceGetGridLicensableFeatures_v4 {state} {gpu}\n" for gpu, state in enumerate((1, 0)))
    answer = ask(library, f"{HEALTHY}{CARD} 10 5 5 16 16 0 0\n{states}")
    assert {path: value for path, value in answer.facts.items() if "license" in path} == {f"{FIRST}/license": "Licensed", f"{SECOND}/license": "Unlicensed"}


def test_processes_of_both_lists_are_named_by_the_kernel_and_counted_once(library):
    mine = os.getpid()
    name = Path(f"/proc/{mine}/comm").read_text().strip()
    answer = ask(library, f"{HEALTHY}proc 1 {mine} 70000\ndrawn 1 {mine} 70000\ndrawn 1 4194305 34\n")
    assert answer.facts[f"{SECOND}/holders/{name}"] == {"count": 1, "used_mib": 70000, "pids": [mine]}
    assert answer.facts[f"{SECOND}/holders/pid-not-visible"] == {"count": 1, "used_mib": 34, "pids": [4194305]}
    assert answer.facts[f"{SECOND}/unattributed_mib"] == 1200
    assert answer.facts[f"{FIRST}/unattributed_mib"] == 10


def test_a_process_whose_size_is_not_told_has_none_and_never_zero(library):
    answer = ask(library, f"{HEALTHY}proc 1 4194305 -1\n")
    assert answer.facts[f"{SECOND}/holders/pid-not-visible"] == {"count": 1, "used_mib": None, "pids": [4194305]}
    assert answer.facts[f"{SECOND}/unattributed_mib"]["unknown"] == "not_recorded"


def test_a_process_with_a_long_title_keeps_its_whole_name(library):
    setproctitle = pytest.importorskip("setproctitle", reason="setproctitle is not installed: no process can be given a title")
    pid = os.fork()
    if pid == 0:
        setproctitle.setproctitle("sglang::scheduler_TP0")
        signal.pause()
    try:
        answer = ask(library, f"{HEALTHY}proc 1 {pid} 70000\n")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert answer.facts[f"{SECOND}/holders/sglang::scheduler_TP0"]["used_mib"] == 70000


def test_memory_is_told_by_the_first_version_of_the_call_where_the_second_fails(library):
    answer = ask(library, f"{HEALTHY}fail nvmlDeviceGetMemoryInfo_v2 13\n").below(SECOND)
    assert (answer["memory_api"], answer["memory_used_mib"], "memory_reserved_mib" in answer) == ("v1", 71834, False)


def test_memory_that_no_version_tells_is_unknown_and_so_is_the_rest(library):
    answer = ask(library, f"{HEALTHY}fail nvmlDeviceGetMemoryInfo_v2 999\nfail nvmlDeviceGetMemoryInfo 999\n").below(SECOND)
    assert answer["memory_used_mib"] == {"unknown": "error", "reason": "Unknown Error (NVML 999): nvmlDeviceGetMemoryInfo of GPU 1"}
    assert (answer["unattributed_mib"]["unknown"], "memory_api" in answer) == ("error", False)


def test_what_a_gpu_does_not_support_is_left_out_and_what_failed_is_unknown(library):
    silent = "fail nvmlDeviceGetTotalEccErrors 3\nfail nvmlDeviceGetRemappedRows 13\n"
    answer = ask(library, f"{HEALTHY}{silent}fail nvmlDeviceGetPersistenceMode 4\nfail nvmlDeviceGetName 999 0\n")
    assert answer.status == "ok"
    assert not any(path.startswith(("ecc/volatile", "remapped_rows")) for path in answer.below(SECOND))
    assert answer.facts[f"{SECOND}/persistence"]["unknown"] == "denied"
    assert (answer.facts[f"{FIRST}/name"]["unknown"], answer.facts[f"{SECOND}/name"]) == ("error", "NVIDIA RTX PRO 6000 Blackwell")


def test_mig_devices_are_counted_where_the_mode_is_on(library):
    answer = ask(library, f"{HEALTHY}mig 1 3\n")
    assert (answer.facts[f"{SECOND}/mig/current"], answer.facts[f"{SECOND}/mig/devices"]) == ("Enabled", 3)
    assert not any(path.startswith("mig") for path in answer.below(FIRST))


def test_a_list_of_processes_that_fails_is_unknown_and_never_empty(library):
    answer = ask(library, f"{HEALTHY}fail nvmlDeviceGetComputeRunningProcesses_v3 999 1\n")
    assert answer.facts[f"{SECOND}/holders"]["unknown"] == answer.facts[f"{SECOND}/unattributed_mib"]["unknown"] == "error"
    assert answer.facts[f"{FIRST}/unattributed_mib"] == 10


@pytest.mark.parametrize("call", ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID"])
def test_a_lost_gpu_is_unknown_and_the_others_are_complete(library, call):
    answer = ask(library, f"{HEALTHY}fail {call} 15 1\n")
    assert (answer.status, answer.facts["gpus/count"], answer.facts[f"{FIRST}/memory_used_mib"]) == ("ok", 2, 10)
    assert answer.facts["gpus/index-1"]["unknown"] == "error"
    assert answer.facts["gpus/index-1"]["reason"].startswith("GPU is lost (NVML 15)")


def test_a_lost_gpu_never_looks_removed(library):
    answer = ask(library, f"{HEALTHY}fail nvmlDeviceGetHandleByIndex_v2 15 1\n")
    snapshot = Snapshot("gpu-a", None, probes={"nvml": ProbeResult("ok", tells=nvml.PROBES[0].tells)}, facts=answer.facts)
    assert isinstance(snapshot.get(f"{SECOND}/name"), NoAnswer)


def test_a_driver_that_does_not_match_its_library_is_an_error_with_what_can_still_be_told(library):
    answer = ask(library, f"{HEALTHY}fail nvmlInitWithFlags 18\n")
    assert (answer.status, answer.facts["nvml/version"]) == ("error", "12.570.86.15")
    assert answer.reason.startswith("driver/library version mismatch (NVML 18)")


@pytest.mark.parametrize(("code", "status"), [(9, "absent"), (4, "denied"), (10, "timeout"), (15, "error"), (999, "error")])
def test_a_library_that_does_not_start_gives_its_code_a_meaning(library, code, status):
    answer = ask(library, f"fail nvmlInitWithFlags {code}\n")
    assert (answer.status, f"(NVML {code})" in answer.reason) == (status, True)


def test_a_library_that_finds_no_gpu_counts_none(library):
    assert ask(library, "fail nvmlInitWithFlags 6\n").facts["gpus/count"] == ask(library, "driver 570.86.15\n").facts["gpus/count"] == 0


def test_a_library_that_does_not_count_its_gpus_leaves_all_of_them_unknown(library):
    answer = ask(library, f"{HEALTHY}fail nvmlDeviceGetCount_v2 999\n")
    assert (answer.facts["gpus"]["unknown"], answer.facts["gpus/count"]["unknown"]) == ("error", "error")


@pytest.mark.parametrize("fault", ["hang", "spin"])
def test_a_call_that_never_returns_ends_with_a_term_and_keeps_what_was_told(library, fault):
    begun = time.monotonic()
    child = nvml_stand_in.start("nvml", library, f"{HEALTHY}{fault} nvmlDeviceGetComputeRunningProcesses_v3\n")
    answer = nvml_stand_in.told(child, term_after=f"{SECOND}/link/width_max")
    assert (answer.rc, answer.status) == (-signal.SIGTERM, "")
    assert (answer.facts[f"{SECOND}/memory_used_mib"], answer.facts[f"{SECOND}/link/width"]) == (71234, 8)
    assert time.monotonic() - begun < nvml_stand_in.BOUND_S


def test_a_library_that_crashes_keeps_what_was_told(library):
    answer = ask(library, f"{HEALTHY}crash nvmlDeviceGetPerformanceState\n")
    assert (answer.rc, answer.status) == (-signal.SIGSEGV, "")
    assert (answer.facts["driver/version"], answer.facts[f"{SECOND}/name"]) == ("570.86.15", "NVIDIA RTX PRO 6000 Blackwell")


def test_a_file_that_is_no_library_is_an_error_and_never_absent(tmp_path):
    (tmp_path / LIBRARY).write_bytes(b"not a library")
    answer = nvml_stand_in.told(nvml_stand_in.start("nvml", tmp_path))
    assert (answer.status, answer.reason) == ("error", f"cannot load: {tmp_path}/{LIBRARY} (NVML 12): it is no shared library")


def test_a_host_without_library_and_without_nvidia_smi_has_no_gpus(tmp_path):
    if any(Path(folder, LIBRARY).exists() for folder in FOLDERS) or shutil.which("nvidia-smi"):
        pytest.skip("this machine has an NVIDIA driver")
    answer = nvml_stand_in.told(nvml_stand_in.start("nvml", tmp_path))
    assert (answer.status, answer.facts) == ("absent", {})
    assert answer.reason == f"no NVIDIA driver here: no {LIBRARY} in the loader's folders, and no nvidia-smi"


def test_every_fact_of_both_ways_is_one_that_the_probe_answers_for(library, tmp_path):
    answer = ask(library, f"{HEALTHY}proc 1 {os.getpid()} 70000\nmig 1 3\nfail nvmlDeviceGetHandleByIndex_v2 15 0\n")
    facts, _, _ = told(nvml.collect, recorded(tmp_path, {}, {SMI: log(2, card(1))}))
    assert [path for path in [*answer.facts, *facts] if not matches(path, nvml.PROBES[0].tells)] == []


def test_both_ways_tell_a_gpu_by_the_same_paths(library, tmp_path):
    theirs = set(ask(library, f"{HEALTHY}proc 1 4194305 70000\nmig 1 3\n").below(SECOND))
    text = (nvml_stand_in.REPOSITORY / "tests/agent/texts/telegraf__a100-sxm4-v12.xml").read_text()
    facts, _, _ = told(nvml.collect, recorded(tmp_path, {}, {SMI: text}))
    ours = {path.split("/", 2)[2] for path in facts if path.count("/") > 1}
    rows = {f"remapped_rows/{name}" for name in ("corrected", "uncorrected", "pending", "failed")}
    assert (ours - theirs, theirs - ours) == (set(), {"holders/pid-not-visible", "utilization_percent", "compute_capability", *rows})


def log(attached, *cards):
    head = f"<driver_version>580.126.09</driver_version><cuda_version>13.0</cuda_version><attached_gpus>{attached}</attached_gpus>"
    return f"<?xml version='1.0'?>\n<nvidia_smi_log>{head}{''.join(cards)}</nvidia_smi_log>\n"


def card(number, processes="", used=4, temperature="40 C"):
    memory = f"<fb_memory_usage><total>97887 MiB</total><used>{used} MiB</used></fb_memory_usage><temperature><gpu_temp>{temperature}</gpu_temp></temperature>"
    return f"<gpu id='00000000:0{number}:00.0'><uuid>GPU-{number}</uuid>{memory}<processes>{processes}</processes></gpu>"


def process(pid, name, used):
    return f"<process_info><pid>{pid}</pid><process_name>{name}</process_name><used_memory>{used} MiB</used_memory></process_info>"


def information(number, uuid=None):
    path = f"/proc/driver/nvidia/gpus/0000:0{number}:00.0/information"
    return {path: f"Model: \t\t NVIDIA H100\nIRQ:   \t\t 100\nGPU UUID: \t {uuid or f'GPU-{number}'}\nBus Location: \t 0000:0{number}:00.0\n"}


def test_a_recorded_host_is_read_through_nvidia_smi(tmp_path):
    text = log(1, card(1, process(41211, "/opt/venv/bin/python3", 12000) + process(41212, "sglang::scheduler_TP0", 700), used=12701))
    facts, status, _ = told(nvml.collect, recorded(tmp_path, {"/proc/41212/comm": "sglang::schedul\n"}, {SMI: text}))
    assert (status, facts["nvml/how"], facts["driver/version"], facts["cuda/driver"], facts["gpus/count"]) == ("ok", "nvidia-smi", "580.126.09", "13.0", 1)
    assert facts["gpus/GPU-1/holders/python3"] == {"count": 1, "used_mib": 12000, "pids": [41211]}
    assert facts["gpus/GPU-1/holders/sglang::scheduler_TP0"] == {"count": 1, "used_mib": 700, "pids": [41212]}
    assert facts["gpus/GPU-1/unattributed_mib"] == 1


def test_inside_a_container_an_empty_list_of_processes_is_no_answer(tmp_path):
    facts, _, _ = told(nvml.collect, recorded(tmp_path, {"/.dockerenv": ""}, {SMI: log(1, card(1, used=12701))}))
    assert (facts["gpus/GPU-1/holders"].status, facts["gpus/GPU-1/unattributed_mib"].status) == ("denied", "denied")


def test_a_container_that_shares_the_hosts_processes_sees_them(tmp_path):
    files = {"/.dockerenv": "", "/proc/self/ns/pid": "->pid:[4026531836]"}
    facts, _, _ = told(nvml.collect, recorded(tmp_path, files, {SMI: log(1, card(1, used=12701))}))
    assert facts["gpus/GPU-1/unattributed_mib"] == 12701


def test_a_text_that_was_cut_is_an_error_and_misses_no_gpu(tmp_path):
    text = log(8, *[card(number) for number in range(1, 9)])
    facts, status, reason = told(nvml.collect, recorded(tmp_path, {}, {SMI: text[: len(text) // 3]}))
    assert (status, facts["gpus/count"], reason.startswith("nvidia-smi -q -x: truncated")) == ("error", 8, True)
    assert "gpus/GPU-1/memory_used_mib" in facts


def test_a_gpu_that_is_counted_but_not_shown_is_lost_by_its_uuid(tmp_path):
    files = {path: text for number in (1, 2, 3) for path, text in information(number).items()}
    facts, status, _ = told(nvml.collect, recorded(tmp_path, files, {SMI: log(3, card(1), card(3))}))
    assert (status, facts["gpus/GPU-2"].status, "gpus" in facts) == ("ok", "error", False)


def test_a_lost_gpu_whose_uuid_the_kernel_forgot_leaves_all_untold_gpus_unknown(tmp_path):
    files = {**information(1), **information(2, "GPU-????????-????-????-????-????????????")}
    facts, _, _ = told(nvml.collect, recorded(tmp_path, files, {SMI: log(2, card(1))}))
    assert (facts["gpus/0000:02:00.0"].status, facts["gpus"].status) == ("error", "error")


def test_a_gpu_that_the_kernel_lists_and_nobody_counts_is_there_but_unknown(tmp_path):
    files = {**information(1), **information(2)}
    facts, _, _ = told(nvml.collect, recorded(tmp_path, files, {SMI: log(1, card(1))}))
    assert facts["nvml/listed_by_kernel"] == ["0000:01:00.0", "0000:02:00.0"]
    assert facts["gpus/GPU-2"] == Unknown("error", "the kernel lists this GPU, but it was not counted")


def test_a_mismatch_that_nvidia_smi_tells_keeps_what_the_kernel_knows(tmp_path):
    said = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.107\n"
    files = {**information(1), "/sys/module/nvidia/version": "550.90.07\n"}
    facts, status, reason = told(nvml.collect, recorded(tmp_path, files, {SMI: (18, said, "")}))
    assert (status, facts["gpus/GPU-1/name"], facts["gpus/GPU-1/pci"]) == ("error", "NVIDIA H100", "0000:01:00.0")
    assert reason.startswith("driver/library version mismatch (NVML 18)")
    assert reason.endswith("NVML library version: 550.107; the loaded module is 550.90.07: reload it, or reboot")


@pytest.mark.parametrize(("ran", "status"), [
    ((9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", ""), "absent"), ((127, "", ""), "absent"),
    ((12, "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n", ""), "absent"), ((255, "", "Unknown Error\n"), "error"), ((0, "", ""), "error"),
])
def test_an_nvidia_smi_that_shows_no_gpu_says_why(tmp_path, ran, status):
    assert told(nvml.collect, recorded(tmp_path, {}, {SMI: ran, "ldconfig -p": ""}))[1] == status


def test_an_nvidia_smi_that_finds_no_devices_counts_none(tmp_path):
    assert told(nvml.collect, recorded(tmp_path, {}, {SMI: (6, "No devices were found\n", "")}))[0]["gpus/count"] == 0


def test_without_nvidia_smi_a_library_that_is_there_is_an_error(tmp_path):
    host = recorded(tmp_path, {f"/usr/lib64/{LIBRARY}": "\x7fELF"}, {SMI: (127, "", ""), "ldconfig -p": ""})
    assert told(nvml.collect, host)[1:] == ("error", f"cannot load: /usr/lib64/{LIBRARY} (NVML 12): the loader refused it")


@pytest.mark.parametrize(("described", "commands", "status"), [({"hangs": [["nvidia-smi"]]}, {}, "timeout"), ({}, {}, "not_recorded")])
def test_an_nvidia_smi_that_hung_or_was_never_asked_is_no_answer(tmp_path, described, commands, status):
    assert told(nvml.collect, recorded(tmp_path, {}, commands, **described))[1] == status


def test_a_figure_that_says_err_twice_is_unknown(tmp_path):
    facts, status, _ = told(nvml.collect, recorded(tmp_path, {}, {SMI: log(1, card(1, temperature="ERR!"))}))
    assert (status, facts["gpus/GPU-1/temperature_c"].status, facts["gpus/GPU-1/memory_used_mib"]) == ("ok", "error", 4)


def test_a_figure_that_says_err_once_is_read_again(tmp_path):
    script = tmp_path / "nvidia-smi"
    (tmp_path / "bad.xml").write_text(log(1, card(1, temperature="ERR!")))
    (tmp_path / "good.xml").write_text(log(1, card(1)))
    script.write_text(f"#!/bin/sh\ncd {tmp_path}\nif [ -e asked ]; then cat good.xml; else touch asked; cat bad.xml; fi\n")
    script.chmod(0o755)
    (tmp_path / "lib").mkdir()
    child = nvml_stand_in.start("nvml", tmp_path / "lib", path=str(tmp_path))
    assert nvml_stand_in.told(child).facts["gpus/GPU-1/temperature_c"] == 40


def test_this_machine_gives_an_answer(tmp_path):
    assert nvml_stand_in.told(nvml_stand_in.start("nvml", tmp_path)).status in ("ok", "absent", "error", "denied", "timeout")
