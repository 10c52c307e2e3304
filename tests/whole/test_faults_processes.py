"""Whole snapshots of this machine while processes that look like a server hide their environment, map what is gone, or are stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.serving_lab import start_server
from tests.lab.shared_objects import library
from tests.whole.faults import take

SERVER = r"""
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char **environ;

/* A launch process with one rank that maps the library given last and then overwrites its arguments and its environment, as title setters do. */
int main(int count, char **words) {
    char path[4096], *start = words[0], *end = words[count - 1] + strlen(words[count - 1]) + 1;
    for (char **one = environ; *one; one++) end = *one + strlen(*one) + 1;
    strncpy(path, words[count - 1], sizeof path - 1);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!dlopen(path, RTLD_NOW)) { fprintf(stderr, "%s\n", dlerror()); return 1; }
        memset(start, 0, end - start);
        strcpy(start, "sglang::scheduler_TP0");
        prctl(PR_SET_NAME, "sglang::schedul");
        write(1, "x", 1);
    }
    for (;;) pause();
}
"""


@contextlib.contextmanager
def running(child):
    """Yield a server's pid; at the end all of it is gone."""
    try:
        yield child.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGCONT)
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(10)


@pytest.fixture
def c_server(tmp_path):
    """A server of a small C program and the library that its rank maps."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here: the program cannot be made")
    source, program = tmp_path / "server.c", tmp_path / "python3"
    source.write_text(SERVER)
    subprocess.run(["gcc", "-w", "-D_GNU_SOURCE", "-o", program, source, "-ldl"], check=True)
    nccl = library(tmp_path / "lib/libnccl.so.2", "int nccl;")
    words = ["python3", "-m", "sglang.launch_server", "--model-path", "/models/m", "--port", "31901", str(nccl)]
    child = subprocess.Popen(words, executable=program, stdout=subprocess.PIPE, start_new_session=True, env={"NCCL_DEBUG": "WARN", "HOME": str(tmp_path)})
    assert child.stdout is not None
    with running(child) as pid, child.stdout:
        assert child.stdout.read(1) == b"x"
        yield pid, nccl


def name_of(facts, pid):
    """Return the path of the server that a process launched: other servers may run on this machine."""
    return next(path[: -len("/launch/pid")] for path, value in facts.items() if path.endswith("/launch/pid") and value == pid)


def test_a_library_that_was_deleted_under_a_rank_with_an_overwritten_environment_is_told_and_the_environment_is_unknown(c_server):
    pid, nccl = c_server
    rank = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
    assert set(Path(f"/proc/{rank}/environ").read_bytes()) <= {0}
    nccl.unlink()
    taken = take(only=("servers", "libraries", "targets"))
    top = name_of(taken.snapshot.facts, pid)
    assert taken.statuses["servers"] == "ok"
    assert "all NUL bytes" in taken.reason_of(f"{top}/scheduler_TP0/env")
    assert taken.status_of(f"{top}/scheduler_TP0/env/NCCL_DEBUG") == "error"
    assert taken.snapshot.facts[f"{top}/env/NCCL_DEBUG"] == "WARN"
    assert f"{nccl} (deleted)" in taken.snapshot.facts["libraries/libnccl/files"]
    assert any("scheduler_TP0" in one for one in taken.snapshot.facts["libraries/libnccl/deleted"])
    assert taken.left == ()
    os.kill(rank, 0)
    assert Path(f"/proc/{rank}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def test_ranks_that_retitled_themselves_and_a_server_that_is_stopped_hold_nobody(tmp_path):
    pytest.importorskip("setproctitle", reason="the ranks retitle themselves with it")
    with running(start_server(tmp_path, 31902, {"NCCL_DEBUG": "WARN"})) as pid:
        os.killpg(pid, signal.SIGSTOP)
        taken = take(pythons=(sys.executable,))
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    top = name_of(taken.snapshot.facts, pid)
    assert state == "T"
    assert not {"timeout", "error", "died", "lost"} & set(taken.statuses.values())
    assert ["all NUL bytes" in taken.reason_of(f"{top}/{role}/env") for role in ("scheduler_TP0", "scheduler_TP1", "detokenizer")] == [True] * 3
    assert taken.snapshot.facts[f"{top}/launch/state"] == "T"
    assert taken.left == ()
    assert taken.wall_s < 17.0
