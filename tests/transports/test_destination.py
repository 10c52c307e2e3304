"""What may be written for a host. Whatever else is written is refused before any process starts, and shown escaped."""

from __future__ import annotations

import re

import pytest

from driftwatch.transports.destination import LOCAL, BadDestination, Destination, Options, parse_destination
from driftwatch.transports.local import LocalTransport
from driftwatch.transports.opening import open_transport
from driftwatch.transports.openssh import OpenSSH
from driftwatch.transports.paramiko import Paramiko

HOSTILE = [
    "-oProxyCommand=touch PWNED", "a$(touch PWNED)", "a`touch PWNED`", "a;touch PWNED", "a|touch PWNED", "a b", "../../x", "a\ntouch PWNED", "",
    "x" * 300, "a\x1b[2Jb", "-V", "host:-oProxyCommand=touch PWNED", "user@-oProxyCommand=touch PWNED", "ssh://-oProxyCommand=touch PWNED/x",
    "ssh://-V", "ssh://", "ssh:///x", "-l@host", "-oProxyCommand=x@host", "u$(x)@host", "@host", "a@b@host", "user@", "host\n", "ssh://host\n",
    "ssh://host:", "ssh://host:0", "ssh://host:65536", "ssh://host:2x", "ssh://host:-1", "ssh://host:+22", "ssh://host:٢٢", "host:22",
    "ssh://host/path", "ssh://a:b:c@host", "ho\u202est", "hôst", "host\udcff", "\x00", "[::1]", "ssh://[-V]:22", "ssh://[a]b", "%h", "~", ".", "_x",
    "fe80::1%eth0", "[::1]:22", "ssh://[::1", "ssh://::1]:22", "ssh://[::1]]:22", "ssh://[[::1]]:22", "ssh://[::1]x:22", "user:pw@host", "ssh://user:pw@host",
    "host#x", "host?x=1", "ssh://host:22/../x", "a\\b", "'a'", '"a"', "a&b", "a>b", "$HOME", "${IFS}", "a,b", "a=b", "%n",
    "%%", "ssh://%2doPort=x", "\uff0doProxyCommand=x", "--", "-", "ssh://-@host", "ssh://u@-host", "ssh://host:22 -oX=y",
    "host ", " host", "\thost", "host\r\n", "host\u2028", "u%h@host",
    "://host", "SSH://host", "a/b://host", "ssh://ssh://host", "ssh://u@h@ost", "ssh://user@host:22:33:",
]
TAKEN = {
    "gpu-a.example.invalid": Destination("openssh", "gpu-a.example.invalid"),
    "user@host": Destination("openssh", "host", "user"),
    "ssh://user@host:2222": Destination("openssh", "host", "user", 2222),
    "ssh://host": Destination("openssh", "host"),
    "ssh://host/": Destination("openssh", "host"),
    "openssh://host:1": Destination("openssh", "host", port=1),
    "paramiko://_svc.x-y@10.0.0.1:65535": Destination("paramiko", "10.0.0.1", "_svc.x-y", 65535),
    "ssh://u@[fe80::1]:22": Destination("openssh", "fe80::1", "u", 22),
    "2001:db8::1": Destination("openssh", "2001:db8::1"),
    "x" * 253: Destination("openssh", "x" * 253),
    "local": LOCAL,
    "me@local": Destination("openssh", "local", "me"),
}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_destination_is_refused_in_one_printable_sentence(text):
    with pytest.raises(BadDestination) as refused:
        parse_destination(text)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 350
    assert re.search("is no destination: .+", str(refused.value))


@pytest.mark.parametrize("text", TAKEN)
def test_a_plain_destination_is_taken(text):
    assert parse_destination(text) == TAKEN[text]


@pytest.mark.parametrize("text", TAKEN)
def test_a_destination_reads_back_as_it_is_written(text):
    assert parse_destination(str(TAKEN[text])) == TAKEN[text]


def test_the_default_transport_can_be_another():
    assert parse_destination("host", "paramiko").scheme == "paramiko"


@pytest.mark.parametrize(("text", "made"), [("host", OpenSSH), ("ssh://host", OpenSSH), ("paramiko://host", Paramiko), ("local", LocalTransport)])
def test_the_scheme_picks_the_class(text, made, tmp_path, monkeypatch):
    (tmp_path / "ssh").write_text("#!/bin/sh\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert isinstance(open_transport(parse_destination(text), Options()), made)


def test_where_no_ssh_is_installed_paramiko_stands_in(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert isinstance(open_transport(parse_destination("host"), Options()), Paramiko)


@pytest.mark.parametrize("scheme", ["telnet", "wire", "child", "opening"])
def test_an_unknown_scheme_is_refused_and_the_known_ones_named(scheme):
    with pytest.raises(BadDestination, match=f'no transport is called "{scheme}"') as refused:
        open_transport(parse_destination(f"{scheme}://host"), Options())
    assert re.match("one of: ssh, .*local, openssh, paramiko", refused.value.do)


def test_ssh_gets_our_options_first_and_two_hyphens_before_the_host():
    argv = OpenSSH(Destination("openssh", "h", "u", 22), Options(ssh_config="/c", ssh_options=("ForwardAgent=yes",))).argv("remote", 60)
    assert argv[-3:] == ["--", "h", "remote"]
    assert argv[-7:-3] == ["-l", "u", "-p", "22"]
    assert argv[:4] == ["ssh", "-T", "-F", "/c"]
    assert argv.index("ForwardAgent=no") < argv.index("ForwardAgent=yes")
    ours = {"BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", "ForwardX11=no", "ClearAllForwardings=yes", "PermitLocalCommand=no",
            "ControlMaster=no", "ConnectTimeout=10", "ServerAliveInterval=2", "ServerAliveCountMax=5"}
    assert ours < set(argv)


def test_a_short_deadline_shortens_the_time_to_connect():
    assert "ConnectTimeout=4" in OpenSSH(Destination("openssh", "h")).argv("remote", 4.5)
