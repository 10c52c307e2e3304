"""When packages changed and by whom: one run of a tool is one fact, rotated logs count, and a log that cannot be read is never "nothing happened"."""

from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path

import pytest

from driftwatch.agent import os_history, rotated
from driftwatch.agent.collectors import os_changes
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Unknown, Unreadable
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

HISTORY, DPKG = "/var/log/apt/history.log", "/var/log/dpkg.log"
APT = """
Start-Date: 2024-09-05  04:16:23
Commandline: apt upgrade -y
Requested-By: alice (1000)
Install: linux-image-6.8.0-45-generic:amd64 (6.8.0-45.45, automatic)
Upgrade: libnvidia-compute-550:amd64 (550.90.07-1, 550.107.02-1), libc6:i386 (2.35-1, 2.35-2)
Remove: nvidia-utils-535:amd64 (535.1-1)
Error: Sub-process /usr/bin/dpkg returned an error code (1)
End-Date: 2024-09-05  04:16:37

Start-Date: 2024-09-06  06:00:00
Commandline: /usr/bin/unattended-upgrade
Upgrade: vim:amd64 (2:8, 2:9)
"""
OLDER = "\nStart-Date: 2024-08-01  10:00:00\nCommandline: apt install less\nInstall: less:amd64 (590-1)\nEnd-Date: 2024-08-01  10:00:05\n"
LINES = """2024-09-05 04:16:20 startup archives unpack
2024-09-05 04:16:27 upgrade libnvidia-compute-550:amd64 550.90.07-1 550.107.02-1
2024-09-05 04:16:27 status installed libnvidia-compute-550:amd64 550.107.02-1
2024-09-07 12:00:00 install gdrcopy:amd64 <none> 2.4-1
2024-09-07 12:00:30 upgrade gdrcopy:amd64 2.4-1 2.5-1
2024-09-07 12:00:31 remove nano:amd64 7-1 <none>
2024-09-07 15:00:00 purge nano:amd64 7-1 <none>
"""
DNF = """2024-09-05T06:16:20+0200 INFO --- logging initialized ---
2024-09-05T06:16:21+0200 SUBDEBUG Upgrade: kernel-core-5.14.0-503.el9.x86_64
2024-09-05T06:16:22+0200 SUBDEBUG Upgraded: kernel-core-5.14.0-427.el9.x86_64
2024-09-05T06:16:23+0200 SUBDEBUG Installed: kmod-nvidia-3:580.95.05-1.el9.x86_64
2024-09-05T06:16:24+0200 SUBDEBUG Erase: nano-5.6.1-6.el9.x86_64
"""
UNATTENDED = """2024-09-06 06:00:01,123 INFO Package nvidia-dkms-550 is kept back because a related package is kept back or due to local apt_preferences(5).
2024-09-06 06:00:02,123 ERROR Installing the upgrades failed!
2024-09-06 06:00:03,123 WARNING Found /var/run/reboot-required, rebooting
"""


def test_one_run_of_apt_is_one_fact(tmp_path):
    facts, status, _ = told(os_changes.collect, recorded(tmp_path, {HISTORY: APT}))
    assert status == "ok"
    assert facts["os_changes/2024-09-05T04:16:23Z"] == {
        "at": "2024-09-05T04:16:23Z", "tool": "apt", "by": "alice", "command": "apt upgrade -y",
        "error": "Sub-process /usr/bin/dpkg returned an error code (1)",
        "packages": {
            "linux-image-6.8.0-45-generic": (None, "6.8.0-45.45"), "libnvidia-compute-550": ("550.90.07-1", "550.107.02-1"), "libc6:i386": ("2.35-1", "2.35-2"),
            "nvidia-utils-535": ("535.1-1", None),
        },
    }


def test_a_run_whose_end_was_never_written_is_said_to_be_unfinished(tmp_path):
    facts = told(os_changes.collect, recorded(tmp_path, {HISTORY: APT}))[0]
    last = facts["os_changes/2024-09-06T06:00:00Z"]
    assert (last["tool"], last["by"], last["unfinished"]) == ("unattended-upgrades", None, True)


