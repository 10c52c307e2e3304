"""The system's own text files: each is understood, and one that cannot be read costs only its own facts."""

from __future__ import annotations

import json

import pytest

from driftwatch.agent.collectors import system
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Unknown, Unreadable
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

MEMINFO = "MemTotal:       1584398336 kB\nMemFree:        901775360 kB\nActive(anon):       1588 kB\nHugePages_Total:       16\n"
PRESSURE = "some avg10=0.40 avg60=0.32 avg300=0.24 total=4250880000\nfull avg10=0.20 avg60=0.16 avg300=0.12 total=2125440000\n"
CPU = "processor\t: {}\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9575F 64-Core Processor\nsiblings\t: 2\n\n"
ARM = "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n"
FILES = {
    "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.2 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\n',
    "/proc/sys/kernel/osrelease": "6.8.0-100-generic\n",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz ro iommu=pt\n",
    "/proc/sys/kernel/random/boot_id": "f28c785c-6d1d-4749-b70c-2e72b10ebe12\n",
    "/proc/stat": "cpu  1 2 3\nctxt 9\nbtime 1771056480\nprocesses 2\n",
    "/proc/uptime": "1062720.75 244850688.00\n",
    "/proc/cpuinfo": CPU.format(0) + CPU.format(1),
    "/proc/meminfo": MEMINFO,
    "/proc/loadavg": "1.20 1.10 1.00 3/1920 30544\n",
    "/proc/pressure/cpu": PRESSURE,
}


def test_a_whole_system_is_told_by_the_agreed_paths(tmp_path):
    facts, status, _ = told(system.collect, recorded(tmp_path, FILES))
    assert status == "ok"
    assert {path: value for path, value in facts.items() if "pressure" not in path} == {
        "os/name": "Ubuntu 24.04.2 LTS", "os/id": "ubuntu", "os/version_id": "24.04",
        "kernel/release": "6.8.0-100-generic", "kernel/cmdline": "BOOT_IMAGE=/vmlinuz ro iommu=pt",
        "kernel/boot_id": "f28c785c-6d1d-4749-b70c-2e72b10ebe12", "kernel/booted_at": "2026-02-14T08:08:00Z",
        "system/uptime_s": 1062720, "system/cpu/model": "AMD EPYC 9575F 64-Core Processor", "system/cpu/count": 2,
        "system/memory/total_kib": 1584398336, "system/memory/MemFree_kib": 901775360, "system/memory/Active(anon)_kib": 1588,
        "system/memory/HugePages_Total": 16, "system/load/1m": 1.2, "system/load/5m": 1.1, "system/load/15m": 1.0,
    }


def test_the_account_of_stalls_is_told_in_percent_and_microseconds():
    assert system.parse_pressure(PRESSURE) == {
        "some_avg10": 0.4, "some_avg60": 0.32, "some_avg300": 0.24, "some_total_us": 4250880000,
        "full_avg10": 0.2, "full_avg60": 0.16, "full_avg300": 0.12, "full_total_us": 2125440000,
    }


def test_a_file_that_may_not_be_read_is_unknown_and_the_others_are_told(tmp_path):
    facts, status, _ = told(system.collect, recorded(tmp_path, FILES, denied=["/proc/meminfo", "/proc/cmdline"]))
    assert status == "ok"
    assert facts["system/memory"] == Unknown("denied", "/proc/meminfo: Permission denied (uid 0)")
    assert facts["kernel/cmdline"].status == "denied"
    assert facts["system/load/1m"] == 1.2


def test_a_file_that_makes_no_sense_costs_only_its_own_fact(tmp_path):
    facts, status, _ = told(system.collect, recorded(tmp_path, {**FILES, "/proc/stat": "cpu 1 2 3\n"}))
    assert (status, facts["kernel/booted_at"].status, facts["system/uptime_s"]) == ("ok", "error", 1062720)


def test_a_kernel_without_an_account_of_stalls_tells_none(tmp_path):
    facts, status, _ = told(system.collect, recorded(tmp_path, {path: text for path, text in FILES.items() if "pressure" not in path}))
    assert (status, [path for path in facts if "pressure" in path]) == ("ok", [])


def test_os_release_is_read_from_its_second_place_too(tmp_path):
    files = {"/usr/lib/os-release": "PRETTY_NAME='Debian GNU/Linux 12 (bookworm)'\nID=debian\n"}
    facts, _, _ = told(system.collect, recorded(tmp_path, {**{path: text for path, text in FILES.items() if "os-release" not in path}, **files}))
    assert (facts["os/name"], facts["os/id"], "os/version_id" in facts) == ("Debian GNU/Linux 12 (bookworm)", "debian", False)


def test_a_list_of_processors_that_was_cut_gives_no_count():
    model, count = system.parse_cpuinfo("processor\t: 0\nmodel name\t: AMD EPYC\nsiblings\t: 128\n")
    assert (model, count.status) == ("AMD EPYC", "error")


def test_the_kernels_own_list_of_processors_counts_before_cpuinfo(tmp_path):
    facts, _, _ = told(system.collect, recorded(tmp_path, {**FILES, "/sys/devices/system/cpu/online": "0-127,256-383\n"}))
    assert facts["system/cpu/count"] == 256


def test_an_arm_processor_is_named_by_its_part():
    assert system.parse_cpuinfo(ARM) == ("implementer 0x41 part 0xd4f", 2)


@pytest.mark.parametrize(("parse", "text"), [
    (system.parse_boot_time, "cpu 1 2\n"), (system.parse_uptime, ""), (system.parse_cpu_list, "\n"),
    (system.parse_meminfo, "MemFree: 1 kB\n"), (system.parse_loadavg, "busy"), (system.parse_pressure, "none"),
])
def test_a_text_that_makes_no_sense_is_refused_with_its_name(parse, text):
    with pytest.raises(Unreadable, match=r"^/\w+"):
        parse(text)


def test_what_changes_by_itself_is_volatile_and_the_machine_is_not(tmp_path):
    facts, _, _ = told(system.collect, recorded(tmp_path, FILES))
    stable = {path for path in facts if not matches(path, system.PROBES[0].volatile)}
    machine = {"kernel/release", "kernel/cmdline", "os/name", "os/id", "os/version_id", "system/cpu/model", "system/cpu/count", "system/memory/total_kib"}
    assert stable == machine


def test_every_fact_is_one_that_the_probe_answers_for(tmp_path):
    facts, _, _ = told(system.collect, recorded(tmp_path, FILES, denied=["/proc/cpuinfo", "/proc/meminfo", "/proc/loadavg", "/etc/os-release"]))
    assert [path for path in facts if not matches(path, system.PROBES[0].tells)] == []


def test_this_machine_is_told():
    facts, status, _ = told(system.collect, Host(RealRoot(), Settings()))
    assert (status, facts["system/memory/total_kib"] > 0, facts["system/cpu/count"] > 0) == ("ok", True, True)
    json.dumps(facts)
