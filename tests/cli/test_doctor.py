"""`doctor`: each stage by itself, with a real sshd; where one fails, the sentence that mends it, and nothing after it is tried."""
from __future__ import annotations

import json
import shlex
import signal
import socket
import time

import pytest

from driftwatch.cli.wiring.examining import Patient, examine
from driftwatch.cli.wiring.jobs import AGENT_PYTHONS
from driftwatch.cli.wiring.stages import STAGES
from driftwatch.transports.destination import Options, parse_destination
from driftwatch.transports.opening import open_transport
from tests.lab.containers import Rooms
from tests.lab.sshd import Place, running_sshd, why_no_shell

REACHED = ["name", "TCP", "host key", "login"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_sshd(tmp_path_factory.mktemp("doctor") / "host") as running:
        yield running


def look(text, deadline_s=40, **options):
    """Return the stages of a destination by name."""
    destination, usual = parse_destination(text), Options(**{"ssh_config": "/dev/null", **options})
    examined = examine(Patient(text, destination, usual, open_transport(destination, usual), AGENT_PYTHONS, deadline_s))
    assert [stage.name for stage in examined.stages] == list(STAGES)
    return {stage.name: stage for stage in examined.stages}


def look_at(server, *ssh_options, deadline_s=40, **options):
    ways = {"known_hosts": server.known_hosts, "identity": server.identity, "ssh_options": ("GlobalKnownHostsFile=/dev/null", *ssh_options), **options}
    return look(f"ssh://{server.user}@127.0.0.1:{server.port}", deadline_s, **ways)


def outcomes(stages, *names):
    return {stages[name].outcome for name in names or STAGES}


def failed_at(stages):
    """Return the stage that failed; those before it were passed or cannot be told apart, none after it was tried."""
    (place,) = [number for number, name in enumerate(STAGES) if stages[name].outcome == "failed"]
    assert {stages[name].outcome for name in STAGES[:place]} <= {"ok", "not told apart"}
    assert {stages[name].outcome for name in STAGES[place + 1:]} <= {"not tried"}
    assert stages[STAGES[place]].do
    return STAGES[place]


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_host_that_answers_passes_every_stage_with_its_time(server):
    stages = look_at(server)
    assert outcomes(stages) == {"ok"}
    assert all(stage.elapsed_s >= 0 for stage in stages.values())
    assert stages["TCP"].said == f"127.0.0.1 port {server.port}"
    assert stages["host key"].said.startswith("ssh-ed25519 SHA256:")


def test_a_host_key_that_is_not_known_is_told_at_its_stage(server):
    stages = look_at(server, known_hosts="/dev/null")
    assert failed_at(stages) == "host key"
    assert "ssh-keyscan" in stages["host key"].do


def test_a_login_that_is_refused_is_told_at_its_stage(server):
    stages = look_at(server, "PubkeyAuthentication=no")
    assert failed_at(stages) == "login"
    assert "refused the login" in stages["login"].said


def test_an_agent_that_never_answers_is_told_at_the_login_and_not_at_the_host_key(server, tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "a"))
        agent.listen()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "a"))
        stages = look_at(server, "IdentitiesOnly=no", identity="", deadline_s=3)
    assert failed_at(stages) == "login"
    assert "ssh-agent" in stages["login"].said


def test_a_command_of_ssh_config_that_hangs_is_told(tmp_path):
    (tmp_path / "config").write_text('Match exec "sleep 60"\n  Port 1\n')
    stages = look("ssh://gpu-a", ssh_config=str(tmp_path / "config"))
    assert failed_at(stages) == "name"
    assert "a command of ssh_config hangs" in stages["name"].said


def test_a_port_where_nothing_listens_is_told_at_tcp():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert failed_at(look(f"ssh://127.0.0.1:{free.getsockname()[1]}")) == "TCP"


def test_a_port_that_never_speaks_ssh_ends_by_the_deadline_at_the_host_key():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        stages = look(f"ssh://127.0.0.1:{silent.getsockname()[1]}", deadline_s=2)
        assert failed_at(stages) == "host key"
        assert time.monotonic() - began < 8
    assert "sent no SSH banner" in stages["host key"].said


def test_a_login_shell_that_refuses_is_told_with_its_words(tmp_path):
    if why_no_shell():
        pytest.skip(why_no_shell())
    with running_sshd(tmp_path / "host", place=Place(shell="/usr/sbin/nologin")) as running:
        stages = look_at(running)
    assert failed_at(stages) == "login"
    assert "not available" in stages["login"].said
    assert "login shell" in stages["login"].do


