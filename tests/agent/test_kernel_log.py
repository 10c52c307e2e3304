"""The kernel's log: trouble is sorted and counted, equal messages compare equal, and a log that may not be read is never an empty one."""

from __future__ import annotations

import pytest

from driftwatch.agent.collectors import kernel_log
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.kernel_messages import class_of, parse_kernel_log, without_ids
from driftwatch.agent.probe import Unreadable
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

BEGIN = "2026-09-05T08:00:00,100000+00:00 Linux version 6.8.0-100-generic\n"
XID = "NVRM: Xid (PCI:0000:9c:00): {}, pid={}, name=python3, Contained: SM (0x1). RST: No, D-RST: No"
RING, JOURNAL, PREVIOUS = (" ".join(argv) for argv in (kernel_log.RING, kernel_log.JOURNAL, kernel_log.PREVIOUS))
REFUSED = (1, "", "dmesg: read kernel buffer failed: Operation not permitted\n")


def ring(*messages):
    return BEGIN + "".join(f"2026-09-05T09:27:{number:02d},002000+02:00 {message}\n" for number, message in enumerate(messages))


def journal(*messages, begin="Linux version 6.8.0-100-generic"):
    return "".join(f"2026-09-05T09:27:{number:02d}+0200 gpu-a kernel: {message}\n" for number, message in enumerate((begin, *messages)))


def test_messages_of_a_class_are_counted_with_their_first_and_last_time(tmp_path):
    facts, status, _ = told(kernel_log.collect, recorded(tmp_path, {}, {RING: ring(XID.format(94, 4242), "usb 1-1: new device", XID.format(94, 4243))}))
    assert (status, facts["kernel_log/from"]) == ("ok", "dmesg")
    assert facts["kernel_log/xid"] == {"count": 2, "lines": [XID.format(94, "PID")]}
    assert (facts["kernel_log/xid/first"], facts["kernel_log/xid/last"]) == ("2026-09-05T07:27:00Z", "2026-09-05T07:27:02Z")
    assert facts["kernel_log/xid/0000:9c:00.0/94"] == 2


def test_the_journal_is_asked_where_the_ring_buffer_may_not_be_read(tmp_path):
    facts, status, _ = told(kernel_log.collect, recorded(tmp_path, {}, {RING: REFUSED, JOURNAL: journal(XID.format(79, 1))}))
    assert (status, facts["kernel_log/from"], facts["kernel_log/xid/0000:9c:00.0/79"]) == ("ok", "journalctl", 1)


@pytest.mark.parametrize("said", [
    (127, "", ""),
    (1, "", "Hint: You are currently not seeing messages from other users and the system.\nNo journal files were opened due to insufficient permissions.\n"),
    (0, "-- No entries --\n", "Hint: You are currently not seeing messages from other users and the system.\n"),
])
def test_a_log_that_may_not_be_read_is_denied_and_says_what_to_run(tmp_path, said):
    facts, status, reason = told(kernel_log.collect, recorded(tmp_path, {}, {RING: REFUSED, JOURNAL: said}))
    assert (facts, status) == ({}, "denied")
    assert "run as root" in reason
    assert "dmesg --time-format iso" in reason


def test_a_log_that_lost_its_start_leaves_open_what_it_does_not_tell(tmp_path):
    late = "2026-09-05T09:27:23,000000+00:00 nfs: server server1 not responding, still trying\n"
    facts, status, _ = told(kernel_log.collect, recorded(tmp_path, {}, {RING: late, JOURNAL: (127, "", "")}))
    assert (status, facts["kernel_log"].status) == ("ok", "not_recorded")
    assert facts["kernel_log/nfs"]["count"] == 1


def test_the_journal_counts_where_it_reaches_further_back_than_the_ring_buffer(tmp_path):
    late = "2026-09-05T10:27:23,000000+02:00 nfs: server server1 not responding, still trying\n"
    facts, _, _ = told(kernel_log.collect, recorded(tmp_path, {}, {RING: late, JOURNAL: journal(XID.format(79, 1))}))
    assert (facts["kernel_log/from"], "kernel_log" in facts, "kernel_log/xid" in facts) == ("journalctl", False, True)


def test_the_boot_before_is_told_beside_this_one(tmp_path):
    facts, _, _ = told(kernel_log.collect, recorded(tmp_path, {}, {RING: ring(), PREVIOUS: journal(XID.format(79, 1))}))
    assert ("kernel_log/xid" in facts, facts["kernel_log/previous/xid/0000:9c:00.0/79"]) == (False, 1)


@pytest.mark.parametrize("said", [
    None, (1, "", "Specifying boot ID or boot offset has no effect, no persistent journal was found.\n"),
    (1, "", "Data from the specified boot (-1) is not available: No such boot ID in journal\n"),
])
def test_a_boot_before_of_which_nothing_is_kept_is_unknown(tmp_path, said):
    facts, status, _ = told(kernel_log.collect, recorded(tmp_path, {}, {RING: ring(), **({PREVIOUS: said} if said else {})}))
    assert (status, facts["kernel_log/previous"].status) == ("ok", "not_recorded")


def test_an_old_dmesg_without_iso_times_is_asked_once_more_without_them(tmp_path):
    log = "[    0.000000] Linux version 3.10.0\n[   12.345678] " + XID.format(79, 1) + "\n"
    commands = {RING: (1, "", "dmesg: unrecognized option '--time-format'\n"), "dmesg": log}
    facts, status, _ = told(kernel_log.collect, recorded(tmp_path, {}, commands))
    assert (status, facts["kernel_log/xid"]["count"], "kernel_log/xid/first" in facts) == ("ok", 1, False)


