"""Logins other than by a plain key file, against real servers: an ssh-agent, user certificates, host certificates, and options of the user's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from driftwatch.transports.destination import BadDestination, Options
from driftwatch.transports.openssh import OpenSSH
from driftwatch.transports.paramiko import Paramiko
from tests.lab.sshd import make_key, running_sshd
from tests.transports.listen import listen, reach
from tests.transports.payload import shipment

PYTHONS = [sys.executable]
DONE = ["begin", "facts", "end"]


@pytest.fixture
def agent(server, tmp_path):
    """Return the socket of a real ssh-agent that holds the key for the server."""
    if shutil.which("ssh-agent") is None:
        pytest.skip("no ssh-agent here: install openssh-client")
    socket = str(tmp_path / "agent")
    running = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    try:
        stop = time.monotonic() + 5
        while not _is_taken(server.identity, socket):
            assert time.monotonic() < stop, "the ssh-agent did not take the key"
            time.sleep(0.05)
        yield socket
    finally:
        running.terminate()
        running.wait(5)


def _is_taken(key: str, socket: str) -> bool:
    return subprocess.run(["ssh-add", "-q", key], env={**os.environ, "SSH_AUTH_SOCK": socket}, capture_output=True, check=False).returncode == 0


def test_an_agent_that_the_configuration_names_is_asked(way, server, agent, tmp_path):
    (tmp_path / "config").write_text(f"IdentityAgent {agent}\n")
    assert listen(reach(way, server, identity="", ssh_config=str(tmp_path / "config")), shipment("answer", PYTHONS), 8).kinds == DONE


def test_paramiko_asks_the_agent_of_the_environment_only_where_it_is_told_to(server, agent, tmp_path, monkeypatch):
    monkeypatch.setenv("SSH_AUTH_SOCK", agent)
    monkeypatch.setenv("HOME", str(tmp_path))
    transport = reach(Paramiko, server, identity="")
    assert "refused the login" in listen(transport, shipment("answer", PYTHONS), 8).said
    asked = replace(transport, options=replace(transport.options, is_agent_asked=True))
    assert listen(asked, shipment("answer", PYTHONS), 8).kinds == DONE


@pytest.mark.parametrize("line", ["IdentitiesOnly yes", "IdentityAgent none"])
def test_paramiko_leaves_the_agent_alone_where_the_configuration_says_so(server, agent, tmp_path, monkeypatch, line):
    monkeypatch.setenv("SSH_AUTH_SOCK", agent)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "config").write_text(f"{line}\n")
    transport = reach(Paramiko, server, identity="", ssh_config=str(tmp_path / "config"))
    asked = replace(transport, options=replace(transport.options, is_agent_asked=True))
    assert "refused the login" in listen(asked, shipment("answer", PYTHONS), 8).said


def test_an_agent_that_does_not_run_is_told_by_its_socket(server, tmp_path):
    (tmp_path / "config").write_text(f"IdentityAgent {tmp_path}/none\n")
    heard = listen(reach(Paramiko, server, identity="", ssh_config=str(tmp_path / "config")), shipment("answer", PYTHONS), 8)
    assert f"the ssh-agent at {tmp_path}/none cannot be used" in heard.said
    assert "IdentityFile" in heard.said


def test_a_user_certificate_opens_the_host(way, tmp_path):
    for name in ("authority", "mine"):
        make_key(tmp_path / name)
    subprocess.run(["ssh-keygen", "-q", "-s", tmp_path / "authority", "-I", "me", "-n", _user(), tmp_path / "mine.pub"], check=True)
    with running_sshd(tmp_path / "host", "AuthorizedKeysFile none", f"TrustedUserCAKeys {tmp_path}/authority.pub") as trusting:
        heard = listen(reach(way, trusting, identity=str(tmp_path / "mine")), shipment("answer", PYTHONS), 8)
    assert heard.kinds == DONE


def _user() -> str:
    return subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


def test_a_host_certificate_is_taken_by_ssh_and_said_plainly_by_paramiko(way, tmp_path):
    make_key(tmp_path / "authority")
    host = tmp_path / "host"
    with running_sshd(host, f"HostCertificate {tmp_path}/host_key-cert.pub") as plain:
        shutil.copy(host / "host_key.pub", tmp_path / "host_key.pub")
        subprocess.run(["ssh-keygen", "-q", "-s", tmp_path / "authority", "-I", "h", "-h", "-n", "127.0.0.1", tmp_path / "host_key.pub"], check=True)
        plain.know(f"@cert-authority * {(tmp_path / 'authority.pub').read_text()}")
        heard = listen(reach(way, plain), shipment("answer", PYTHONS), 8)
    if way is OpenSSH:
        assert heard.kinds == DONE
    else:
        assert "is known through a host certificate" in heard.said


def test_ssh_options_of_the_user_reach_ssh(server):
    """The server offers one key exchange that the option does not allow: the sentence shows that ssh was told."""
    transport = reach(OpenSSH, server)
    told = replace(transport, options=replace(transport.options, ssh_options=("KexAlgorithms=curve25519-sha256",)))
    assert listen(told, shipment("answer", PYTHONS), 8).kinds == DONE
    wrong = replace(transport, options=replace(transport.options, ssh_options=("KexAlgorithms=diffie-hellman-group1-sha1",)))
    assert "ssh and 127.0.0.1" in listen(wrong, shipment("answer", PYTHONS), 8).said


@pytest.mark.parametrize("option", [
    "", "KexAlgorithms", "KexAlgorithms curve25519-sha256", "=x", "Port=", "-oProxyCommand=touch PWNED", "Port=22\nProxyCommand=touch PWNED", "Port=22\x00",
    "Port=22\rProxyCommand=x", " Port=22", "Po rt=22", "Port-=22", "Host=*", "match=exec x", "Include=/tmp/x",
])
def test_what_is_no_ssh_option_is_refused_in_one_printable_sentence(option):
    with pytest.raises(BadDestination) as refused:
        Options(ssh_options=("Compression=yes", option))
    assert str(refused.value).isprintable()
    assert refused.value.do.startswith("write ")
