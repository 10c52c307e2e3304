"""Whole snapshots of this machine while the commands that probes run never answer, ignore TERM, flood, leave children, or cannot be started at all."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driftwatch.agent import processes
from tests.agent import lab, stuck
from tests.agent.installs import venv
from tests.whole.faults import Below, others, take

TOOLS = ("git", "ldconfig", "dmesg", "nvidia-smi", "modinfo", "journalctl")
ASKING = ("git", "driver", "loader", "kernel_log", "nvml", "topology", "nvlink", "p2p", "services", "nccl", "native", "libraries")
DEADLINE_S = 14.0
CUT = dict.fromkeys(ASKING, 2.0)
FAULTS = {
    "never": "exec sleep 900",
    "wraps": "sleep 900\nexit 0",
    "ignores": "trap '' TERM INT HUP\nwhile :; do sleep 1; done",
    "floods": "trap '' PIPE\nexec yes 0123456789012345678901234567890123456789",
    "grandchild": "(trap '' HUP; exec setsid sh -c 'echo $$ > \"$0.child.$$\"; exec sleep 900' \"$HIT/$NAME\") &\nsleep 0.05\nexit 0",
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A git checkout and an interpreter to look at."""
    top = tmp_path_factory.mktemp("commands")
    (top / "repo").mkdir()
    (top / "repo/serve.py").write_text("PORT = 1\n")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "first")):
        if subprocess.run(["git", "-C", top / "repo", *words], check=False).returncode:
            pytest.skip("git does not run here")
    return venv(top / "venv")[0], str(top / "repo")


def stand_ins(folder, fault):
    """Return a folder of programs that misbehave, and one where each notes its pid when it is started."""
    programs, hits = folder / "bin", folder / "hits"
    programs.mkdir()
    hits.mkdir()
    for name in TOOLS:
        head = f'#!/bin/sh\nHIT={shlex.quote(str(hits))}\nNAME={name}\nPATH=/usr/bin:/bin\necho $$ > "$HIT/$NAME.$$"\n'
        (programs / name).write_text(head + fault + "\n")
        (programs / name).chmod(0o755)
    return programs, hits


def started(hits: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in hits.iterdir():
        found.setdefault(one.name.split(".")[0], []).append(int(one.name.rpartition(".")[2]))
    return found


@pytest.fixture(scope="module")
def healthy(checkout):
    return take(pythons=(checkout[0],), source=checkout[1], deadline_s=DEADLINE_S)


@pytest.mark.parametrize("fault", FAULTS)
def test_commands_that_misbehave_cost_what_they_would_have_told_and_leave_no_process(tmp_path, monkeypatch, checkout, healthy, fault):
    programs, hits = stand_ins(tmp_path, FAULTS[fault])
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    taken = take(pythons=(checkout[0],), source=checkout[1], deadline_s=DEADLINE_S, deadlines=CUT)
    called = started(hits)
    assert {"git", "nvidia-smi"} <= set(called)
    assert [pid for pids in called.values() for pid in pids if processes.is_alive(pid)] == []
    assert taken.left == ()
    assert taken.wall_s < DEADLINE_S + 2.0
    assert others(taken, *ASKING) == others(healthy, *ASKING)
    assert not {"lost", "died"} & set(taken.statuses.values())
    assert [path for path in ("git/repo/dirty", "gpus/count", "nvlink/x", "driver/on_disk/version") if taken.status_of(path) not in {"timeout", "error"}] == []
    assert [name for name in ASKING if taken.statuses[name] == "absent" and healthy.statuses[name] != "absent"] == []


def test_a_command_that_no_signal_ends_is_named_and_the_snapshot_ends(tmp_path, monkeypatch, checkout, healthy):
    with stuck.freezer("commands") as group:
        if group is None:
            pytest.skip("no control-group v1 freezer that we may use: no unkillable command can be made this way")
        freeze = f"echo $$ > {group}/cgroup.procs && echo FROZEN > {group}/freezer.state\nexec sleep 900"
        programs, hits = stand_ins(tmp_path, freeze)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        taken = take(pythons=(checkout[0],), source=checkout[1], deadline_s=DEADLINE_S, deadlines=CUT)
        assert taken.wall_s < DEADLINE_S + 2.0
        assert others(taken, *ASKING) == others(healthy, *ASKING)
        assert taken.killable == []
        pids = {pid for found in started(hits).values() for pid in found}
        assert {one["pid"] for one in taken.left} <= pids | {one["pid"] for result in taken.probes.values() for one in result.left_behind}
        told = " ".join(str(one) for one in (taken.probes, taken.snapshot.facts))
        assert [one["pid"] for one in taken.left if str(one["pid"]) not in told] == []


@contextlib.contextmanager
def few_processes(most):
    """Yield a control group in which no more than so many processes and threads may run; None where the kernel gives us none."""
    group = Path(f"/sys/fs/cgroup/pids/driftwatch-{os.getpid()}")
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(most))
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        stop = time.monotonic() + 5
        while group.exists() and time.monotonic() < stop:
            with contextlib.suppress(OSError):
                group.rmdir()
            time.sleep(0.02)


