"""Who holds GPUs, by the files they have open: by name, with parent and owner; who cannot be seen is unknown, never nobody."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from driftwatch.agent.collectors import holders
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Unknown
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent import lab
from tests.agent.lab import planned
from tests.agent.recording import recorded, told

GPUS = {
    "/proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-aaaa\nDevice Minor: \t 0\n",
    "/proc/driver/nvidia/gpus/0000:c1:00.0/information": "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-????????-????\nDevice Minor: \t 1\n",
}
BASE = {"/proc/stat": "btime 1771056480\n", "/etc/passwd": "root:x:0:0::/:\nalice:x:1005:1005::/:\n", **GPUS}
CONTAINER = "933f28ac087333d5fcb33e09ca903b102c469f3f9e0e1c8d6adef1b1af4248a8"


def process(pid, name, ppid, *devices, **more):
    """Return the files of /proc of one process."""
    stat = f"{pid} ({name}) {more.get('state', 'S')} {ppid} " + "0 " * 17 + f"{more.get('ticks', 1000)} 0 0\n"
    top = f"/proc/{pid}/"
    files = {top + "stat": stat, top + "cmdline": more.get("cmdline", name + "\0"), top + "status": f"Uid:\t{more.get('uid', 0)}\t0\t0\t0\n"}
    files[top + "cgroup"] = f"0::{more.get('cgroup', '/')}\n"
    files.update({f"{top}{more.get('fd', 'fd')}/{number}": "->" + device for number, device in enumerate(("/dev/null", *devices))})
    return files


INIT = process(1, "systemd", 0, cmdline="/sbin/init\0")
LAUNCH = process(500, "python3", 1, cmdline="python3\0-m\0sglang.launch_server\0--port\x0030000\0", cgroup="/system.slice/sglang.service")
CUT, DEVICES = "sglang::schedul", ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1")
TITLE = "sglang::scheduler_TP0\0\0\0"


def facts_of(folder, *processes, **described):
    files = {path: text for one in (BASE, INIT, *processes) for path, text in one.items()}
    return told(holders.collect, recorded(folder, files, **described))


def test_a_rank_of_a_running_server_is_told_by_its_whole_title(tmp_path):
    facts, status, _ = facts_of(tmp_path, LAUNCH, process(501, CUT, 500, *DEVICES, cmdline=TITLE, uid=1005, cgroup="/system.slice/sglang.service"))
    assert status == "ok"
    assert facts == {f"holders/sglang::scheduler_TP0/{name}": value for name, value in {
        "count": 1, "gpus": ["0000:c1:00.0", "GPU-aaaa"], "state": "S", "pids": [501], "parent": "python3", "used_by": "sglang", "user": "alice",
        "unit": "sglang.service", "started_at": "2026-02-14T08:08:10Z"}.items()}


def test_a_rank_whose_launch_process_is_gone_is_an_orphan(tmp_path):
    facts, _, _ = facts_of(tmp_path, process(501, CUT, 1, *DEVICES, cmdline=TITLE))
    assert (facts["holders/sglang::scheduler_TP0/orphans"], facts["holders/sglang::scheduler_TP0/parent"]) == (1, "systemd")
    assert "holders/sglang::scheduler_TP0/used_by" not in facts


def test_orphans_of_a_container_that_was_removed_are_told_with_its_id(tmp_path):
    workers = [process(pid, "VLLM::Worker", 40, "/dev/nvidia0", cgroup=f"/system.slice/docker-{CONTAINER}.scope") for pid in (41, 42)]
    facts, _, _ = facts_of(tmp_path, process(40, "containerd-shim", 1), *workers)
    assert {name: facts["holders/VLLM::Worker/" + name] for name in ("count", "orphans", "container", "pids")} == {
        "count": 2, "orphans": 2, "container": CONTAINER, "pids": [41, 42]}


@pytest.mark.parametrize(("parent", "line"), [
    (500, "python3\0-c\0from multiprocessing.spawn import spawn_main\0"), (1, "python3\0-m\0ipykernel_launcher\0"), (7200, "python3\0train.py\0"),
    (0, "VLLM::Worker\0"),
])
def test_what_has_its_own_parent_or_never_had_a_launch_process_is_no_orphan(tmp_path, parent, line):
    facts, _, _ = facts_of(tmp_path, LAUNCH, process(501, "python3", parent, *DEVICES, cmdline=line))
    assert "holders/python3/orphans" not in facts
    assert facts["holders/python3/parent"] == {500: "python3", 1: "systemd", 7200: "gone", 0: "outside"}[parent]


def test_a_worker_below_another_orphan_is_an_orphan_too(tmp_path):
    facts, _, _ = facts_of(tmp_path, process(40, "VLLM::EngineCor", 1, "/dev/nvidia0"), process(41, "VLLM::Worker", 40, "/dev/nvidia0"))
    assert facts["holders/VLLM::Worker/orphans"] == 1


def test_a_zombie_whose_threads_still_hold_the_device_holds_it(tmp_path):
    zombie = process(77, "python3", 1, "/dev/nvidia0", state="Z", fd="task/78/fd", cmdline="")
    facts, _, _ = facts_of(tmp_path, zombie, {"/proc/77/task/77/stat": ""})
    assert (facts["holders/python3/state"], facts["holders/python3/gpus"]) == ("Z", ["GPU-aaaa"])


def test_a_stuck_process_is_told_though_its_command_line_never_comes(tmp_path):
    stuck = process(501, CUT, 1, *DEVICES, state="D", cmdline=TITLE)
    facts, status, _ = facts_of(tmp_path, stuck, hangs=["/proc/501/cmdline"])
    assert (status, facts[f"holders/{CUT}/state"], facts[f"holders/{CUT}/count"]) == ("ok", "D", 1)


def test_of_processes_of_one_name_that_differ_all_values_are_told(tmp_path):
    facts, _, _ = facts_of(tmp_path, process(7, "python3", 1, "/dev/nvidia0", ticks=200), process(8, "python3", 1, "/dev/nvidia0", uid=1005, ticks=100))
    assert (facts["holders/python3/user"], facts["holders/python3/started_at"]) == (["alice", "root"], "2026-02-14T08:08:01Z")


def test_open_files_that_may_not_be_listed_leave_the_holders_open(tmp_path):
    facts, status, _ = facts_of(tmp_path, process(7, "python3", 1, "/dev/nvidia0"), process(8, "python3", 1), denied=["/proc/8/fd"], uid=1000)
    assert (status, facts["holders"].status, facts["holders/python3/count"]) == ("ok", "denied", 1)


@pytest.mark.parametrize(("more", "word"), [
    ({"/.dockerenv": ""}, "container"), ({"/proc/self/ns/pid": "->pid:[4026532287]"}, "container"),
    ({"/proc/mounts": "proc /proc proc rw,nosuid,hidepid=2 0 0\n"}, "hidepid"),
])
def test_processes_that_cannot_be_seen_from_here_are_not_nobody(tmp_path, more, word):
    facts, status, _ = facts_of(tmp_path, more, uid=1000)
    assert (status, facts["holders"].status, word in facts["holders"].reason) == ("ok", "denied", True)


def test_a_host_without_holders_is_known_to_have_none(tmp_path):
    assert facts_of(tmp_path, process(7, "bash", 1)) == ({}, "ok", "")


def test_every_fact_is_one_that_the_probe_answers_for_and_only_orphans_weigh(tmp_path):
    facts, _, _ = facts_of(tmp_path, process(501, CUT, 1, *DEVICES, cmdline=TITLE), {"/.dockerenv": ""})
    probe = holders.PROBES[0]
    assert [path for path in facts if not matches(path, probe.tells)] == []
    assert [path for path in facts if not matches(path, probe.volatile)] == ["holders", "holders/sglang::scheduler_TP0/orphans"]


TRIAL = """
def opens(host):
    held = os.open(host.settings.source, os.O_RDONLY)
    time.sleep(0.7)
    yield "opens/held", held

