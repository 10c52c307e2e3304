from pathlib import Path

from driftwatch.dumps.bug_report import FORMAT
from driftwatch.dumps.read import read_dump
from tests.dumps.reading import facts, parsed

QUERY = (Path(__file__).parent / "texts" / "query__h100.txt").read_text()
RULE = "____________________________________________"
REPORT = f"""{RULE}

Start of NVIDIA bug report log file.  Please include this file, along
with a detailed description of your problem, when reporting a graphics
driver bug.

nvidia-bug-report.sh Version: 35704406

Date: Tue Mar  5 02:11:09 UTC 2024
uname: Linux gpu-7 5.15.0-97-generic #107-Ubuntu SMP Wed Feb 7 13:26:48 UTC 2024 x86_64 x86_64 x86_64 GNU/Linux
command line flags:

{RULE}

*** /proc/driver/nvidia/./version
*** ls: -r--r--r-- 1 root root 0 2024-03-05 02:11:09.000000000 +0000 /proc/driver/nvidia/./version
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build  (dvs-builder@U16-I3)
GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)
{RULE}

*** /proc/driver/nvidia/./params
*** ls: -r--r--r-- 1 root root 0 2024-03-05 02:11:09.000000000 +0000 /proc/driver/nvidia/./params
EnableGpuFirmware: 18
RegistryDwords: ""
{RULE}

*** /proc/cmdline
BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 iommu=pt
{RULE}

/usr/bin/nvidia-smi --query

{QUERY}
{RULE}

/usr/bin/dmesg

[ 1843.308145] NVRM: Xid (PCI:0000:0b:00): 79, pid=11431, GPU has fallen off the bus.
{RULE}

End of NVIDIA bug report log file.
"""


def test_each_section_is_read_by_the_parser_that_knows_it():
    found = facts(FORMAT, REPORT)
    assert (found["driver/module/version"], found["driver/module/flavour"], found["kernel/release"]) == ("550.54.14", "open", "5.15.0-97-generic")
    assert (found["modules/nvidia/parameters/EnableGpuFirmware"], found["kernel/cmdline"][-8:]) == ("18", "iommu=pt")
    assert (found["gpus/count"], found["kernel_log/xid"]["count"]) == (1, 1)


def test_host_and_time_are_those_of_the_report():
    (part,) = parsed(FORMAT, REPORT)
    assert (part.host, part.taken_at, part.notes) == ("gpu-7", "2024-03-05T02:11:09Z", ())


def test_a_time_that_is_not_in_utc_is_not_told():
    (part,) = parsed(FORMAT, REPORT.replace("UTC 2024\nuname", "CET 2024\nuname"))
    assert part.taken_at is None


def test_a_report_that_was_cut_says_so():
    (part,) = parsed(FORMAT, REPORT[:REPORT.index("/usr/bin/dmesg")])
    assert part.notes == ("nvidia-bug-report: the text was cut",)


def test_the_whole_report_is_one_dump():
    snapshot = read_dump(REPORT, "nvidia-bug-report.log")
    assert (snapshot.source, snapshot.host) == ("nvidia-bug-report", "gpu-7")
