"""The user's own ssh client as a child: their ssh_config, jumps, agents, certificates and security keys hold, our safety options come first.

Knows ssh's options and what its complaints mean. Never runs a shell here, never takes a host key that is not known, never forwards anything.
"""
from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .child import converse
from .conversation import Conversation
from .destination import USUAL, Destination, Options
from .wire import LinkLost, command, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .wire import Shipment

# The first value wins in ssh: these stand before all of the user's.
OURS = ("BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", "ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes",
        "PermitLocalCommand=no", "RemoteCommand=none", "ControlMaster=no", "LogLevel=INFO", "ServerAliveInterval=1", "ServerAliveCountMax=3")
CONNECT_S = 10
SSH_FAILED = 255

COMPARE = "compare its fingerprint with the host's own ({keyscan} | ssh-keygen -lf -), then "
# what ssh says -> what it means, what to do; the first that fits
MEANINGS = (
    (r"REVOKED HOST KEY DETECTED|key .* is revoked|revoked by file", "the host key of {host} is marked as revoked",
     "do not connect; ask who runs the host for its new key"),
    (r"HOST IDENTIFICATION HAS CHANGED(?:.*?(?P<fingerprint>SHA256:\S+?)\.?\s)?(?:.*?Offending \S+ key in (?P<where>\S+))?",
     "the host key of {host} has changed (now {fingerprint}; another is known in {where})", COMPARE + "remove the old line: ssh-keygen -R {known_as}"),
    (r"No (?P<kind>\S+) host key is known for", "the host key of {host} is not known (it offers {kind})", COMPARE + "log in once by hand: {login}"),
    (r"Host key verification failed", "the host key of {host} could not be verified", COMPARE + "log in once by hand: {login}"),
    (r"Permission denied \((?P<ways>[^)]*)\)", "{host} refused the login (it offers: {ways})", "check user and key: {login}"),
    (r"Too many authentication failures", "{host} refused the login: too many keys were tried", "name the key: IdentityFile and IdentitiesOnly in ssh_config"),
    (r"Could not resolve hostname (?P<name>\S+?): (?P<why>[^\r\n]+)", "the name {name} was not resolved: {why}", "check the name and the name server"),
    (r"Connection refused", "{host} refused the connection: nothing listens on that port", "check that sshd runs there, and the port"),
    (r"No route to host|Network is unreachable", "no route to {host}", "check the network, the address, and whether the host is up"),
    (r"timed out|Timeout, server", "{host} did not answer in time", "check that the host is up and that no firewall drops the connection"),
    (r"Unable to negotiate with [^\r\n]*?: (?P<why>[^\r\n]+)", "ssh and {host} found no common method: {why}", "allow it for this host in ssh_config"),
    (r"Bad configuration option|Bad owner or permissions|bad configuration options|[Cc]an't open user config file", "ssh cannot use its configuration: {words}",
     "repair that file; ssh -G HOST shows what it reads"),
    (r"Connection (?:closed|reset) by|closed by remote host|kex_exchange_identification|Broken pipe", "{host} closed the connection: {words}",
     "look at sshd's log there; it may allow too few connections at once (MaxStartups)"),
)


@dataclass(frozen=True)
class OpenSSH:
    """Reaches a host through the ssh client."""

    destination: Destination
    options: Options = USUAL
    SCHEME: ClassVar[str] = "openssh"

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s."""
        talk = Conversation(shipment, deadline_s)

        def judge(code: int) -> LinkLost:
            return explain(self.destination, talk) if code == SSH_FAILED else talk.lost_at_exit(code)

        yield from converse(self.argv(command(shipment.nonce, shipment.pythons), deadline_s), talk, judge)

    def argv(self, remote: str, deadline_s: float) -> list[str]:
        """Return ssh's command line for a remote command: our options, then the user's, then ``--`` before the host."""
        ours = [*OURS, f"ConnectTimeout={max(1, min(CONNECT_S, int(deadline_s)))}"]
        if self.options.known_hosts:
            ours.append(f"UserKnownHostsFile={self.options.known_hosts}")
        if self.options.identity:
            ours += [f"IdentityFile={self.options.identity}", "IdentitiesOnly=yes"]
        config = ["-F", self.options.ssh_config] if self.options.ssh_config else []
        named = [word for one in (*ours, *self.options.ssh_options) for word in ("-o", one)]
        return ["ssh", "-T", *config, *named, *_login(self.destination), "--", self.destination.host, remote]


def _login(destination: Destination) -> list[str]:
    user = ["-l", destination.user] if destination.user else []
    return [*user, "-p", str(destination.port)] if destination.port else user


def explain(destination: Destination, talk: Conversation) -> LinkLost:
    """Return what ssh's own failure (exit code 255) means."""
    words = talk.last_words()
    if talk.is_running:
        return LinkLost(f'the connection to {destination.host} broke in mid-run: ssh says "{words}"', "take the snapshot again; sshd's log may say more")
    said = talk.complaints.decode("utf-8", "replace")
    for pattern, reason, advice in MEANINGS:
        found = re.search(pattern, said, re.DOTALL)
        if found:
            terms = {**_terms(destination), "words": words, **{name: visible(text or "unknown") for name, text in found.groupdict().items()}}
            return LinkLost(reason.format(**terms), advice.format(**terms))
    return LinkLost(f'ssh to {destination.host} failed: "{words or "it said nothing"}"', f"try it by hand: {_terms(destination)['login']}")


def _terms(destination: Destination) -> dict[str, str]:
    """Return the words of a sentence about this destination."""
    host, port = destination.host, destination.port
    return {
        "host": f"{host} port {port}" if port else host,
        "known_as": shlex.quote(f"[{host}]:{port}") if port not in (0, 22) else host,
        "keyscan": f"ssh-keyscan -p {port} {host}" if port else f"ssh-keyscan {host}",
        "login": shlex.join(["ssh", *_login(destination), host]),
    }
