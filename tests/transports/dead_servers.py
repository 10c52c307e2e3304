"""Servers on loopback that take the connection and then keep us waiting: plain sockets, and an SSH server that leaves one request unanswered."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import paramiko

BANNER = b"SSH-2.0-OpenSSH_9.2\r\n"
Behave = Callable[[socket.socket, threading.Event], None]


def silent(line: socket.socket, stop: threading.Event) -> None:
    stop.wait()


def banner_only(line: socket.socket, stop: threading.Event) -> None:
    line.sendall(BANNER)
    stop.wait()


def endless_lines(line: socket.socket, stop: threading.Event) -> None:
    while not stop.wait(0.05):
        line.sendall(b"please wait\r\n")


def endless_bytes(line: socket.socket, stop: threading.Event) -> None:
    while not stop.is_set():
        line.sendall(b"x" * 65536)


def hangs_up(line: socket.socket, stop: threading.Event) -> None:
    line.sendall(BANNER)


def leaves_unanswered(request: str, host_key: str) -> Behave:
    """Return an SSH server that lets everybody in and never answers one request: ``channel`` or ``exec``."""

    def behave(line: socket.socket, stop: threading.Event) -> None:
        class Host(paramiko.ServerInterface):
            def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
                return paramiko.AUTH_SUCCESSFUL

            def get_allowed_auths(self, username: str) -> str:
                return "publickey"

            def check_channel_request(self, kind: str, chanid: int) -> int:
                if request == "channel":
                    stop.wait()
                return paramiko.OPEN_SUCCEEDED

            def check_channel_exec_request(self, channel: Any, command: bytes) -> bool:
                stop.wait()
                return False

        transport = paramiko.Transport(line)
        transport.add_server_key(paramiko.Ed25519Key.from_private_key_file(host_key))
        with suppress(paramiko.SSHException, EOFError):
            transport.start_server(server=Host(), event=threading.Event())
            stop.wait()
        transport.close()

    return behave


@contextmanager
def listening(behave: Behave) -> Iterator[int]:
    """Run a TCP server on loopback whose every connection is treated by ``behave``; yield its port."""
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def serve(line: socket.socket) -> None:
        with line, suppress(OSError):
            behave(line, stop)

    def accept() -> None:
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


@contextmanager
def dropping() -> Iterator[int]:
    """Yield a port of loopback at which the kernel drops every SYN: its queue of connections is full and nobody takes one."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen(0)
        waiting = []
        try:
            for _ in range(10):
                waiting.append(socket.socket())
                waiting[-1].settimeout(0.3)
                waiting[-1].connect(door.getsockname())
        except TimeoutError:
            yield door.getsockname()[1]
        finally:
            for one in waiting:
                one.close()


@contextmanager
def dead_agent(path: str) -> Iterator[str]:
    """Yield an ssh-agent's socket where every connection is taken and nothing is answered."""
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(path)
        door.listen()
        yield path
