"""The agent only looks: its system calls and those of every command that it runs, watched by strace on this very machine.

Nothing is opened for writing but /dev/null, no name is made, changed or removed, nothing is sent over a network, no foreign process gets a signal.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from driftwatch.capture.bundle import bundle
from driftwatch.capture.plan import offers
from driftwatch.capture.take import _planned
from tests.agent.lab import START

NAMES = "creat mkdir mkdirat unlink unlinkat rmdir rename renameat renameat2 link linkat symlink symlinkat mknod mknodat"
STATES = "chmod fchmod fchmodat chown fchown lchown fchownat truncate ftruncate utime utimes utimensat futimesat setxattr lsetxattr fsetxattr removexattr"
SYSTEM = "mount umount2 swapon swapoff reboot init_module finit_module delete_module sethostname settimeofday clock_settime ptrace process_vm_writev"
FORBIDDEN = frozenset(f"{NAMES} {STATES} {SYSTEM}".split())
SIGNALS = frozenset(("kill", "tkill", "tgkill", "pidfd_send_signal"))
SERVICES = ("docker.sock", "/run/systemd/private", "/run/dbus/", "/run/nscd/", "/var/run/nscd/", "/run/systemd/userdb/")
TRACED = ",".join(sorted({*FORBIDDEN, *SIGNALS, "open", "openat", "openat2", "connect", "bind", "sendto", "execve", "clone", "clone3", "fork", "vfork"}))
_CALL = re.compile(r"(?P<pid>\d+)\s+(?P<name>\w+)\((?P<rest>.*)")
_STARTED = re.compile(r"\b(?:clone3?|v?fork)\b.*= (\d+)$")


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Run every probe that needs no name of its own, on a checkout and an interpreter, and return what strace saw."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    folder = tmp_path_factory.mktemp("traced")
    tree = folder / "tree"
    tree.mkdir()
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    for number in range(50):
        (tree / f"module_{number}.py").write_text(f"value = {number}\n", encoding="utf-8")
    subprocess.run(["git", "-C", str(tree), "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "one", "--allow-empty"], check=True)
    asked = [offer for offer in offers() if offer.probe.group in ("", "record")]
    (folder / "agent.zip").write_bytes(bundle(tuple(sorted({offer.module for offer in asked}))))
    settings = {"pythons": [sys.executable], "source": str(tree)}
    order = {"plan": [_planned(offer.probe, offer.module) for offer in asked], "deadline_s": 45, "recorded": None, "key": "6b6579", "settings": settings}
    argv = ["strace", "-f", "-qq", "-s", "300", "-e", f"trace={TRACED}", "-o", str(folder / "calls"), sys.executable, "-I", "-S", "-c", START]
    ran = subprocess.Popen([*argv, str(folder / "agent.zip"), json.dumps(order)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        told = ran.stdout.read()
        if ran.wait(10) and b"ptrace" in ran.stderr.read():
            pytest.skip("strace may trace nothing here")
    finally:
        ran.kill()
        for pipe in (ran.stdin, ran.stdout, ran.stderr):
            pipe.close()
    assert told.count(b'"frame": "probe"') + told.count(b'"frame":"probe"') == len(asked)
    return (folder / "calls").read_text(encoding="utf-8", errors="replace").splitlines()


@pytest.fixture(scope="module")
def calls(lines):
    """Return the system calls as (pid, name, rest)."""
    return [(found["pid"], found["name"], found["rest"]) for line in lines if (found := _CALL.match(line))]


def test_nothing_is_opened_for_writing_but_dev_null(calls):
    opened = [rest for _, name, rest in calls if name.startswith("open") and re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE", rest)]
    assert [rest for rest in opened if '"/dev/null"' not in rest] == []


def test_no_name_is_made_changed_or_removed_and_the_system_is_left_as_it_is(calls):
    assert [(name, rest) for _, name, rest in calls if name in FORBIDDEN] == []


def test_nothing_is_connected_but_the_sockets_of_services_on_this_machine(calls):
    reached = [rest for _, name, rest in calls if name in ("connect", "sendto", "bind") and "NULL, 0)" not in rest and "AF_NETLINK" not in rest]
    known = ("AF_UNIX}", *SERVICES)  # one without a name of its own, or a service's
    assert [rest for rest in reached if "AF_UNIX" not in rest or not any(one in rest for one in known)] == []


def test_signals_go_to_what_the_agent_started_only(lines, calls):
    started = {found[1] for line in lines if (found := _STARTED.search(line))} | {pid for pid, _, _ in calls}
    aimed = {re.split(r"[,)]", rest)[0].strip().lstrip("-") for _, name, rest in calls if name in SIGNALS}
    assert aimed - started - {"0"} == set()


def test_the_watch_sees_what_it_looks_for(calls):
    assert {"openat", "execve"} <= {name for _, name, _ in calls}
    assert os.path.basename(sys.executable) in "".join(rest for _, name, rest in calls if name == "execve")  # noqa: PTH119  # a part of a text
