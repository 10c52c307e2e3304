"""Destinations: what a user may write for a host, and nothing else. Starts no process and asks no name server."""
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .views import VIEWS, as_written, take_apart
from .wire import visible

if TYPE_CHECKING:
    from .jumps import Jumps

HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,252}")
ADDRESS = re.compile(r"[0-9A-Fa-f:.]+")
USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
PORT = re.compile(r"[0-9]{1,5}")
SCHEME = re.compile(r"[a-z][a-z0-9]{0,31}")
OPTION = re.compile(r"([A-Za-z][A-Za-z0-9]{1,63})=([^\x00-\x1f\x7f]+)")
NO_OPTIONS = ("host", "match", "include")
DEFAULT_SCHEME = "openssh"
SAME_AS = {"ssh": "openssh"}


class BadDestination(ValueError):
    """A text that names no host, or no option of ssh: one sentence that shows it, escaped, and what to do."""

    def __init__(self, what: str, do: str = "HOST, USER@HOST, ssh://USER@HOST:PORT; driftwatch snapshot --help names the rest") -> None:
        super().__init__(what)
        self.do = do


@dataclass(frozen=True)
class Destination:
    """Where to go: the scheme names the transport; user "" and port 0 leave the choice to it (and to the user's ssh_config).

    ``inside`` is the container, as NAME or NAMESPACE/POD[/CONTAINER]; its host is then the machine whose client is asked, ``local`` for this one.
    """

    scheme: str
    host: str
    user: str = ""
    port: int = 0
    inside: str = ""

    def __str__(self) -> str:
        """Return it as people write it."""
        if self.scheme == "local":
            return "local"
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if self.port and ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        if self.scheme in VIEWS:
            return as_written(self.scheme, self.inside, f"{user}{host}{port}")
        scheme = "ssh" if self.scheme == DEFAULT_SCHEME else self.scheme
        return f"{scheme}://{user}{host}{port}" if port or scheme != "ssh" else f"{user}{host}"


@dataclass(frozen=True)
class Options:
    """How the user wants it done. ``ssh_options`` are ssh's own, as ``Name=value``; ``known_hosts`` and ``identity`` stand for the usual files.

    ``is_agent_asked`` lets paramiko use the ssh-agent; ``jumps`` are shared by all hosts of a run, None leaves jumps to ssh.
    ``slurm_job`` is the number of a running job in which a step may look, "" for a new allocation.
    """

    ssh_config: str = ""
    ssh_options: tuple[str, ...] = ()
    known_hosts: str = ""
    identity: str = ""
    slurm_job: str = ""
    is_agent_asked: bool = False
    jumps: Jumps | None = None

    def __post_init__(self) -> None:
        """Refuse what is no option of ssh before any process starts."""
        for one in self.ssh_options:
            _refuse_no_option(one)


LOCAL = Destination("local", "local")
USUAL = Options()


def parse_destination(text: str, default_scheme: str = DEFAULT_SCHEME) -> Destination:
    """Return the destination that HOST, USER@HOST, SCHEME://USER@HOST:PORT or ``local`` names; BadDestination for anything else."""
    if text == "local":
        return LOCAL
    scheme, mark, rest = text.rpartition("://")
    if not mark:
        return _parse_view(text, default_scheme, text) if default_scheme in VIEWS else _parse_login(text, default_scheme, port="", login=text)
    if SCHEME.fullmatch(scheme) is None:
        raise _refusal(text, "the scheme before :// is no plain word, as in ssh://HOST")
    if scheme in VIEWS:
        return _parse_view(text, scheme, rest)
    login, port = _split_port(rest.removesuffix("/"))
    return _parse_login(text, SAME_AS.get(scheme, scheme), port=port, login=login)


def _parse_view(text: str, scheme: str, rest: str) -> Destination:
    """Return the destination of a scheme that names a container, or a node that Slurm reaches."""
    try:
        inside, host = take_apart(scheme, rest)
    except ValueError as wrong:
        raise _refusal(text, str(wrong)) from None
    login, port = _split_port(host)
    return replace(_parse_login(text, scheme, port=port, login=login), inside=inside)


def _split_port(login: str) -> tuple[str, str]:
    """Return the login and the port, "" if none. More than one colon is an IPv6 address, whose port needs brackets: [ADDRESS]:PORT."""
    bracketed = re.fullmatch(r"((?:[^\[\]@]*@)?)\[([^\[\]]*)\](?::(.+))?", login, re.DOTALL)
    if bracketed:
        return bracketed[1] + bracketed[2], bracketed[3] or ""
    if login.rpartition("@")[2].count(":") != 1:
        return login, ""
    login, _, port = login.rpartition(":")
    return login, port or "empty"


def _parse_login(text: str, scheme: str, *, port: str, login: str) -> Destination:
    user, mark, host = login.rpartition("@")
    if mark and USER.fullmatch(user) is None:
        raise _refusal(text, "the user before @ may hold letters, digits, dot, underscore and hyphen, and no hyphen first")
    if not host:
        raise _refusal(text, "it names no host; write HOST, USER@HOST or ssh://USER@HOST:PORT")
    if HOST.fullmatch(host) is None:
        raise _refusal(text, "a host has at most 253 letters, digits, dots, colons, underscores and hyphens, and starts with a letter or a digit")
    if host.count(":") == 1:
        raise _refusal(text, "a port is written with its scheme, as in ssh://HOST:PORT")
    if ":" in host and ADDRESS.fullmatch(host) is None:
        raise _refusal(text, "only an IPv6 address holds colons, and a port is written with its scheme, as in ssh://HOST:PORT")
    if port and (PORT.fullmatch(port) is None or not 1 <= int(port) <= 65535):
        raise _refusal(text, "a port is a number from 1 to 65535")
    return Destination(scheme, host, user, int(port or 0))


def _refuse_no_option(text: str) -> None:
    named = OPTION.fullmatch(text)
    if named is None:
        raise BadDestination(f'"{visible(text, 80)}" is no ssh option', 'write Name=value on one line: "KexAlgorithms=curve25519-sha256" (man ssh_config)')
    if named[1].lower() in NO_OPTIONS:
        raise BadDestination(f'"{visible(text, 80)}" is no option for one connection', f"write {named[1]} into ssh_config")


def _refusal(text: str, why: str) -> BadDestination:
    return BadDestination(f'"{visible(text, 80)}" is no destination: {why}')
