"""Configured limits: of limits.conf, of units and their drop-ins, and of the kernel; what cannot be read is unknown."""

from __future__ import annotations

from driftwatch.agent.collectors import limits
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.limit_texts import parse_limits_conf, parse_unit_limits
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

CONF, UNITS = "/etc/security/limits", "/etc/systemd/system"
FILES = {
    CONF + ".conf": "# <domain> <type> <item> <value>\n* soft memlock unlimited\n* soft nofile 1024 # few\n@gpu - nproc 4096\n",
    CONF + ".d/20-nofile.conf": "* soft nofile 1048576\n", CONF + ".d/README": "* soft nofile 1\n",
    UNITS + "/vllm.service": "[Service]\nEnvironment=API_KEY=planted\nExecStart=/usr/bin/vllm serve m \\\n  --port 1\nLimitNOFILE=131072\n",
    UNITS + "/vllm.service.d/override.conf": "[Service]\nLimitMEMLOCK=infinity\nLimitNOFILE=65536\n",
    "/usr/lib/systemd/system/docker.service": "[Service]\nLimitNOFILE=infinity\nTasksMax=infinity\n",
    "/usr/lib/systemd/system/cron.service": "[Service]\nTasksMax=9\n",
    "/etc/systemd/system.conf": "[Manager]\n#DefaultLimitNOFILE=1024:524288\nDefaultTasksMax=15%\n",
    "/proc/sys/vm/max_map_count": "65530\n", "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
}


def test_every_place_that_sets_a_limit_is_told(tmp_path):
    facts, status, _ = told(limits.collect, recorded(tmp_path, FILES))
    assert (status, facts) == ("ok", {
        "limits/sysctl/vm.max_map_count": 65530, "limits/sysctl/net.ipv4.tcp_rmem": "4096 131072 6291456",
        "limits/security/everyone/soft/memlock": "unlimited", "limits/security/everyone/soft/nofile": 1048576,
        "limits/security/@gpu/soft/nproc": 4096, "limits/security/@gpu/hard/nproc": 4096, "limits/systemd/DefaultTasksMax": "15%",
        "limits/unit/docker.service/LimitNOFILE": "infinity", "limits/unit/docker.service/TasksMax": "infinity",
        "limits/unit/vllm.service/LimitMEMLOCK": "infinity", "limits/unit/vllm.service/LimitNOFILE": "65536",
    })


def test_a_unit_of_the_hosts_own_replaces_the_shipped_one(tmp_path):
    facts, _, _ = told(limits.collect, recorded(tmp_path, {**FILES, UNITS + "/docker.service": "[Service]\nLimitNOFILE=1048576\n"}))
    assert {path: value for path, value in facts.items() if "docker" in path} == {"limits/unit/docker.service/LimitNOFILE": "1048576"}


def test_a_masked_unit_tells_nothing(tmp_path):
    facts, status, _ = told(limits.collect, recorded(tmp_path, {UNITS + "/docker.service": "->/dev/null"}))
    assert (status, facts) == ("ok", {})


def test_files_that_may_not_be_read_leave_their_limits_open(tmp_path):
    facts, status, _ = told(limits.collect, recorded(tmp_path, FILES, denied=[CONF + ".conf", UNITS + "/vllm.service", "/proc/sys/vm/max_map_count"]))
    assert (status, facts["limits/security"].status, facts["limits/unit/vllm.service"].status) == ("ok", "denied", "denied")
    assert facts["limits/sysctl/vm.max_map_count"].status == "denied"


def test_a_folder_of_drop_ins_that_may_not_be_listed_leaves_what_it_may_change_open(tmp_path):
    denied = [UNITS + "/vllm.service.d", CONF + ".d", "/etc/systemd/system.conf.d"]
    facts, _, _ = told(limits.collect, recorded(tmp_path, {**FILES, "/etc/systemd/system.conf.d/a.conf": ""}, denied=denied))
    assert {path: value.status for path, value in facts.items() if "security" in path or "vllm" in path or "limits/systemd" in path} == {
        "limits/security": "denied", "limits/unit/vllm.service": "denied", "limits/systemd": "denied"}


def test_what_is_set_behind_a_file_that_may_not_be_read_counts(tmp_path):
    facts, _, _ = told(limits.collect, recorded(tmp_path, FILES, denied=[CONF + ".conf", UNITS + "/vllm.service"]))
    assert (facts["limits/security/everyone/soft/nofile"], facts["limits/unit/vllm.service/LimitNOFILE"]) == (1048576, "65536")


def test_where_no_unit_may_be_listed_no_limit_of_a_unit_is_told(tmp_path):
    facts, _, _ = told(limits.collect, recorded(tmp_path, FILES, denied=[UNITS]))
    assert {path: value.status for path, value in facts.items() if "unit" in path} == {"limits/unit": "denied"}


def test_lines_that_are_no_limits_are_passed_over():
    assert list(parse_limits_conf("* soft\n# x\n\n* odd nofile 3\nroot - core 0\n")) == [(("root", "soft", "core"), "0"), (("root", "hard", "core"), "0")]
    assert parse_unit_limits("[Service]\nExecStart=x\n LimitNOFILE = 5 \nLimitNOFILE=\n") == {"LimitNOFILE": ""}


def test_every_fact_is_one_that_the_probe_answers_for(tmp_path):
    facts, _, _ = told(limits.collect, recorded(tmp_path, FILES, denied=[CONF + ".conf", UNITS]))
    assert facts["limits/unit"].status == "denied"
    assert [path for path in facts if not matches(path, limits.PROBES[0].tells)] == []


def test_this_machine_is_told():
    facts, status, _ = told(limits.collect, Host(RealRoot(), Settings()))
    assert (status, facts["limits/sysctl/vm.max_map_count"] > 0) == ("ok", True)
