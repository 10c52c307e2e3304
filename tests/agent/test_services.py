"""Services as systemd tells them, and what the site's own unit files order: no answer of systemd is no "inactive"."""

from __future__ import annotations

import pytest

from driftwatch.agent import unit_files
from driftwatch.agent.collectors import services
from driftwatch.agent.host import Host, Ran, Settings
from driftwatch.agent.probe import Unreadable
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import recorded, told

PAIR = " ".join([*services.SHOW, *services.DRIVER])
ACTIVE = "ActiveState=active\nSubState=running\nExecMainStatus=0\nActiveEnterTimestamp=Sat 2026-02-14 08:08:14 UTC\n"
NEVER = "ActiveState=inactive\nSubState=dead\nExecMainStatus=0\nActiveEnterTimestamp=\n"
FAILED = "ActiveState=failed\nSubState=failed\nExecMainStatus=1\nActiveEnterTimestamp=\n"
JOURNAL = """Feb 24 07:17:23 gpu-a systemd[1]: Starting NVIDIA fabric manager service...
Feb 24 07:17:33 gpu-a nv-fabricmanager[1507]: interface version 535.183.01 don't match with driver version 535.230.02.
Feb 24 07:18:33 gpu-a nv-fabricmanager[1601]: interface version 535.183.01 don't match with driver version 535.230.02.
"""
UNIT = """[Service]
User=alice
Environment=HF_HOME=/data/hf "NCCL_DEBUG=WARN" MY_OWN=1
Environment='HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789'
ExecStart=/opt/venv/bin/python -m sglang.launch_server \\
  --api-key geheim99 --tp 8
LimitNOFILE=1048576
"""


def show(*names):
    return " ".join([*services.SHOW, *names])


def test_each_unit_is_told_by_its_own_answer(tmp_path):
    facts, status, _ = told(services.collect, recorded(tmp_path, {}, {PAIR: f"{ACTIVE}\n{NEVER}", show("docker"): FAILED}))
    assert status == "ok"
    assert {path: value for path, value in facts.items() if path.startswith(("services/nvidia-p", "services/nvidia-f", "services/docker"))} == {
        "services/nvidia-persistenced/active": "active", "services/nvidia-persistenced/sub": "running", "services/nvidia-persistenced/exit": 0,
        "services/nvidia-persistenced/since": "2026-02-14T08:08:14Z", "services/nvidia-fabricmanager/active": "inactive",
        "services/docker/active": "failed", "services/docker/sub": "failed", "services/docker/exit": 1,
    }
    assert facts["services/containerd/active"].status == "not_recorded"


def test_a_failed_unit_of_the_driver_says_why(tmp_path):
    commands = {PAIR: f"{ACTIVE}\n{FAILED}", "journalctl -u nvidia-fabricmanager -n 50 --no-pager": JOURNAL}
    facts = told(services.collect, recorded(tmp_path, {}, commands))[0]
    assert facts["services/nvidia-fabricmanager/said"] == ["interface version 535.183.01 don't match with driver version 535.230.02."]


def test_a_journal_that_may_not_be_seen_is_no_empty_one():
    with pytest.raises(Unreadable):
        services.parse_journal(Ran(0, "-- No entries --\n", "Hint: You are currently not seeing messages from other users and the system.\n"))


def test_the_sites_own_unit_is_asked_for_and_its_orders_are_told_without_secrets(tmp_path):
    top = "/etc/systemd/system/sglang.service"
    files = {top: UNIT, top + ".d/limits.conf": "[Service]\nLimitNOFILE=1024\nLimitMEMLOCK=infinity\n"}
    facts = told(services.collect, recorded(tmp_path, files, {PAIR: f"{ACTIVE}\n{NEVER}", show("sglang"): ACTIVE}))[0]
    own = {path[len("services/sglang/"):]: value for path, value in facts.items() if path.startswith("services/sglang/")}
    assert own["unit/LimitNOFILE"] == ["1048576", "1024"]
    assert (own["unit/User"], own["unit/LimitMEMLOCK"], own["active"]) == ("alice", "infinity", "active")
    assert (own["env/HF_HOME"], own["env/NCCL_DEBUG"]) == ("/data/hf", "WARN")
    assert "geheim99" not in str(own)
    assert "hf_abc" not in str(own)
    assert ("env/MY_OWN" in own, own["env_left_out"]) == (False, ["MY_OWN"])


def test_an_empty_order_takes_back_those_before_it():
    drop_in = "[Service]\nExecStart=\nExecStart=/bin/b\nEnvironment=\nEnvironment=B=2\n"
    orders, variables = unit_files.parse_unit(["[Service]\nExecStart=/bin/a\nEnvironment=A=1\n", drop_in])
    assert (orders, variables) == ({"ExecStart": "/bin/b"}, {"B": "2"})


def test_what_a_unit_hides_from_its_service_is_told():
    words = ["CapabilityBoundingSet", "InaccessiblePaths", "NoNewPrivileges", "PrivateDevices", "ProtectSystem", "RestrictNamespaces", "SystemCallFilter"]
    assert list(unit_files.parse_unit(["[Service]\n" + "".join(f"{word}=a\n" for word in words)])[0]) == words


