"""What paramiko is told about a host: the user's ssh_config and known_hosts, read strictly.

paramiko passes over ``Include``, takes an unknown ``Match`` for matched, and cannot read host certificates: such files are refused here by place and
line, never half read. Only paramiko.py uses this.
"""
from __future__ import annotations

import base64
import fnmatch
import hashlib
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .wire import LinkLost, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    import paramiko
    from paramiko.hostkeys import HostKeyEntry

    from .destination import Destination, Options

USE_OPENSSH = "install the ssh client and use ssh://HOST"
CONFIG, KNOWN_HOSTS, GLOBAL_KNOWN_HOSTS = "~/.ssh/config", "~/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"
BARE_CRITERIA, CRITERIA = ("all", "canonical", "final"), ("host", "originalhost", "user", "localuser")
CANNOT = ("proxyjump", "proxycommand", "hostkeyalias", "canonicalizehostname", "certificatefile")
SSH_PORT = 22
OWN_AGENT = "SSH_AUTH_SOCK"


@dataclass(frozen=True)
class Route:
    """Where to connect, as whom, with which key files, where the host's keys are known, and the socket of the ssh-agent ("" where it was not asked for)."""

    host: str
    port: int
    user: str
    identities: tuple[str, ...]
    known_hosts: tuple[str, ...]
    agent: str = ""

    def host_keys(self) -> list[HostKeyEntry]:
        """Return the readable lines of all known_hosts files. LinkLost for a line about this host that paramiko cannot read and that could forbid a key."""
        return [entry for path in self.known_hosts for entry in self._entries(path)]

    def _entries(self, path: str) -> Iterator[HostKeyEntry]:
        from paramiko.hostkeys import HostKeyEntry  # noqa: PLC0415  # only who connects with paramiko pays its import

        for number, line in _lines(path):
            if line.startswith("@"):
                if line.startswith("@revoked") and self._is_named_in(line.split()[1:2]):
                    raise LinkLost(f"{path}, line {number}: paramiko cannot read a @revoked line, and this one may speak of {self.host}", USE_OPENSSH)
                continue
            try:
                entry = HostKeyEntry.from_line(" ".join(line.split()))
            except Exception as failed:  # noqa: BLE001  # paramiko raises what its parsers raise, by key type
                raise LinkLost(f"{path}, line {number}: paramiko cannot read it: {visible(str(failed), 120)}", f"repair that line, or {USE_OPENSSH}") from None
            if entry is not None:
                yield entry

    def unknown_key(self, where: str) -> LinkLost:
        """Return what to say when no line that paramiko can read knows the host: with the line that it cannot read, if there is one."""
        for path in self.known_hosts:
            for number, line in _lines(path):
                if line.startswith("@cert-authority") and self._is_named_in(line.split()[1:2]):
                    return LinkLost(f"the host key of {where} is known through a host certificate ({path}, line {number}), which paramiko cannot read",
                                    USE_OPENSSH)
        return LinkLost(f"the host key of {where} is not known (looked in {', '.join(self.known_hosts)})",
                        f"compare its fingerprint with the host's own (ssh-keyscan -p {self.port} {self.host} | ssh-keygen -lf -), then add it to known_hosts")

    def _is_named_in(self, names: list[str]) -> bool:
        """Tell whether a line of known_hosts may speak of this host; a hashed name may."""
        me = self.host if self.port == SSH_PORT else f"[{self.host}]:{self.port}"
        for pattern in names[0].split(",") if names else ["*"]:
            literal = pattern.removeprefix("!").replace("[", "[[]")
            if pattern.startswith("|") or fnmatch.fnmatchcase(me, literal) or fnmatch.fnmatchcase(self.host, literal):
                return True
        return False


def fingerprint(key: paramiko.PKey | None) -> str:
    """Return a key's fingerprint as ssh-keygen prints it ("" for none)."""
    if key is None:
        return ""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode("ascii").rstrip("=")


