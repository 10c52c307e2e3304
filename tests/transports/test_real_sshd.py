"""Both ways over SSH against a real sshd: the good path, chatty logins, refusals, and an agent or a line that fails in mid-run."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from driftwatch.transports.openssh import OpenSSH
from driftwatch.transports.paramiko import Paramiko
from driftwatch.transports.wire import LinkLost
from tests.lab.sshd import free_port, is_alive, is_gone, make_key, running_sshd
from tests.transports.listen import listen, own_children, reach
from tests.transports.payload import shipment

PYTHONS = [sys.executable]


def test_frames_come_from_the_host_and_nothing_is_left_there(way, server):
    heard = listen(reach(way, server), shipment("answer", PYTHONS), 5)
    assert (heard.kinds, heard.lost) == (["begin", "facts", "end"], None)
    assert heard.frames[0]["home"] == str(server.home)
    assert is_gone(heard.agent_pid)


def test_an_unknown_host_key_is_refused_with_what_to_do(way, server, tmp_path):
    heard = listen(reach(way, server, known_hosts=str(tmp_path / "empty")), shipment("answer", PYTHONS), 5)
    assert f"the host key of 127.0.0.1 port {server.port} is not known" in heard.said
    assert f"ssh-keyscan -p {server.port} 127.0.0.1 | ssh-keygen -lf -" in heard.said


def test_a_changed_host_key_is_refused_with_its_fingerprint(way, server, tmp_path):
    make_key(tmp_path / "other")
    other = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    (tmp_path / "known").write_text(f"[127.0.0.1]:{server.port} {other}\n")
    heard = listen(reach(way, server, known_hosts=str(tmp_path / "known")), shipment("answer", PYTHONS), 5)
    assert f"the host key of 127.0.0.1 port {server.port} has changed (now SHA256:" in heard.said
    assert "remove the old line" in heard.said


def test_a_hashed_known_hosts_is_read(way, server, tmp_path):
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{server.port} {server.host_key}\n")
    os.spawnlp(os.P_WAIT, "ssh-keygen", "ssh-keygen", "-q", "-H", "-f", str(known))
    if "|1|" not in known.read_text():
        pytest.skip("ssh-keygen -H does not hash here")
    assert listen(reach(way, server, known_hosts=str(known)), shipment("answer", PYTHONS), 5).lost is None


def test_a_refused_login_names_the_key_to_look_at(way, server, tmp_path):
    make_key(tmp_path / "stranger")
    heard = listen(reach(way, server, identity=str(tmp_path / "stranger")), shipment("answer", PYTHONS), 5)
    assert f"127.0.0.1 port {server.port} refused the login" in heard.said
    assert "check user and key" in heard.said


def test_an_agent_with_a_bug_is_told_in_its_own_words(way, server):
    heard = listen(reach(way, server), shipment("raises", PYTHONS), 5)
    assert "ValueError: the agent has a bug" in heard.said


def test_a_caller_who_stops_listening_ends_the_agent(way, server):
    before = own_children()
    with closing(reach(way, server).stream(shipment("hang", PYTHONS), 30)) as frames:
        pid = next(frames)["pid"]
        assert is_alive(pid)
    assert is_gone(pid)
    assert own_children() - before == set()


def test_an_agent_whose_ssh_client_is_killed_ends_by_itself(server):
    before = own_children()
    frames = reach(OpenSSH, server).stream(shipment("hang", PYTHONS), 30)
    pid = next(frames)["pid"]
    (client,) = own_children() - before
    os.kill(client, signal.SIGKILL)
    began = time.monotonic()
    assert is_gone(pid)
    assert time.monotonic() - began < 2
    with pytest.raises(LinkLost, match="exit code -9"):
        next(frames)


def test_a_closed_port_is_refused_at_once(way, server):
    closed = type(server)(free_port(), 0, server.user, server.folder, server.home)
    heard = listen(reach(way, closed), shipment("answer", PYTHONS), 5)
    assert f"127.0.0.1 port {closed.port} refused the connection" in heard.said
    assert heard.elapsed_s < 3


def test_a_name_that_does_not_exist_is_told(way, server):
    transport = reach(way, server)
    nowhere = type(transport)(type(transport.destination)(way.SCHEME, "no-such-host.invalid", server.user, server.port), transport.options)
    heard = listen(nowhere, shipment("answer", PYTHONS), 3)
    assert "the name no-such-host.invalid was not resolved" in heard.said


def test_a_user_configuration_that_forwards_and_runs_commands_is_overruled(server, tmp_path):
    ran = tmp_path / "PWNED"
    (tmp_path / "config").write_text(
        f"ForwardAgent yes\nForwardX11 yes\nPermitLocalCommand yes\nLocalCommand touch {ran}\nRemoteCommand touch {ran}\nStrictHostKeyChecking no\n"
        f"LocalForward {free_port()} 127.0.0.1:22\nControlMaster auto\nControlPath {tmp_path}/mux\nLogLevel QUIET\nRequestTTY force\n")
    heard = listen(reach(OpenSSH, server, ssh_config=str(tmp_path / "config")), shipment("answer", PYTHONS), 5)
    assert heard.kinds == ["begin", "facts", "end"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["config"]
    strict = listen(reach(OpenSSH, server, ssh_config=str(tmp_path / "config"), known_hosts=str(tmp_path / "none")), shipment("answer", PYTHONS), 5)
    assert "is not known" in strict.said


def test_a_plain_user_configuration_is_followed_by_both(way, server, tmp_path):
    (tmp_path / "config").write_text(
        f"Host gpu-a\n HostName 127.0.0.1\n Port {server.port}\n User {server.user}\n"
        f" IdentityFile {server.identity}\n UserKnownHostsFile {server.known_hosts}\n"
        "Match host other user nobody\n Port 1\n")
    transport = reach(way, server, ssh_config=str(tmp_path / "config"), identity="", known_hosts="")
    named = type(transport)(type(transport.destination)(way.SCHEME, "gpu-a"), transport.options)
    assert listen(named, shipment("answer", PYTHONS), 5).kinds == ["begin", "facts", "end"]


@pytest.mark.parametrize(("line", "said"), [
    ("Include other.conf", "line 2: paramiko cannot read Include other.conf"),
    ("Match localnetwork 10.0.0.0/8", "line 2: paramiko cannot read Match localnetwork"),
    ('match exec "true"', "line 2: paramiko cannot read match exec"),
    ("Match host 127.0.0.1 tagged x", "line 2: paramiko cannot read Match host 127.0.0.1 tagged x"),
    ("ProxyJump bastion", "asks for proxyjump"),
    ("ProxyCommand nc %h %p", "asks for proxycommand"),
    ("CanonicalizeHostname always", "asks for canonicalizehostname"),
    ("Port = x y", "cannot read it"),
])
def test_a_configuration_that_paramiko_would_misread_is_refused(server, tmp_path, line, said):
    (tmp_path / "config").write_text(f"# mine\n{line}\n")
    destination = reach(Paramiko, server).destination
    away = type(destination)("paramiko", destination.host, destination.user)
    heard = listen(Paramiko(away, reach(Paramiko, server, ssh_config=str(tmp_path / "config")).options), shipment("answer", PYTHONS), 3)
    assert said in heard.said
    assert "ssh://HOST" in heard.said


@pytest.mark.parametrize(("lines", "said"), [
    (["@cert-authority *.other {key}", "[127.0.0.1]:{port} {key}"], ""),
    (["@cert-authority * {key}"], "is known through a host certificate"),
    (["@revoked * {key}", "[127.0.0.1]:{port} {key}"], "line 1: paramiko cannot read a @revoked line"),
    (["@revoked *.other {key}", "[127.0.0.1]:{port} {key}"], ""),
    (["# a remark", "other ssh-ed25519 broken!", "[127.0.0.1]:{port} {key}"], "line 2: paramiko cannot read it"),
    (["other sk-new@type AAAA", "other", "[127.0.0.1]:{port}\t{key}  a remark"], ""),
])
def test_lines_of_known_hosts_that_paramiko_cannot_read_are_said_plainly(server, tmp_path, lines, said):
    known = tmp_path / "known"
    known.write_text("".join(f"{line.format(key=server.host_key, port=server.port)}\n" for line in lines))
    heard = listen(reach(Paramiko, server, known_hosts=str(known)), shipment("answer", PYTHONS), 5)
    assert said in heard.said if said else heard.lost is None


def test_sshd_itself_is_ended_by_its_fixture(tmp_path):
    with running_sshd(tmp_path / "host") as short:
        assert is_alive(short.pid)
    assert not is_alive(short.pid)
    assert Path(short.identity).exists()
