"""Control groups: the limit that holds is the least of a group and all above it, in both versions; what a file does not tell is not told as no limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from driftwatch.agent.collectors import cgroups
from driftwatch.agent.control_groups import MAX, container_of, least, parse_groups, parse_limit
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Unknown, Unreadable
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

TOP = "/sys/fs/cgroup/"
SERVER = {
    "/proc/500/stat": "500 (python3) S 1 " + "0 " * 17 + "1000 0 0\n", "/proc/500/cmdline": "python3\0-m\0sglang.launch_server\0--port\x0030000\0",
    "/proc/500/cgroup": "0::/system.slice/sglang.service\n",
}
NEW = {
    **SERVER, "/proc/self/cgroup": "0::/\n", TOP + "system.slice/memory.max": "2147483648\n", TOP + "system.slice/sglang.service/memory.max": "max\n",
    TOP + "system.slice/sglang.service/cpu.max": "150000 100000\n", TOP + "system.slice/sglang.service/pids.max": "512\n",
    TOP + "system.slice/sglang.service/memory.events": "low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\noom_group_kill 0\n",
    TOP + "system.slice/sglang.service/cpuset.cpus.effective": "0-63\n",
}
OLD = {
    "/proc/self/cgroup": "4:memory:/jobs/7\n3:cpu,cpuacct:/jobs\n2:pids:/\n0::/\n", TOP + "memory/jobs/7/memory.limit_in_bytes": "9223372036854771712\n",
    TOP + "memory/jobs/memory.limit_in_bytes": "1073741824\n", TOP + "cpu/jobs/cpu.cfs_quota_us": "250000\n", TOP + "cpu/jobs/cpu.cfs_period_us": "100000\n",
    TOP + "memory/jobs/7/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
}


def test_the_limit_of_a_server_is_the_least_of_its_group_and_all_above(tmp_path):
    facts, status, _ = told(cgroups.collect, recorded(tmp_path, NEW))
    top = "cgroup/servers/sglang/"
    assert (status, facts[top + "group"]) == ("ok", "/system.slice/sglang.service")
    assert {name: facts[top + name] for name in ("memory_max_bytes", "cpu_max_cores", "pids_max", "oom_kills", "cpuset_cpus")} == {
        "memory_max_bytes": 2147483648, "cpu_max_cores": 1.5, "pids_max": 512, "oom_kills": 2, "cpuset_cpus": "0-63"}


def test_version_1_is_told_by_the_same_paths(tmp_path):
    facts, status, _ = told(cgroups.collect, recorded(tmp_path, OLD))
    assert (status, facts.pop("cgroup/servers").status) == ("ok", "not_recorded")
    assert facts == {
        "cgroup/own/group": "/jobs/7", "cgroup/own/memory_max_bytes": 1073741824, "cgroup/own/cpu_max_cores": 2.5, "cgroup/own/oom_kills": 4}


def test_inside_a_container_that_sees_only_its_own_group_the_top_is_its_own(tmp_path):
    files = {"/proc/self/cgroup": f"4:memory:/docker/{'ab' * 32}\n", TOP + "memory/memory.limit_in_bytes": "68719476736\n"}
    facts, _, _ = told(cgroups.collect, recorded(tmp_path, files))
    assert (facts["cgroup/own/memory_max_bytes"], facts["cgroup/own/container"]) == (68719476736, "ab" * 32)


def test_a_limit_that_may_not_be_read_is_unknown(tmp_path):
    facts, _, _ = told(cgroups.collect, recorded(tmp_path, NEW, denied=[TOP + "system.slice/memory.max"]))
    assert facts["cgroup/servers/sglang/memory_max_bytes"].status == "denied"


def test_a_host_without_control_groups_is_known_to_have_none(tmp_path):
    assert told(cgroups.collect, recorded(tmp_path, SERVER))[1] == "absent"


@pytest.mark.parametrize(("text", "limit"), [
    ("max\n", MAX), ("max 100000\n", MAX), ("-1 100000", MAX), ("9223372036854771712\n", MAX), ("512\n", 512), ("50000 100000", 0.5)])
def test_a_limit_is_a_number_or_none(text, limit):
    assert parse_limit(text) == limit


@pytest.mark.parametrize("text", ["", "many", "1 0", "1 00", "21560 0 9223372036854775807", "9" * 400 + " 1"])
def test_a_text_that_is_no_limit_is_refused(text):
    with pytest.raises(Unreadable):
        parse_limit(text)


def test_an_unknown_limit_above_is_not_passed_over():
    denied = Unknown("denied", "x")
    assert (least([512, None, MAX]), least([MAX, MAX]), least([None]), least([512, denied])) == (512, MAX, None, denied)


@pytest.mark.parametrize(("text", "container"), [
    (f"0::/system.slice/docker-{'0a' * 32}.scope", "0a" * 32), (f"0::/kubepods.slice/x/cri-containerd-{'0b' * 32}.scope", "0b" * 32),
    ("0::/lxc.payload.gpu1/init.scope", "gpu1"), ("0::/system.slice/vllm.service", None),
])
def test_the_container_of_a_process_is_in_the_name_of_its_group(text, container):
    assert container_of(text) == container


def test_a_text_without_groups_is_refused():
    with pytest.raises(Unreadable):
        parse_groups("")


def test_a_server_whose_group_is_denied_is_unknown_and_our_own_is_told(tmp_path):
    facts, status, _ = told(cgroups.collect, recorded(tmp_path, {**NEW, TOP + "pids.max": "9\n"}, denied=["/proc/500/cgroup"]))
    assert (status, facts["cgroup/servers/sglang"].status, facts["cgroup/own/pids_max"]) == ("ok", "denied", 9)


def test_every_fact_is_one_that_the_probe_answers_for(tmp_path):
    facts, _, _ = told(cgroups.collect, recorded(tmp_path, NEW))
    assert [path for path in facts if not matches(path, cgroups.PROBES[0].tells)] == []


def test_a_real_group_tells_the_limit_that_was_set():
    group = Path(f"/sys/fs/cgroup/pids/driftwatch-{os.getpid()}")
    try:
        group.mkdir()
        (group / "pids.max").write_text("777")
    except OSError as refused:
        pytest.skip(f"no control group of version 1 can be made here: {refused}")
    own = Path("/proc/self/cgroup").read_text()
    before = next(line.partition(":pids:")[2] for line in own.splitlines() if ":pids:" in line)
    try:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        facts, status, _ = told(cgroups.collect, Host(RealRoot(), Settings()))
    finally:
        Path(f"/sys/fs/cgroup/pids{before}/cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()
    assert (status, facts["cgroup/own/pids_max"], facts["cgroup/own/pids_current"] >= 1) == ("ok", 777, True)