@pytest.mark.parametrize("most", [2, 5])
def test_where_no_process_may_be_started_probes_say_so_and_none_is_absent_for_it(checkout, healthy, most):
    with few_processes(most) as group:
        if group is None:
            pytest.skip("no control group v1 of pids that we may use: forks cannot be refused here")
        taken = take(Below(f"echo $$ > {group}/cgroup.procs", sys.executable), pythons=(checkout[0],), source=checkout[1], deadline_s=DEADLINE_S)
        assert taken.left == ()
    assert set(taken.statuses.values()) <= {"ok", "absent", "error", "not_recorded"}
    assert [name for name, status in taken.statuses.items() if status == "absent" and healthy.statuses[name] != "absent"] == []
    assert any("no child could be started" in result.reason or "cannot be started" in str(taken.snapshot.facts) for result in taken.probes.values())
    assert [result.reason for result in taken.probes.values() if "our fault" in result.reason] == []
    assert taken.status_of("git/repo/dirty") == "error"


def test_where_not_even_python_can_open_its_files_all_probes_are_lost_with_a_reason():
    taken = take(Below("ulimit -n 8", sys.executable), deadline_s=DEADLINE_S)
    assert set(taken.statuses.values()) == {"lost", "not_recorded"}
    assert "before an agent could start" in taken.probes["system"].reason
    assert taken.left == ()


@pytest.mark.parametrize("most", [12, 14, 18])
def test_where_no_file_may_be_opened_probes_say_so_and_none_is_absent_for_it(checkout, healthy, most):
    taken = take(Below(f"ulimit -n {most}", sys.executable), pythons=(checkout[0],), source=checkout[1], deadline_s=DEADLINE_S)
    assert set(taken.statuses.values()) <= {"ok", "absent", "error", "not_recorded"}
    assert [name for name, status in taken.statuses.items() if status == "absent" and healthy.statuses[name] != "absent"] == []
    assert [result.reason for result in taken.probes.values() if "our fault" in result.reason] == []
    assert taken.left == ()


def test_two_large_files_are_hashed_where_no_second_thread_may_be_started(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("a.bin", "b.bin", "c.bin"):
        (tree / name).write_bytes(name.encode() * (1 << 20))
    with few_processes(3) as group:
        if group is None:
            pytest.skip("no control group v1 of pids that we may use: threads cannot be refused here")
        taken = take(Below(f"echo $$ > {group}/cgroup.procs", sys.executable), source=str(tree), only=("sources",))
    assert taken.statuses["sources"] == "ok"
    assert len(taken.snapshot.below("sources/tree/files")) == 3


HUNGRY = """
def hungry(host):
    yield "hungry/before", 1
    with open(os.environ["MEMORY_GROUP"] + "/cgroup.procs", "w") as group:
        group.write(str(os.getpid()))
    kept = []
    while len(kept) < 200:
        kept.append(bytearray(b"x" * (1 << 20)))
    yield "hungry/after", 1

def good(host):
    yield "good/a", 1

PROBES = (probe(hungry, deadline_s=10.0), probe(good))
"""


def test_a_probe_that_the_kernel_ends_for_its_memory_died_and_the_others_answer(tmp_path):
    group = Path(f"/sys/fs/cgroup/memory/driftwatch-{os.getpid()}")
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(40 << 20))
        with contextlib.suppress(OSError):
            (group / "memory.memsw.limit_in_bytes").write_text(str(40 << 20))
    except OSError as refused:
        pytest.skip(f"no control group v1 of memory that we may use: {refused.strerror}")
    try:
        told = lab.run(tmp_path, HUNGRY, lab.planned("hungry", deadline_s=10.0), lab.planned("good"), env={"MEMORY_GROUP": str(group)})
    finally:
        group.rmdir()
    assert told.outcomes["hungry"]["status"] == "died"
    assert "signal 9; out of memory?" in told.outcomes["hungry"]["reason"]
    assert told.facts == {"hungry/before": 1, "good/a": 1}