def test_a_message_of_several_lines_is_one():
    begin, rest = "NVRM: API mismatch: the client has the version 550.107.02, but", "this kernel module has the version 550.90.07.  Please"
    found = parse_kernel_log(ring(begin, "NVRM: " + rest)).classes["api_mismatch"]
    assert (found.many, found.lines) == (1, [begin + " " + rest])


def test_line_ends_that_syslog_escaped_are_line_ends():
    text = journal("NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x26:0xffff:1482)#012NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.")
    assert {name: found.many for name, found in parse_kernel_log(text).classes.items()} == {"nvrm": 1, "xid": 1}


def test_at_most_five_lines_that_differ_are_kept_and_all_are_counted():
    account = parse_kernel_log(ring(*(XID.format(number % 7 + 40, number) for number in range(50))))
    assert (account.classes["xid"].many, len(account.classes["xid"].lines), len(account.places)) == (50, 5, 7)


@pytest.mark.parametrize(("name", "message"), [
    ("sxid", "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 22013, Non-fatal, Link 40 Minion Link DLREQ interrupt"),
    ("xid", "NVRM: Xid (PCI:0000:07:00 GPU-I:02): 94, pid=1, name=x, Contained: SM"),
    ("nvrm", "NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x26:0xffff:1482)"),
    ("module_refused", "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client"),
    ("module_refused", "Loading of unsigned module is rejected"),
    ("oom_kill", "Memory cgroup out of memory: Killed process 812 (python3) total-vm:812kB, anon-rss:8kB"),
    ("nfs", "nfs: server server1 not responding, still trying"),
    ("network_fs", "CIFS: VFS: \\\\nas has not responded in 180 seconds. Reconnecting..."),
    ("aer", "pcieport 0000:16:01.0: AER: Multiple Corrected error message received from 0000:18:00.0"),
    ("pcie", "pci 0000:08:00.0: VF BAR 2 [mem size 0x10000000 64bit pref]: failed to assign"),
    ("mlx5", "mlx5_core 0000:01:00.0: mlx5_pcie_event:326:(pid 12): Detected insufficient power on the PCIe slot (27W)."),
    ("io_error", "blk_update_request: I/O error, dev nvme0n1, sector 12 op 0x0"),
    ("hung_task", "INFO: task python3:38740 blocked for more than 120 seconds."),
    ("lockup", "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python3:11]"),
    ("machine_check", "EDAC MC0: 1 CE memory read error on CPU_SrcID#0"),
    ("iommu_fault", "AMD-Vi: Event logged [IO_PAGE_FAULT device=41:00.0 domain=0x001b address=0x0]"),
    ("segfault", "python3[811]: segfault at 0 ip 00007f4ace8fe86c sp 00007ffeb3fda540 error 6 in libnvidia-ml.so.1[286c,7f4ace8fe000+2000]"),
    ("service_failed", "systemd[1]: nvidia-persistenced.service: Failed with result 'exit-code'."),
])
def test_a_message_of_trouble_has_its_class(name, message):
    assert class_of(message) == name


@pytest.mark.parametrize("message", [
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.126.09", "mlx5_core 0000:18:00.0: firmware version: 28.43.2026",
    "nvidia: module verification failed: signature and/or required key missing - tainting kernel", "pcieport 0000:00:01.0: AER: enabled with IRQ 35",
    "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.", "EDAC MC0: Giving out device to module skx_edac",
    "Kernel command line: ro rcupdate.rcu_cpu_stall_timeout=60 panic=1", "systemd[1]: Reached target Multi-User System.",
])
def test_a_healthy_boot_tells_of_no_trouble(message):
    assert class_of(message) == ""


def test_process_ids_and_addresses_do_not_tell_two_messages_apart():
    one = "python[11606]: segfault at 0 ip 00007f4ace8fe86c sp 00007ffeb3fda540 error 6 in libnvidia-ml.so.1[286c,7f4ace8fe000+2000]"
    other = "python[73]: segfault at 0 ip 00007f0000001000 sp 00007ffe00002000 error 6 in libnvidia-ml.so.1[286c,7f0000000000+2000]"
    assert without_ids(one) == without_ids(other)
    assert without_ids("Out of memory: Killed process 812 (python3)") == "Out of memory: Killed process PID (python3)"


def test_a_text_that_is_no_log_is_refused():
    with pytest.raises(Unreadable, match="no line of a kernel log"):
        parse_kernel_log("usage: dmesg\n")


def test_a_log_of_two_hundred_thousand_idle_lines_tells_of_no_trouble():
    account = parse_kernel_log(ring(*["audit: type=1400 apparmor=ALLOWED operation=open profile=x name=/proc/1/status"] * 100) * 2000)
    assert account.classes == {}


def test_every_fact_is_one_that_the_probe_answers_for_and_times_are_volatile(tmp_path):
    facts, _, _ = told(kernel_log.collect, recorded(tmp_path, {}, {RING: ring(XID.format(79, 1)), PREVIOUS: journal(XID.format(79, 1))}))
    probe = kernel_log.PROBES[0]
    assert [path for path in facts if not matches(path, probe.tells)] == []
    assert not any(isinstance(value, str) for path, value in facts.items() if not matches(path, probe.volatile))


def test_this_machine_is_told_or_says_why_not():
    facts, status, reason = told(kernel_log.collect, Host(RealRoot(), Settings()))
    assert (status in ("ok", "denied"), bool(facts) or bool(reason)) == (True, True)