def test_a_login_shell_that_talks_is_passed_and_said(tmp_path):
    if why_no_shell():
        pytest.skip(why_no_shell())
    shell = program(tmp_path / "talks", '#!/bin/sh\necho welcome to gpu-a\nexec /bin/sh "$@"\n')
    with running_sshd(tmp_path / "host", place=Place(shell=str(shell))) as running:
        stages = look_at(running)
    assert outcomes(stages) == {"ok"}
    assert stages["login"].said == "the login shell says 16 characters of its own, which is passed over"


def test_what_lies_behind_a_jump_is_not_told_apart_and_said_so(server):
    jump = shlex.join(["ssh", "-F", "none", "-o", f"UserKnownHostsFile={server.known_hosts}", "-i", server.identity, "-p", str(server.port),
                       "-W", "%h:%p", f"{server.user}@127.0.0.1"])
    stages = look_at(server, f"ProxyCommand={jump}")
    assert outcomes(stages, *REACHED[:3]) == {"not told apart"}
    assert "ssh goes through proxycommand" in stages["TCP"].said
    assert outcomes(stages, "login", "python", "agent", "NVML") == {"ok"}, stages


def test_paramiko_tells_name_and_port_and_says_what_it_does_in_one(server, tmp_path):
    (tmp_path / "config").write_text("")
    stages = look(f"paramiko://127.0.0.1:{server.port}", ssh_config=str(tmp_path / "config"), known_hosts="/dev/null")
    assert failed_at(stages) == "python"
    assert "the host key" in stages["python"].said
    assert (outcomes(stages, "name", "TCP"), outcomes(stages, "host key", "login")) == ({"ok"}, {"not told apart"})


@pytest.mark.parametrize(("to", "end"), [("docker://web", ""), ("docker://bare", "python"), ("kubectl://serving/nosuch", "python")])
def test_a_container_is_looked_at_from_python_on(tmp_path, monkeypatch, to, end):
    rooms = Rooms(tmp_path / "rooms")
    rooms.make("web")
    rooms.make("bare", noop="#!/bin/sh\n")
    monkeypatch.setenv("PATH", rooms.path)
    destination = parse_destination(to)
    stages = {stage.name: stage for stage in examine(Patient(to, destination, Options(), open_transport(destination, Options()), ("python3",), 40)).stages}
    assert outcomes(stages, *REACHED) == {"not told apart"}
    assert (failed_at(stages) if end else "") == end


def test_a_node_that_slurm_lists_as_down_fails_at_its_name(tmp_path, monkeypatch):
    program(tmp_path / "srun", "#!/bin/sh\nexit 1\n")
    program(tmp_path / "sinfo", "#!/bin/sh\necho 'n1|down|2026-03-01T02:00:00|bad fan'\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    stages = look("slurm://n1")
    assert failed_at(stages) == "name"
    assert stages["name"].said == "Slurm lists n1 as down since 2026-03-01T02:00:00: bad fan"


def test_the_json_has_every_stage_in_the_order_that_was_asked(cli):
    told = cli.run("doctor", "no-such-host.invalid", "local", "--json")
    nameless, here = json.loads(told.stdout)
    assert told.returncode == 1
    assert [(one["dest"], one["answered"]) for one in (nameless, here)] == [("no-such-host.invalid", False), ("local", True)]
    assert [stage["stage"] for stage in here["stages"]] == list(STAGES)
    assert {key: nameless["stages"][0][key] for key in ("stage", "outcome", "do")} == {
        "stage": "name", "outcome": "failed", "do": "check the name and the name server"}


def test_the_text_folds_what_was_not_tried_and_the_last_line_counts(cli):
    told = cli.run("doctor", "local", "no-such-host.invalid")
    assert "  . name, TCP, host key, login: this machine\n" in told.stdout
    assert "  ? TCP, host key, login, python, agent, NVML: not tried\n" in told.stdout
    assert told.stderr == "2 destinations · 1 answered · exit 1\n"
    assert all(len(line) <= 80 for line in told.stdout.splitlines())


def test_this_machine_is_asked_where_none_is_named_and_with_quiet_nothing_is_told_of_it(cli):
    told = cli.run("doctor", "-q")
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")


@pytest.mark.parametrize("words", [["--", "-oProxyCommand=x"], ["local", "telnet://x"], ["local", "--deadline", "0"]])
def test_a_bad_name_is_refused_before_anything_is_asked(cli, words):
    refused = cli.run("doctor", *words)
    assert (refused.returncode, refused.stdout) == (2, "")


def test_ctrl_c_ends_it_at_once(cli):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        running = cli.start("doctor", f"ssh://127.0.0.1:{silent.getsockname()[1]}")
        try:
            silent.accept()[0].close()  # the TCP stage
            with silent.accept()[0]:  # ssh, for the host key
                running.send_signal(signal.SIGINT)
                assert running.wait(20) == 130
        finally:
            running.kill()
            running.communicate()