def test_what_dpkg_did_for_apt_is_not_told_twice_and_what_it_did_alone_is_its_own_run(tmp_path):
    facts = told(os_changes.collect, recorded(tmp_path, {HISTORY: APT, DPKG: LINES}))[0]
    alone = {path: fact["packages"] for path, fact in facts.items() if path.startswith("os_changes/") and fact["tool"] == "dpkg"}
    assert alone == {
        "os_changes/2024-09-07T12:00:00Z": {"gdrcopy": (None, "2.5-1"), "nano": ("7-1", None)}, "os_changes/2024-09-07T15:00:00Z": {"nano": ("7-1", None)},
    }


def test_rotated_and_packed_logs_are_read_too(tmp_path):
    host = recorded(tmp_path, {HISTORY: APT})
    (tmp_path / "files/var/log/apt/history.log.1.gz").write_bytes(gzip.compress(OLDER.encode()))
    facts = told(os_changes.collect, host)[0]
    assert facts["os_changes/2024-08-01T10:00:00Z"]["packages"] == {"less": (None, "590-1")}
    assert facts["os_changes_since"] == "2024-08-01T10:00:00Z"


def test_a_damaged_log_leaves_the_rest_known_and_all_else_unknown(tmp_path):
    host = recorded(tmp_path, {HISTORY: APT})
    (tmp_path / "files/var/log/apt/history.log.1.gz").write_bytes(gzip.compress(OLDER.encode())[:-12])
    facts, status, _ = told(os_changes.collect, host)
    assert (status, facts["os_changes"].status) == ("ok", "error")
    assert "os_changes/2024-09-05T04:16:23Z" in facts


def test_a_log_that_may_not_be_read_is_denied_and_never_empty(tmp_path):
    facts, status, _ = told(os_changes.collect, recorded(tmp_path, {HISTORY: APT, DPKG: ""}, denied=["/var/log/apt"]))
    assert (status, facts["os_changes"].status) == ("ok", "denied")


def test_a_host_that_keeps_no_such_log_has_none(tmp_path):
    assert told(os_changes.collect, recorded(tmp_path, {"/etc/hostname": "gpu-a"}))[1] == "absent"


def test_an_empty_log_right_after_its_rotation_is_an_answer(tmp_path):
    assert told(os_changes.collect, recorded(tmp_path, {HISTORY: "", DPKG: "\n"}))[:2] == ({}, "ok")


def test_moments_of_dnf_are_told_in_utc_with_the_call_that_made_them(tmp_path):
    files = {"/var/log/dnf.rpm.log": DNF, "/var/log/dnf.log": "2024-09-05T04:16:00+0000 DDEBUG Command: dnf upgrade -y \n"}
    facts = told(os_changes.collect, recorded(tmp_path, files))[0]
    assert facts["os_changes/2024-09-05T04:16:21Z"] == {
        "at": "2024-09-05T04:16:21Z", "tool": "dnf", "by": None, "command": "dnf upgrade -y",
        "packages": {
            "kernel-core": ("5.14.0-427.el9", "5.14.0-503.el9"), "kmod-nvidia": (None, "3:580.95.05-1.el9"), "nano": ("5.6.1-6.el9", None),
        },
    }


def test_what_unattended_upgrades_kept_back_and_broke_is_told(tmp_path):
    facts = told(os_changes.collect, recorded(tmp_path, {HISTORY: APT, os_changes.UNATTENDED: UNATTENDED}))[0]
    assert facts["unattended_upgrades/kept_back"] == ["nvidia-dkms-550"]
    assert facts["unattended_upgrades/errors"] == ["2024-09-06 06:00:02 Installing the upgrades failed!"]
    assert facts["unattended_upgrades/reboots"] == ["2024-09-06 06:00:03"]


def test_only_the_newest_fifty_are_told_and_packages_of_no_importance_are_counted(tmp_path):
    many = ", ".join(f"font-{number}:all (1)" for number in range(100))
    starts = [f"2024-09-05  04:{number // 60:02}:{number % 60:02}" for number in range(70)]
    text = "\n".join(f"Start-Date: {start}\nInstall: {many}\nEnd-Date: 2024-09-05  05:00:00\n" for start in starts)
    facts = told(os_changes.collect, recorded(tmp_path, {HISTORY: text}))[0]
    runs = [fact for path, fact in facts.items() if path.startswith("os_changes/")]
    assert (len(runs), len(runs[0]["packages"]), runs[0]["more"]) == (50, 30, 70)
    assert facts["os_changes_since"] == "2024-09-05T04:00:20Z"


