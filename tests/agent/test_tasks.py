"""Tasks that are stuck in the kernel: they are told by name and place, those that only wait a moment are not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driftwatch.agent.collectors import tasks
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent import stuck
from tests.agent.recording import recorded, told


def task(folder, name, state, wchan="0"):
    """Return the files of /proc of one task."""
    number = folder.rpartition("/")[2]
    stat = f"{number} ({name}) {state} 1 " + "0 " * 17 + "1000 0 0\n"
    return {folder + "/stat": stat, folder + "/status": "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t1\n", folder + "/wchan": wchan}


def facts_of(folder, *some, **described):
    return told(tasks.collect, recorded(folder, {path: text for one in some for path, text in one.items()}, **described))


def test_stuck_tasks_are_counted_by_name_with_the_place_where_they_wait(tmp_path):
    workers = [task(f"/proc/{pid}", "VLLM::Worker_TP", "D", "rpc_wait_bit_killable") for pid in (40, 41)]
    facts, status, _ = facts_of(tmp_path, task("/proc/1", "systemd", "S"), *workers)
    assert status == "ok"
    assert facts == {"tasks/stuck/VLLM::Worker_TP": {"count": 2, "wchan": "rpc_wait_bit_killable"}, "tasks/count": 3, "tasks/threads": 3}


def test_a_stuck_thread_of_a_process_that_is_not_stuck_is_told(tmp_path):
    threads = [task("/proc/40/task/40", "python3", "S"), task("/proc/40/task/47", "pt_data_worker", "D", "nfs_wait_bit_killable")]
    facts, _, _ = facts_of(tmp_path, task("/proc/40", "python3", "S"), *threads)
    assert (facts["tasks/stuck/pt_data_worker"]["count"], facts["tasks/threads"]) == (1, 2)


def test_workers_of_the_kernel_are_one_name_whatever_their_number(tmp_path):
    facts, _, _ = facts_of(tmp_path, task("/proc/7", "kworker/u256:3", "D", "msleep"), task("/proc/8", "kworker/0:1H", "D", "io_schedule"))
    assert facts["tasks/stuck/kworker"] == {"count": 2, "wchan": "io_schedule, msleep"}


def test_a_place_that_is_not_told_is_null(tmp_path):
    facts, _, _ = facts_of(tmp_path, task("/proc/7", "python3", "D", "0"), task("/proc/8", "cp", "D"), denied=["/proc/8/wchan"])
    assert (facts["tasks/stuck/python3"]["wchan"], facts["tasks/stuck/cp"]["wchan"]) == (None, None)


def test_zombies_are_counted_by_name_and_are_volatile(tmp_path):
    facts, _, _ = facts_of(tmp_path, task("/proc/7", "python3", "Z"), task("/proc/8", "python3", "Z"))
    assert (facts["tasks/zombies/python3"], matches("tasks/zombies/python3", tasks.PROBES[0].volatile)) == (2, True)


def test_from_a_container_the_tasks_outside_are_unknown(tmp_path):
    facts, status, _ = facts_of(tmp_path, task("/proc/1", "bash", "S"), {"/.dockerenv": ""})
    assert (status, facts["tasks"].status) == ("ok", "denied")


def test_every_fact_is_one_that_the_probe_answers_for(tmp_path):
    facts, _, _ = facts_of(tmp_path, task("/proc/7", "a/b", "D"), task("/proc/8", "c", "Z"), {"/.dockerenv": ""})
    assert "tasks/stuck/a%2Fb" in facts
    assert [path for path in facts if not matches(path, tasks.PROBES[0].tells)] == []


def test_a_real_task_that_is_frozen_in_the_kernel_is_stuck_and_a_busy_one_is_not(request):
    busy = "import os\nwhile True: os.sched_yield()"
    with stuck.freezer(request.node.name[:20]) as group, subprocess.Popen([sys.executable, "-c", busy]) as other:
        try:
            if group is None:
                pytest.skip("no control-group v1 freezer that we may use: no unkillable child can be made this way")
            with subprocess.Popen(["sleep", "61.5"]) as child:
                (group / "cgroup.procs").write_text(str(child.pid))
                (group / "freezer.state").write_text("FROZEN")
                _wait_for_state(child.pid)
                facts, status, _ = told(tasks.collect, Host(RealRoot(), Settings()))
                (group / "freezer.state").write_text("THAWED")
                child.kill()
        finally:
            other.kill()
    assert (status, facts["tasks/stuck/sleep"]["count"] >= 1) == ("ok", True)
    assert facts["tasks/threads"] >= facts["tasks/count"] > 1


def _wait_for_state(pid):
    stop = time.monotonic() + 5
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "D":
        if time.monotonic() > stop:
            pytest.skip("a frozen task does not show as D on this kernel")
        os.sched_yield()
