"""A Slurm cluster on one machine: munge, one slurmctld and a slurmd a node, all below one folder, on loopback, ended by their ids.

It needs root and Debian's packages slurmctld, slurmd, slurm-client and munge; no service of theirs need be started. Every node is this machine, under
a name and a port of its own.
"""
from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.lab.sshd import end_tree, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEEDED = ("munged", "mungekey", "slurmctld", "slurmd", "sinfo", "srun", "scontrol")
CONFIG = """\
ClusterName=dw
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d_%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/d_%n.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
SlurmctldTimeout=30
SlurmdTimeout=300
KillWait=2
UnkillableStepTimeout=5
MpiDefault=none
TreeWidth=16
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=100 State=UNKNOWN\n"


@dataclass
class Cluster:
    """A running cluster: its configuration file and the process of each node's slurmd."""

    folder: Path
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    busy: dict[str, str] = field(default_factory=dict)

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SRUN_"))}
        return {**kept, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *words: str, wait_s: float = 10) -> str:
        """Return what one of Slurm's commands prints."""
        ran = subprocess.run(words, env=self.environ, capture_output=True, text=True, timeout=wait_s, check=True)
        return ran.stdout.strip()

    def freeze(self, node: str) -> None:
        """Stop a node's slurmd, as a machine that hangs: Slurm does not know of it yet."""
        os.kill(self.nodes[node].pid, signal.SIGSTOP)

    def drain(self, node: str, reason: str) -> None:
        self.run("scontrol", "update", f"nodename={node}", "state=drain", f"reason={reason}")

    def jobs(self) -> list[str]:
        """Return the names of all jobs that run or wait."""
        return self.run("squeue", "--noheader", "--format=%j").split()


def require_slurm() -> None:
    missing = [one for one in NEEDED if shutil.which(one) is None]
    if missing or os.geteuid() != 0:
        why = f"missing: {', '.join(missing)}" if missing else "it needs root"
        pytest.skip(f"no Slurm cluster here ({why}); to run it, as root: apt-get install --no-install-recommends slurmctld slurmd slurm-client munge")


@contextmanager
def running_cluster(folder: Path, count: int, more: str = "") -> Iterator[Cluster]:
    """Run a cluster of nodes n1, n2 … with these further lines of slurm.conf; skip where it does not come up."""
    require_slurm()
    cluster = Cluster(folder)
    started: list[subprocess.Popen[bytes]] = []
    try:
        _write(folder, count, more)
        started.append(_start(cluster, "munged", *_munge(folder)))
        _await((folder / "munge.sock").exists, folder, "munged")
        started.append(_start(cluster, "slurmctld", "-c", "-D"))
        for number in range(1, count + 1):
            cluster.nodes[f"n{number}"] = _start(cluster, "slurmd", "-D", "-N", f"n{number}")
        _await(lambda: _states(cluster) == ["idle"] * count, folder, "sinfo")
        yield cluster
    finally:
        for one in cluster.nodes.values():
            os.kill(one.pid, signal.SIGCONT)
        _cancel_all(cluster)
        daemons = (*cluster.nodes.values(), *reversed(started))
        for one in daemons:
            one.terminate()
        for one in daemons:
            _end(one)


def _cancel_all(cluster: Cluster) -> None:
    """Cancel all jobs and wait for their steps, which are no children of ours."""
    with suppress(subprocess.SubprocessError):
        cluster.run("scancel", "--user=root", "--signal=KILL", "--full")
        cluster.run("scancel", "--user=root")
    stop = time.monotonic() + 6
    while time.monotonic() < stop:
        with suppress(subprocess.SubprocessError):
            if not cluster.jobs():
                return
        time.sleep(0.1)


def _end(daemon: subprocess.Popen[bytes]) -> None:
    """Wait for a daemon that was told to end, and for its helpers; kill what does not."""
    try:
        daemon.wait(5)
    except subprocess.TimeoutExpired:
        end_tree(daemon.pid)
        daemon.wait(5)


def _munge(folder: Path) -> list[str]:
    return ["--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.sock", f"--pid-file={folder}/munge.pid",
            f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"]


def _write(folder: Path, count: int, more: str) -> None:
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o600)
    nodes = "".join(NODE.format(name=f"n{number}", host=socket.gethostname(), port=free_port()) for number in range(1, count + 1))
    text = CONFIG.format(host=socket.gethostname(), folder=folder, port=free_port())
    (folder / "slurm.conf").write_text(text.replace("PartitionName", nodes + more + "PartitionName"))


def _start(cluster: Cluster, *words: str) -> subprocess.Popen[bytes]:
    with (cluster.folder / f"{words[0]}.out").open("ab") as told:
        return subprocess.Popen(words, env=cluster.environ, stdin=subprocess.DEVNULL, stdout=told, stderr=told, start_new_session=True)


def _states(cluster: Cluster) -> list[str]:
    with suppress(subprocess.SubprocessError):
        return cluster.run("sinfo", "--noheader", "--Node", "--format=%T").split()
    return []


def _await(is_so, folder: Path, what: str) -> None:
    stop = time.monotonic() + 15
    while not is_so():
        if time.monotonic() > stop:
            told = " ".join(path.read_text(errors="replace")[-200:] for path in sorted(folder.glob("*.out")))
            pytest.skip(f"the Slurm cluster does not come up here ({what}): {told[-400:]}")
        time.sleep(0.1)
