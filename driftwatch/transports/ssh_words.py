"""What the ssh client says when it fails, and what that means to a user. Pure text: starts nothing."""
from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from .wire import LinkLost, visible

if TYPE_CHECKING:
    from .destination import Destination

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
    (r"timed out during banner exchange", "{host} did not answer in time: it took the connection and sent no SSH banner",
     "check the port, and whether sshd hangs there; ssh -v shows it"),
    (r"Timeout, server", "{host} answered at first and then no more",
     "log in by hand with ssh -v and see where it stops; at the key exchange it is often the path's MTU"),
    (r"timed out", "{host} did not answer in time", "check that the host is up and that no firewall drops the connection"),
    (r"Unable to negotiate with [^\r\n]*?: (?P<why>[^\r\n]+)", "ssh and {host} found no common method: {why}", "allow it for this host in ssh_config"),
    (r"Bad configuration option|Bad owner or permissions|bad configuration options|[Cc]an't open user config file", "ssh cannot use its configuration: {words}",
     "repair that file; ssh -G HOST shows what it reads"),
    (r"(?:closed|reset) by UNKNOWN port", "{host} was not reached from its jump host",
     "log in to the jump host and see from there whether {host} answers, and whether sshd there allows forwarding (AllowTcpForwarding)"),
    (r"Connection (?:closed|reset) by|closed by remote host|kex_exchange_identification|Broken pipe", "{host} closed the connection: {words}",
     "look at sshd's log there; it may allow too few connections at once (MaxStartups)"),
)


def login(destination: Destination) -> list[str]:
    """Return ssh's options for user and port; none where they are left to its configuration."""
    user = ["-l", destination.user] if destination.user else []
    return [*user, "-p", str(destination.port)] if destination.port else user


def failure(destination: Destination, said: str, words: str = "") -> LinkLost:
    """Return what ssh's own failure (exit code 255) means, by what it said; ``words`` are its last ones, made fit for a message."""
    words = words or visible(next((line.strip() for line in reversed(said.splitlines()) if line.strip()), ""))
    for pattern, reason, advice in MEANINGS:
        found = re.search(pattern, said, re.DOTALL)
        if found:
            terms = {**_terms(destination), "words": words, **{name: visible(text or "unknown") for name, text in found.groupdict().items()}}
            return LinkLost(reason.format(**terms), advice.format(**terms))
    return LinkLost(f'ssh to {destination.host} failed: "{words or "it said nothing"}"', f"try it by hand: {_terms(destination)['login']}")


def named(destination: Destination) -> str:
    """Return the host as messages name it."""
    return f"{destination.host} port {destination.port}" if destination.port else destination.host


def _terms(destination: Destination) -> dict[str, str]:
    """Return the words of a sentence about this destination."""
    host, port = destination.host, destination.port
    return {
        "host": named(destination),
        "known_as": shlex.quote(f"[{host}]:{port}") if port not in (0, 22) else host,
        "keyscan": f"ssh-keyscan -p {port} {host}" if port else f"ssh-keyscan {host}",
        "login": shlex.join(["ssh", *login(destination), host]),
    }