def test_a_unit_file_that_may_not_be_read_is_denied(tmp_path):
    path = "/etc/systemd/system/sglang.service"
    facts = told(services.collect, recorded(tmp_path, {path: UNIT}, {PAIR: f"{ACTIVE}\n{NEVER}"}, denied=[path]))[0]
    assert facts["services/sglang/unit"].status == "denied"


@pytest.mark.parametrize("name", ["sglang", "docker"])
def test_drop_ins_that_may_not_be_listed_leave_open_what_a_unit_orders(tmp_path, name):
    top = f"/etc/systemd/system/{name}.service"
    files = {top: UNIT, top + ".d/limits.conf": "[Service]\nLimitNOFILE=1024\n"}
    facts = told(services.collect, recorded(tmp_path, files, {PAIR: f"{ACTIVE}\n{NEVER}"}, denied=[top + ".d"]))[0]
    assert {path: value.status for path, value in facts.items() if path.startswith((f"services/{name}/unit", f"services/{name}/env"))} == {
        f"services/{name}/unit": "denied", f"services/{name}/env": "denied"}


def test_units_that_may_not_be_listed_are_unknown_and_their_states_are_told(tmp_path):
    facts = told(services.collect, recorded(tmp_path, {}, {PAIR: f"{ACTIVE}\n{NEVER}", show("docker"): ACTIVE}, denied=["/etc/systemd/system"]))[0]
    assert {facts[path].status for path in ("services", "services/docker/unit", "services/docker/env", "services/nvidia-persistenced/unit")} == {"denied"}
    assert facts["services/docker/active"] == "active"


def test_a_quoted_password_in_a_command_of_a_unit_is_masked_whole(tmp_path):
    unit = "[Service]\nExecStart=/bin/sh -c \"MYSQL_PWD='geheim und mehr' serve --port 1\"\n"
    facts = told(services.collect, recorded(tmp_path, {"/etc/systemd/system/x.service": unit}, {PAIR: f"{ACTIVE}\n{NEVER}"}))[0]
    assert ("mehr" in str(facts), "--port 1" in facts["services/x/unit/ExecStart"]) == (False, True)


def test_aliases_and_templates_are_no_units_of_their_own(tmp_path):
    files = {"/etc/systemd/system/dbus.service": "->/lib/systemd/system/dbus-broker.service", "/etc/systemd/system/worker@.service": UNIT}
    facts = told(services.collect, recorded(tmp_path, files, {PAIR: f"{ACTIVE}\n{NEVER}"}))[0]
    assert not [path for path in facts if "dbus" in path or "worker" in path]


def test_a_systemd_that_hangs_is_asked_once(tmp_path):
    facts, status, _ = told(services.collect, recorded(tmp_path, {}, {}, hangs=[["systemctl"]]))
    assert (status, {value.status for value in facts.values()}) == ("ok", {"timeout"})
    assert len(facts) == len(services.DRIVER) + len(services.SINGLE) + len(services.BESIDE)


def test_what_works_beside_the_stack_is_asked_at_once_and_else_one_by_one(tmp_path):
    several = " ".join([*services.SHOW, *services.BESIDE])
    single = " ".join([*services.SHOW, "chrony"])
    states = "\n".join(FAILED if name == "chrony" else NEVER for name in services.BESIDE)
    for number, commands in enumerate(({several: (0, states, "")}, {single: (0, FAILED, "")})):
        facts, _, _ = told(services.collect, recorded(tmp_path / str(number), {}, {PAIR: (0, ACTIVE + "\n" + NEVER, ""), **commands}))
        assert facts["services/chrony/active"] == "failed"


def test_where_systemd_does_not_run_there_are_no_services(tmp_path):
    commands = {PAIR: (1, "", "System has not been booted with systemd as init system (PID 1). Can't operate.\n")}
    assert told(services.collect, recorded(tmp_path, {}, commands))[:2] == ({}, "absent")


def test_a_systemd_that_refuses_to_answer_is_no_inactive_unit(tmp_path):
    host = recorded(tmp_path, {"/run/systemd/system/a": ""}, {PAIR: (1, "", "Failed to connect to bus: Permission denied\n")})
    facts, status, _ = told(services.collect, host)
    assert (status, facts["services/nvidia-fabricmanager/active"].status) == ("ok", "error")


def test_an_answer_for_another_number_of_units_is_refused():
    with pytest.raises(Unreadable):
        unit_files.parse_show(Ran(0, ACTIVE, ""), 2)


@pytest.mark.parametrize(("text", "answer"), [
    ("Sat 2026-02-14 08:08:14 UTC", "2026-02-14T08:08:14Z"), ("Sat 2026-02-14 09:08:14 CET", "Sat 2026-02-14 09:08:14 CET"),
])
def test_a_moment_of_another_zone_stays_as_it_stands(text, answer):
    assert unit_files.parse_moment(text) == answer


def test_this_machine_gives_an_answer():
    assert told(services.collect, Host(RealRoot(), Settings()))[1] in ("ok", "absent")


def test_every_fact_is_one_that_the_probe_answers_for(tmp_path):
    facts, _, _ = told(services.collect, recorded(tmp_path, {"/etc/systemd/system/sglang.service": UNIT}, {PAIR: f"{ACTIVE}\n{FAILED}"}))
    assert [path for path in facts if not matches(path, services.PROBES[0].tells)] == []
