"""The steps before an agent can run, each tried by itself: name, TCP, host key, login. For ``doctor``; a snapshot takes them all in one.

Asks what the transport would ask, with the user's own configuration. Runs nothing on a host but ``echo``.
"""
from __future__ import annotations

import re
import secrets
import socket
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from . import known
from .asking import Answer, ask
from .destination import Destination
from .openssh import SSH_FAILED, OpenSSH
from .resolving import addresses
from .slurm import Slurm
from .ssh_stages import LOG_LEVEL, Progress
from .ssh_words import failure, named
from .views import AROUND, ENGINES, HERE, NODES
from .wire import LinkLost, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .destination import Options

NAME, TCP, HOST_KEY, LOGIN = STEPS = ("name", "TCP", "host key", "login")
CONFIG_S = 2.0
NONE = ("", "none")
KEY = re.compile(r"Server host key: (\S+) (SHA256:\S+)")


@dataclass(frozen=True)
class Step:
    """One step. ``ask`` gets the seconds that it may take, returns what was found, and raises LinkLost; ``apart`` says why it is not tried by itself."""

    name: str
    ask: Callable[[float], str] | None = None
    apart: str = ""


def steps_to(destination: Destination, options: Options) -> list[Step]:
    """Return the four steps towards a destination. LinkLost where the configuration that they rest on cannot be read."""
    if destination.scheme == "paramiko":
        return _by_paramiko(destination, options)
    if destination.scheme == NODES:
        first = Step(NAME, lambda wait_s: f"{Slurm(destination, options).ready_state(wait_s)} in Slurm")
        return [first, *_apart("Slurm reaches its nodes itself", STEPS[1:])]
    if destination.scheme not in ENGINES and destination.scheme != "openssh":
        return _apart("this machine" if destination.scheme in (HERE, AROUND) else "its client reaches the cluster itself", STEPS)
    if destination.host == HERE and destination.scheme in ENGINES:
        return _apart("this machine", STEPS)
    return _by_ssh(_Ssh(Destination("openssh", destination.host, destination.user, destination.port), options))


def _apart(why: str, names: Sequence[str]) -> list[Step]:
    return [Step(name, apart=why) for name in names]


def _by_paramiko(destination: Destination, options: Options) -> list[Step]:
    route = _route_in_time(destination, options)
    why = "paramiko does this in one with the start of Python: see there"
    return [*_to_port(destination, (route.host, route.port)), *_apart(why, (HOST_KEY, LOGIN))]


def _route_in_time(destination: Destination, options: Options) -> known.Route:
    """Return what paramiko is told of the host. Reading it may ask a name server, so a thread reads it, which is given up where nobody answers."""
    told: list[known.Route | Exception] = []

    def read() -> None:
        try:
            told.append(known.read_route(destination, options))
        except Exception as failed:  # noqa: BLE001  # raised again by the thread that waits
            told.append(failed)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(CONFIG_S)
    if not told:
        raise LinkLost(f"ssh_config was not read in {CONFIG_S:g} s: paramiko asks a name server for this machine's own name",
                       f"check the name server, or {known.USE_OPENSSH}")
    if isinstance(told[0], Exception):
        raise told[0]
    return told[0]


def _by_ssh(ssh: _Ssh) -> list[Step]:
    """Return the steps of the ssh client; behind a jump only the last can be told."""
    route = ssh.route()
    through = next((f"{key} {route[key]}" for key in ("proxyjump", "proxycommand") if route.get(key, "") not in NONE), "")
    login = Step(LOGIN, ssh.login)
    if through:
        return [*_apart(f"ssh goes through {visible(through, 80)}: not told apart from login", STEPS[:3]), login]
    place = (route.get("hostname", ssh.destination.host), int(route.get("port", "22")))
    return [*_to_port(ssh.destination, place), Step(HOST_KEY, ssh.host_key), login]


