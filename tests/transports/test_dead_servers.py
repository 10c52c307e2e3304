"""Servers that take the connection and then do not speak SSH: whatever they do, we are back at the deadline with a sentence."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from driftwatch.transports import resolving
from driftwatch.transports.destination import Destination, Options
from driftwatch.transports.openssh import OpenSSH
from driftwatch.transports.wire import LinkLost
from tests.transports.listen import listen, own_children, reach
from tests.transports.payload import shipment

BANNER = b"SSH-2.0-OpenSSH_9.2\r\n"


def silent(line, stop):
    stop.wait()


def banner_only(line, stop):
    line.sendall(BANNER)
    stop.wait()


def endless_lines(line, stop):
    while not stop.wait(0.05):
        line.sendall(b"please wait\r\n")


def endless_bytes(line, stop):
    while not stop.is_set():
        line.sendall(b"x" * 65536)


def hangs_up(line, stop):
    line.sendall(BANNER)


@contextmanager
def listening(behave):
    """Run a TCP server on loopback whose every connection is treated by ``behave``; yield its port."""
    stop = threading.Event()
    threads = []

    def serve(line):
        with line, suppress(OSError):
            behave(line, stop)

    def accept():
        while not stop.is_set():
            with suppress(OSError):
                threads.append(threading.Thread(target=serve, args=(door.accept()[0],)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(0.1)
        threads.append(threading.Thread(target=accept))
        threads[0].start()
        try:
            yield door.getsockname()[1]
        finally:
            stop.set()
            threads[0].join(5)
            for thread in threads[1:]:
                thread.join(5)


@pytest.mark.parametrize("behave", [endless_lines, endless_bytes])
def test_a_server_that_never_speaks_ssh_is_left_at_the_deadline(way, behave, tmp_path):
    with listening(behave) as port:
        transport = way(Destination(way.SCHEME, "127.0.0.1", "nobody", port), Options(ssh_config="/dev/null", known_hosts=str(tmp_path / "known")))
        heard = listen(transport, shipment("answer"), 1)
    assert heard.frames == []
    assert heard.said


def test_a_silent_server_did_not_answer_in_time(way, tmp_path):
    with listening(silent) as port:
        transport = way(Destination(way.SCHEME, "127.0.0.1", "nobody", port), Options(ssh_config="/dev/null", known_hosts=str(tmp_path / "known")))
        assert f"127.0.0.1 port {port} did not answer in time" in listen(transport, shipment("answer"), 1).said


def test_a_connection_that_is_closed_in_the_greeting_is_told(way, tmp_path):
    with listening(hangs_up) as port:
        transport = way(Destination(way.SCHEME, "127.0.0.1", "nobody", port), Options(ssh_config="/dev/null", known_hosts=str(tmp_path / "known")))
        assert f"127.0.0.1 port {port} closed the connection" in listen(transport, shipment("answer"), 2).said


def test_a_key_exchange_that_hangs_points_to_the_mtu(way, tmp_path):
    with listening(banner_only) as port:
        transport = way(Destination(way.SCHEME, "127.0.0.1", "nobody", port), Options(ssh_config="/dev/null", known_hosts=str(tmp_path / "known")))
        assert "MTU" in listen(transport, shipment("answer"), 1).said


def test_a_login_agent_that_never_answers_does_not_hold_ssh(server, tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "agent"))
        dead.listen()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
        heard = listen(reach(OpenSSH, server, identity=""), shipment("answer"), 1)
    assert "no answer from an agent in 1 s" in heard.said


def test_a_name_server_that_does_not_answer_is_given_up():
    before, began = own_children(), time.monotonic()
    with pytest.raises(LinkLost, match="was not resolved in 0 s"):
        resolving.addresses("gpu-a.example.invalid", 22, 0.0)
    assert time.monotonic() - began < 1
    assert own_children() == before


def test_an_address_is_not_asked_for():
    assert resolving.addresses("10.0.0.1", 22, 0) == [("10.0.0.1", 22)]
    assert resolving.addresses("fe80::1", 22, 0) == [("fe80::1", 22)]
