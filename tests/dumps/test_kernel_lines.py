from driftwatch.dumps.kernel_lines import FORMAT
from tests.dumps.reading import facts, stretches


def test_posted_lines_of_the_driver_are_counted_whatever_their_stamp():
    text = ("[ 1843.308145] NVRM: Xid (PCI:0000:0b:00): 79, pid=1, GPU has fallen off the bus.\n"
            "[Tue Jul 14 08:12:53 2026] NVRM: Xid (PCI:0000:0b:00): 79, pid=2, GPU has fallen off the bus.\n"
            "Jul 14 08:12:53 gpu-7 kernel: [ 12.5] NVRM: Xid (PCI:0000:0b:00): 79, pid=3, GPU has fallen off the bus.\n"
            "NVRM: Xid (PCI:0000:0b:00): 79, pid=4, GPU has fallen off the bus.\n")
    assert facts(FORMAT, text)["kernel_log/xid"]["count"] == 4


def test_an_api_mismatch_in_one_syslog_line_is_one_message():
    text = "NVRM: API mismatch: the client has the version 535.54.03, but#012NVRM: this kernel module has the version 530.30.02.  Please#012NVRM: make"
    assert facts(FORMAT, text)["kernel_log/api_mismatch"]["count"] == 1


def test_one_bracketed_line_is_no_kernel_log():
    assert stretches(FORMAT, "[ 12.345678] something\nprose\n")[0] == []


def test_the_line_that_loads_the_module_tells_its_version_and_flavour():
    found = facts(FORMAT, (
        "[ 1843.439662] NVRM: The NVIDIA probe routine failed for 1 device(s).\n"
        "[ 1843.439669] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build  (dvs-builder@U22)  Mon Jun  2 13:13:04 UTC 2025\n"))
    assert [found[f"driver/{key}"] for key in ("module/version", "module/flavour", "version")] == ["570.158.01", "open", "570.158.01"]


def test_an_older_line_that_loads_the_module_is_of_the_proprietary_one():
    found = facts(FORMAT, "[    8.1] x\nNVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\n")
    assert (found["driver/module/version"], found["driver/module/flavour"]) == ("535.54.03", "proprietary")


def test_lines_whose_time_and_host_were_taken_off_are_counted():
    found = facts(FORMAT, "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=18, name=python3, Ch 00000001 caused by previous Xid 149\n"
                          "kernel: [ 12.500000] NVRM: Xid (PCI:0000:dc:00): 149, NETIR\n")
    assert (found["kernel_log/xid/0000:dc:00.0/45"], found["kernel_log/xid/0000:dc:00.0/149"]) == (1, 1)


def test_a_release_that_was_typed_behind_kernel_is_no_line_of_its_log():
    assert stretches(FORMAT, "os: Debian\nkernel: 6.1.0-18-amd64\n")[0] == []