def _to_port(destination: Destination, place: tuple[str, int]) -> list[Step]:
    return [Step(NAME, partial(_resolve, place)), Step(TCP, partial(_connect, destination, place))]


def _resolve(place: tuple[str, int], wait_s: float) -> str:
    found = [address for address, _ in addresses(*place, wait_s)]
    return ", ".join(dict.fromkeys(found))


def _connect(destination: Destination, place: tuple[str, int], wait_s: float) -> str:
    """Return the address and port that took a connection."""
    found = addresses(*place, wait_s)
    refused = ""
    for address, port in found:
        refused = _refusal((address, port), wait_s / len(found))
        if not refused:
            return f"{address} port {port}"
    raise failure(Destination("openssh", destination.host, port=place[1]), refused)


def _refusal(place: tuple[str, int], wait_s: float) -> str:
    """Return why a place took no connection, "" where it did."""
    try:
        socket.create_connection(place, timeout=wait_s).close()
    except OSError as failed:
        return "Connection timed out" if isinstance(failed, TimeoutError) else str(failed.strerror or failed)
    return ""


@dataclass(frozen=True)
class _Ssh:
    """The user's ssh client, asked one thing at a time."""

    destination: Destination
    options: Options

    def route(self) -> dict[str, str]:
        """Return what ssh's configuration says of this host, keys in lower case."""
        ssh, *rest, _ = OpenSSH(self.destination, self.options).argv("", CONFIG_S)
        told = ask([ssh, "-G", *rest], CONFIG_S)
        if told.code is None:
            raise LinkLost(f"ssh -G gave no answer in {CONFIG_S:g} s: a command of ssh_config hangs", "look at its lines with Match exec")
        if told.code:
            raise failure(self.destination, told.complaints)
        return dict(line.split(" ", 1) for line in told.said.splitlines() if " " in line)

    def host_key(self, wait_s: float) -> str:
        """Return the kind and fingerprint of the host key, which is known: no login is offered, and the host must refuse it."""
        told = self._run("true", wait_s, "PreferredAuthentications=none", "IdentityAgent=none")
        if told.code == 0 or "Permission denied" in told.complaints:
            offered = KEY.search(told.complaints)
            return " ".join(offered.groups()) if offered else "it is known"
        raise self._lost(told, wait_s)

    def login(self, wait_s: float) -> str:
        """Return whether the login shell runs a command, and what it says besides."""
        mark = secrets.token_hex(8)
        told = self._run(f"exec /bin/sh -c 'echo {mark}'", wait_s)
        if mark in told.said:
            noise = len(told.said.replace(mark, "").strip())
            return f"the login shell says {noise} characters of its own, which is passed over" if noise else "the login shell runs commands"
        if told.code in (None, SSH_FAILED):
            raise self._lost(told, wait_s)
        lines = [line for line in (told.said + _without_progress(told)).splitlines() if line.strip()]
        words = visible(lines[-1].strip()) if lines else "it said nothing"
        raise LinkLost(f'the login shell ended with code {told.code} and ran no command: "{words}"',
                       "the account needs a usable login shell: chsh, or another account")

    def _run(self, remote: str, wait_s: float, *first: str) -> Answer:
        return ask(OpenSSH(self.destination, self.options).argv(remote, wait_s, (f"LogLevel={LOG_LEVEL}", *first)), wait_s)

    def _lost(self, told: Answer, wait_s: float) -> LinkLost:
        """Return where ssh stopped, if it did, else what its failure means."""
        if told.code is not None:
            return failure(self.destination, _without_progress(told))
        progress = Progress()
        progress.hear(told.complaints.encode("utf-8", "replace"))
        return progress.lost(named(self.destination), float(f"{wait_s:.1f}"), "")


def _without_progress(told: Answer) -> str:
    """Return ssh's complaints without its own account of how far it got."""
    return Progress().hear(told.complaints.encode("utf-8", "replace")).decode("utf-8", "replace")