PROBES = (probe(opens, deadline_s=5.0),)
"""


@pytest.fixture
def device():
    """Yield a file of our own that is named as a GPU's device file; of runs side by side one has such a file at a time."""
    path = Path(f"/dev/nvidia-driftwatch-{os.getpid()}")
    turn = os.open("/dev", os.O_RDONLY)
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        path.touch()
        yield path
    except OSError as refused:
        pytest.skip(f"no file can be made in /dev here: {refused}")
    finally:
        path.unlink(missing_ok=True)
        os.close(turn)


def test_a_real_process_that_holds_a_device_is_told_and_the_agents_own_are_not(tmp_path, device):
    script = "import sys, time; held = open(sys.argv[1]); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script, str(device)], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            name = Path(f"/proc/{child.pid}/comm").read_text().strip()
            plan = (planned("opens", deadline_s=5.0), planned("holders", module="holders", deadline_s=10.0))
            run = lab.run(tmp_path, TRIAL, *plan, source=str(device))
        finally:
            child.kill()
    assert {one: run.outcomes[one]["status"] for one in ("opens", "holders")} == {"opens": "ok", "holders": "ok"}
    pids = [pid for path, value in run.facts.items() if path.endswith("/pids") for pid in value]
    assert (run.facts[f"holders/{name}/pids"], pids) == ([child.pid], [child.pid])


def test_this_machine_is_told():
    facts, status, _ = told(holders.collect, Host(RealRoot(), Settings()))
    assert status in ("ok", "denied")
    assert all(path.startswith("holders/") or isinstance(value, Unknown) for path, value in facts.items())