def read_route(destination: Destination, options: Options) -> Route:
    """Return how to reach a destination; what the destination and the options say wins over ssh_config.

    LinkLost where paramiko would read that wrongly. May ask a name server: paramiko looks up this machine's own name for an IdentityFile.
    """
    named = options.ssh_config or CONFIG
    try:
        return _route(destination, options, _look_up(destination.host, Path(named).expanduser(), is_wanted=bool(options.ssh_config)))
    except (ValueError, RuntimeError) as failed:  # the second where there is no home ~USER
        raise LinkLost(f"{named}: paramiko cannot read it: {visible(str(failed), 120)}", USE_OPENSSH) from None


def _route(destination: Destination, options: Options, told: dict[str, Any]) -> Route:
    known_hosts = [options.known_hosts] if options.known_hosts else shlex.split(str(told.get("userknownhostsfile", KNOWN_HOSTS)))
    return Route(
        host=str(told.get("hostname", destination.host)),
        port=destination.port or int(told.get("port", SSH_PORT)),
        user=destination.user or str(told.get("user", "")),
        identities=(options.identity,) if options.identity else tuple(told.get("identityfile", ())),
        known_hosts=tuple(str(Path(one).expanduser()) for one in (*known_hosts, GLOBAL_KNOWN_HOSTS)),
        agent=_agent(options, told),
    )


def _agent(options: Options, told: dict[str, Any]) -> str:
    """Return the socket of the ssh-agent, where the options or an IdentityAgent in ssh_config ask for one."""
    named = str(told.get("identityagent", OWN_AGENT if options.is_agent_asked else "none"))
    if named.lower() == "none" or options.identity or str(told.get("identitiesonly")).lower() == "yes":
        return ""
    if named == OWN_AGENT or named.startswith("$"):
        return os.environ.get(named.strip("${}"), "")
    return str(Path(named).expanduser())


def _look_up(host: str, path: Path, *, is_wanted: bool) -> dict[str, Any]:
    """Return what ssh_config says about a host, keys in lower case; nothing where there is none, unless it was asked for."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        if is_wanted:
            raise LinkLost(f"{path}: no such ssh_config", "name another") from None
        return {}
    except OSError as failed:
        raise LinkLost(f"{path}: {failed.strerror}", "make it readable, or name another ssh_config") from None
    _refuse_what_would_be_misread(text, path)
    import paramiko  # noqa: PLC0415  # only who connects with paramiko pays its import

    try:
        told: dict[str, Any] = paramiko.SSHConfig.from_text(text).lookup(host)
    except paramiko.ConfigParseError as failed:
        raise ValueError(str(failed)) from None
    for key in CANNOT:
        if str(told.get(key) or "none").lower() not in ("none", "no"):
            raise LinkLost(f"{path} asks for {key} for {host}, which this way to connect does not do", USE_OPENSSH)
    return told


def _refuse_what_would_be_misread(text: str, path: Path) -> None:
    """Raise LinkLost for a line that paramiko would pass over or take for something else."""
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*(include|match)(?:\s*=\s*|\s+)(.*)", line, re.IGNORECASE)
        if found and (found[1].lower() == "include" or not _is_plain_match(found[2])):
            raise LinkLost(f"{path}, line {number}: paramiko cannot read {visible(line.strip(), 80)}", USE_OPENSSH)


def _is_plain_match(criteria: str) -> bool:
    """Tell whether each criterion of a Match line is one that paramiko decides as ssh does."""
    try:
        words = shlex.split(criteria)
    except ValueError:
        return False
    while words:
        word = words.pop(0).lower().removeprefix("!")
        if word in CRITERIA and words:
            words.pop(0)
        elif word not in BARE_CRITERIA:
            return False
    return True


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a known_hosts file that say something; nothing where there is no such file."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    except OSError as failed:
        raise LinkLost(f"{path}: {failed.strerror}", "make it readable") from None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()
