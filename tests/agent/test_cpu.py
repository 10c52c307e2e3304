"""How processors and huge pages are set: one value where all agree, the counts where they do not."""

from __future__ import annotations

import json

from driftwatch.agent.collectors import cpu
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

TOP = cpu.TOP
FILES = {
    TOP + "/smt/control": "on\n", TOP + "/online": "0-3\n", TOP + "/offline": "\n", TOP + "/intel_pstate/no_turbo": "1\n",
    **{f"{TOP}/cpu{number}/cpufreq/scaling_governor": "performance\n" for number in range(4)},
    **{f"{TOP}/cpu{number}/cpufreq/scaling_max_freq": "3800000\n" for number in range(4)},
    TOP + "/vulnerabilities/meltdown": "Not affected\n", TOP + "/vulnerabilities/srso": "Mitigation: Safe RET\n",
    "/sys/devices/system/node/node1/cpulist": "2-3\n", "/sys/devices/system/node/online": "0-1\n", cpu.PAGES + "/enabled": "always [madvise] never\n",
}


def test_processors_that_agree_are_told_once(tmp_path):
    facts, status, _ = told(cpu.collect, recorded(tmp_path, FILES))
    assert (status, facts) == ("ok", {
        "cpu/smt": "on", "cpu/online": "0-3", "cpu/turbo": "off", "cpu/governor": "performance", "cpu/frequency_max_khz": 3800000, "cpu/nodes/1": "2-3",
        "cpu/mitigations": {"meltdown": "Not affected", "srso": "Mitigation: Safe RET"}, "thp/enabled": "madvise"})


def test_processors_that_differ_are_counted(tmp_path):
    facts, _, _ = told(cpu.collect, recorded(tmp_path, {**FILES, TOP + "/cpu2/cpufreq/scaling_governor": "powersave\n"}))
    assert facts["cpu/governor"] == {"performance": 3, "powersave": 1}


def test_boost_is_told_where_the_driver_is_another(tmp_path):
    files = {path: text for path, text in FILES.items() if "no_turbo" not in path}
    assert told(cpu.collect, recorded(tmp_path, {**files, TOP + "/cpufreq/boost": "1\n"}))[0]["cpu/turbo"] == "on"


def test_what_may_not_be_read_is_unknown_and_the_rest_is_told(tmp_path):
    denied = [TOP + "/cpu1/cpufreq/scaling_governor", TOP + "/vulnerabilities/srso", TOP + "/smt/control"]
    facts, status, _ = told(cpu.collect, recorded(tmp_path, FILES, denied=denied))
    assert status == "ok"
    assert {facts[path].status for path in ("cpu/governor", "cpu/mitigations", "cpu/smt")} == {"denied"}
    assert facts["cpu/nodes/1"] == "2-3"


def test_folders_that_may_not_be_listed_leave_all_that_is_below_open(tmp_path):
    facts, _, _ = told(cpu.collect, recorded(tmp_path, FILES, denied=["/sys/devices/system/node", TOP + "/vulnerabilities"]))
    assert (facts["cpu/nodes"].status, facts["cpu/mitigations"].status) == ("denied", "denied")


def test_a_host_that_shows_neither_is_known_to_show_none(tmp_path):
    assert told(cpu.collect, recorded(tmp_path, {"/proc/stat": "x"}))[1] == "absent"


def test_this_machine_is_told_by_paths_that_the_probe_answers_for():
    facts, status, _ = told(cpu.collect, Host(RealRoot(), Settings()))
    assert (status, "cpu/online" in facts) == ("ok", True)
    assert [path for path in facts if not matches(path, cpu.PROBES[0].tells)] == []
    json.dumps(facts)
