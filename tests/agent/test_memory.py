"""Pools of the host's memory: what is set up is compared, what is in use is volatile, and a kill for want of memory is never missed."""

from __future__ import annotations

import pytest

from driftwatch.agent.collectors import memory
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Unreadable
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

HUGE = memory.HUGE + "/hugepages-2048kB/"
FILES = {
    "/proc/vmstat": "nr_free_pages 300000\npswpin 5\nnuma_miss 7\noom_kill 2\n",
    "/proc/meminfo": "MemTotal: 9 kB\nCmaTotal:   65536 kB\nSwapTotal:       0 kB\n",
    HUGE + "nr_hugepages": "16\n", HUGE + "free_hugepages": "15\n", "/proc/buddyinfo": "Node 0, zone   Normal   11960   8986     59    632 \n",
    "/sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:       1000 kB\nNode 1 MemFree:         300 kB\nNode 1 FilePages:       600 kB\n",
    "/proc/swaps": "Filename\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/nvme0n1p3                          partition\t8388604\t\t0\t\t-2\n",
}


def test_every_pool_is_told(tmp_path):
    facts, status, _ = told(memory.collect, recorded(tmp_path, FILES))
    assert (status, facts) == ("ok", {
        "memory/oom_kills": 2, "memory/cma_total_kib": 65536, "memory/swap_total_kib": 0, "memory/hugepages/2048kB/total": 16,
        "memory/hugepages/2048kB/free": 15, "memory/nodes/1/total_kib": 1000, "memory/nodes/1/free_kib": 300, "memory/nodes/1/cache_kib": 600,
        "swap/%2Fdev%2Fnvme0n1p3": {"type": "partition", "size_kib": 8388604, "priority": -2}, "memory/events/pswpin": 5, "memory/events/numa_miss": 7,
        "memory/free_blocks/0/Normal": [11960, 8986, 59, 632]})


def test_what_is_in_use_is_volatile_and_what_is_set_up_is_not(tmp_path):
    facts, _, _ = told(memory.collect, recorded(tmp_path, FILES))
    stable = {path for path in facts if not matches(path, memory.PROBES[0].volatile)}
    assert stable == {"memory/oom_kills", "memory/hugepages/2048kB/total", "swap/%2Fdev%2Fnvme0n1p3",
                      *("memory/" + name for name in ("cma_total_kib", "swap_total_kib", "nodes/1/total_kib"))}


def test_counters_that_may_not_be_read_are_unknown(tmp_path):
    facts, status, _ = told(memory.collect, recorded(tmp_path, FILES, denied=["/proc/vmstat", "/proc/meminfo", "/proc/swaps"]))
    assert (status, {facts[path].status for path in ("memory/oom_kills", "memory/cma_total_kib", "swap")}) == ("ok", {"denied"})


def test_folders_and_tables_that_may_not_be_read_are_unknown(tmp_path):
    facts, _, _ = told(memory.collect, recorded(tmp_path, FILES, denied=["/proc/vmstat", "/proc/buddyinfo", memory.HUGE, memory.NODES]))
    assert {facts["memory/" + name].status for name in ("events", "free_blocks", "hugepages", "nodes")} == {"denied"}
    assert all(matches(path, memory.PROBES[0].tells) for path in facts)


def test_a_kernel_that_does_not_count_kills_tells_none():
    assert memory.parse_oom_kills("nr_free_pages 3\npswpin 5\n") is None


def test_a_text_that_makes_no_sense_is_refused():
    with pytest.raises(Unreadable, match="/proc/vmstat"):
        memory.parse_oom_kills("<html>")


def test_this_machine_is_told_by_paths_that_the_probe_answers_for():
    facts, status, _ = told(memory.collect, Host(RealRoot(), Settings()))
    assert (status, facts["memory/oom_kills"] >= 0) == ("ok", True)
    assert [path for path in facts if not matches(path, memory.PROBES[0].tells)] == []


def test_where_no_folder_tells_of_huge_pages_the_table_of_memory_does(tmp_path):
    table = FILES["/proc/meminfo"] + "HugePages_Total:       943718\nHugepagesize:       2048 kB\n"
    without = {path: text for path, text in FILES.items() if not path.startswith(memory.HUGE)}
    assert told(memory.collect, recorded(tmp_path, {**without, "/proc/meminfo": table}))[0]["memory/hugepages/2048kB/total"] == 943718
    assert told(memory.collect, recorded(tmp_path / "both", {**FILES, "/proc/meminfo": table}))[0]["memory/hugepages/2048kB/total"] == 16
