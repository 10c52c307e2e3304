"""How far the ssh client got, by its own debug lines, so that a login that hangs is told by the step at which it stopped. Pure text: starts nothing."""
from __future__ import annotations

from dataclasses import dataclass

from .wire import LinkLost

LOG_LEVEL = "DEBUG1"
LONGEST_LINE = 8 << 10
OWN_WORDS = (b"debug1: ", b"Authenticated to ", b"Transferred: ", b"Bytes per second: ")
BY_HAND = "log in by hand with ssh -v and see where it stops"


@dataclass(frozen=True)
class Stage:
    """A step of ssh: the line that begins it, and what it means when nothing follows."""

    line: str
    reason: str
    advice: str

    def lost(self, host: str, deadline_s: float, words: str) -> LinkLost:
        """Return what to say of a host at which it stopped here; ``words`` are the last from there."""
        return LinkLost(self.reason.format(host=host, s=f"{deadline_s:g}") + (f'; its last words: "{words}"' if words else ""), self.advice)


# what ssh prints, in order
STAGES = (
    Stage("", "ssh did not get to connect to {host} in {s} s: its name was not resolved, or a command of ssh_config hangs",
          "check the name and the name server, or give the address"),
    Stage("debug1: Connecting to ", "{host} did not answer in {s} s", "check that the host is up and that no firewall drops the connection"),
    Stage("debug1: Executing proxy command", "nothing came from {host} through its jump host or proxy command in {s} s", BY_HAND),
    Stage("debug1: Connection established", "{host} took the connection and sent no SSH banner in {s} s", "check the port, and whether sshd hangs there"),
    Stage("debug1: Remote protocol version", "the key exchange with {host} did not end in {s} s", f"{BY_HAND}; it is often the path's MTU"),
    Stage("debug1: SSH2_MSG_NEWKEYS received", "the login at {host} did not begin in {s} s: the ssh-agent here did not answer, or the host",
          "see whether ssh-add -l answers; if not, restart the agent or set IdentityAgent none"),
    Stage("debug1: SSH2_MSG_SERVICE_ACCEPT received", "{host} did not answer the login in {s} s",
          "look there at what sshd asks for a login: a name service, or a command for keys, may hang"),
    Stage("Authenticated to ", "{host} took the login and opened no session in {s} s", "look at sshd there: it hangs, or the host does"),
    Stage("debug1: Sending command", "{host} took the login and no agent answered in {s} s (no ready frame): the login shell hangs, or sshd",
          f"{BY_HAND}; the account needs a login shell that runs commands"),
)
SHELL = STAGES[-1]
SHARED = ("debug1: mux_client_request_session: master session id", len(STAGES) - 1)  # through a master that the user runs, the last step comes first


class Progress:
    """Follows what ssh writes to standard error."""

    def __init__(self) -> None:
        self._at = 0
        self._begun = b""

    def hear(self, piece: bytes) -> bytes:
        """Return what came without ssh's own words of its progress. A line that may become one of those is held back until it ends."""
        *lines, rest = (self._begun + piece).split(b"\n")
        kept = b"".join(line + b"\n" for line in lines if not self._is_own(line))
        may_be_own = len(rest) < LONGEST_LINE and any(words.startswith(rest[:len(words)]) for words in OWN_WORDS)
        self._begun = rest if may_be_own else b""
        return kept if may_be_own else kept + rest

    def _is_own(self, line: bytes) -> bool:
        if not line.startswith(OWN_WORDS):
            return False
        said = line.decode("utf-8", "replace")
        for number, stage in enumerate(STAGES[self._at + 1:], self._at + 1):
            if said.startswith(stage.line):
                self._at = number
        if said.startswith(SHARED[0]):
            self._at = SHARED[1]
        return True

    def lost(self, host: str, deadline_s: float, words: str) -> LinkLost:
        """Return what to say when nothing more came."""
        return STAGES[self._at].lost(host, deadline_s, words)