def test_two_runs_in_one_second_are_both_told(tmp_path):
    text = OLDER + OLDER.replace("less", "more")
    facts = told(os_changes.collect, recorded(tmp_path, {HISTORY: text}))[0]
    assert {"os_changes/2024-08-01T10:00:00Z", "os_changes/2024-08-01T10:00:00Z#2"} <= set(facts)


def test_a_command_line_keeps_no_secret(tmp_path):
    text = OLDER.replace("apt install less", "apt -o Acquire::http::Proxy=http://joe:geheim99@proxy:1 install less")
    facts = told(os_changes.collect, recorded(tmp_path, {HISTORY: text}))[0]
    assert "geheim99" not in str(facts)


def test_the_hosts_own_clock_is_turned_into_utc():
    zone = Path("/usr/share/zoneinfo/Europe/Berlin")
    if not zone.exists():
        pytest.skip("no zone files on this machine")
    found = os_history.zone_of(zone.read_bytes())
    if found is None:
        pytest.skip("this Python has no zoneinfo: it tells the host's own time, without Z")
    moments = [os_history.told_at(os_history.moment(text), found) for text in ("2024-09-05 06:16:23", "2024-12-05 06:16:23")]
    assert moments == ["2024-09-05T04:16:23Z", "2024-12-05T05:16:23Z"]


@pytest.mark.parametrize("data", [b"", b"TZif", b"TZif2" + b"\0" * 60, b"no zone at all"])
def test_a_zone_that_cannot_be_read_leaves_the_moment_in_the_hosts_own_time(data):
    assert os_history.zone_of(data) is None
    assert os_history.told_at(datetime(2024, 9, 5, 6, 16, 23), None) == "2024-09-05T06:16:23"  # noqa: DTZ001  # the host's own time is the point


def test_without_a_zone_file_the_clock_is_utc():
    assert os_history.told_at(os_history.moment("2024-09-05  06:16:23"), os_history.zone_of(None)) == "2024-09-05T06:16:23Z"


@pytest.mark.parametrize("parse", [os_history.parse_apt, os_history.parse_dpkg, os_history.parse_dnf])
def test_a_log_of_no_sense_is_refused(parse):
    with pytest.raises(Unreadable, match="in '"):
        parse("\0\0\0 not a log \0\0")


def test_logs_are_read_from_the_newest_to_the_oldest():
    names = ["dpkg.log.10.gz", "dpkg.log.2.gz", "dpkg.log", "dpkg.log.1", "dpkg.log.bak", "alternatives.log", "dpkg.logger"]
    assert rotated.newest_first(names, "dpkg.log") == ["dpkg.log", "dpkg.log.1", "dpkg.log.2.gz", "dpkg.log.10.gz"]
    dated = ["dnf.rpm.log-20240801", "dnf.rpm.log", "dnf.rpm.log-20240901.gz"]
    assert rotated.newest_first(dated, "dnf.rpm.log") == ["dnf.rpm.log", "dnf.rpm.log-20240901.gz", "dnf.rpm.log-20240801"]


def test_a_packed_log_that_would_fill_the_memory_is_refused():
    with pytest.raises(Unreadable, match="larger than"):
        rotated.unpacked("a.gz", gzip.compress(b"\0" * (rotated.MOST_BYTES + 1)))


def test_a_log_in_another_packing_is_refused_by_name():
    with pytest.raises(Unreadable, match=r"a\.xz"):
        rotated.unpacked("a.xz", b"\xfd7zXZ")


def test_this_machine_gives_an_answer():
    facts, status, _ = told(os_changes.collect, Host(RealRoot(), Settings()))
    assert status in ("ok", "absent")
    assert [path for path, value in facts.items() if isinstance(value, Unknown) and value.status == "error"] == []


def test_every_fact_is_one_that_the_probe_answers_for(tmp_path):
    facts, _, _ = told(os_changes.collect, recorded(tmp_path, {HISTORY: APT, DPKG: LINES, os_changes.UNATTENDED: UNATTENDED}))
    assert [path for path in facts if not matches(path, os_changes.PROBES[0].tells)] == []
