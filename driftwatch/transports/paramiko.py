"""The paramiko library as the line, for machines without an ssh client: strict host keys, no jumps, the ssh-agent only when asked.

Everything of paramiko runs in one thread that may be given up: none of its own timeouts bounds a request that is never answered. It reads a plain
known_hosts and a plain ssh_config; what it would read wrongly it refuses, and says that openssh can do it.
"""
from __future__ import annotations

import getpass
import logging
import queue
import re
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from . import agent_keys, known, resolving
from .conversation import Conversation
from .destination import USUAL, Destination, Options
from .known import USE_OPENSSH
from .ssh_stages import SHELL
from .ssh_words import named
from .wire import LinkLost, command, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    import paramiko

    from .wire import Shipment

CONNECT_S = 10.0
BANNER_PART = 0.8  # of the time left: a silent server shall be told from a key exchange that hangs
PIECE_BYTES = 32768
QUEUE_PIECES = 256
AFTER_EXIT_S = 2.0
AFTER_END_S = 0.5
AFTER_CUT_S = 0.3
LOST_CODE = -1

# what paramiko raises (its classes, then its words) -> what it means, what to do; the first that fits
MEANINGS = (
    (r"BadHostKeyException", "the host key of {host} has changed (now {new}, known is {old})",
     "compare it with the host's own, then remove the old line of known_hosts"),
    (r"opening channel", "{host} took the login and opened no session in time", "look at sshd there: it hangs, or the host does"),
    (r"Authentication timeout", "{host} took the connection and did not answer the login in time",
     "look there at what sshd asks for a login: a name service, or a command for keys, may hang"),
    (r"AuthenticationException|PasswordRequired|No authentication methods", "{host} refused the login: {words}",
     f"check user and key; paramiko uses key files without passphrase only: else {USE_OPENSSH}"),
    (r"ConnectionRefusedError", "{host} refused the connection: nothing listens on that port", "check that sshd runs there, and the port"),
    (r"TimeoutError|[Tt]imeout|protocol banner", "{host} did not answer in time, or not as an SSH server",
     "check that the host is up, the port, and that no firewall drops it"),
    (r"No existing session", "the key exchange with {host} did not end in time", "try it by hand; it is often the path's MTU"),
    (r"No route to host|Network is unreachable", "no route to {host}", "check the network, the address, and whether the host is up"),
    (r"EOFError|ConnectionReset|closed|negotiation", "{host} closed the connection: {words}",
     "look at sshd's log there; it may allow too few connections at once (MaxStartups)"),
    (r"", "paramiko cannot reach {host}: {words}", f"try it by hand, or {USE_OPENSSH}"),
)


@dataclass(frozen=True)
class Paramiko:
    """Reaches a host through paramiko."""

    destination: Destination
    options: Options = USUAL
    SCHEME: ClassVar[str] = "paramiko"

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s."""
        talk = Conversation(shipment, deadline_s)
        line = _Line(self, command(shipment.nonce, shipment.pythons), talk)
        line.start()
        try:
            yield from _follow(line, talk)
        finally:
            line.hang_up()


def _follow(line: _Line, talk: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the frames that come from the line until the conversation is over. LinkLost for every other end."""
    while not talk.is_over:
        left_s = talk.stop - time.monotonic()
        if left_s <= 0:
            raise line.lost_at_deadline()
        with suppress(queue.Empty):
            kind, piece = line.heard.get(timeout=min(left_s, 0.2))
            if kind == "out":
                yield from talk.hear(piece)
            elif kind == "err":
                talk.overhear(piece)
            else:
                raise _explain(piece, line, talk)


class _Line(threading.Thread):
    """The thread that may hang: it connects, moves bytes, and puts what came into ``heard``: ("out" or "err", bytes), at last ("ended", code or error)."""

    def __init__(self, way: Paramiko, remote: str, talk: Conversation) -> None:
        super().__init__(name="driftwatch paramiko", daemon=True)
        self.way = way
        self.route: known.Route | None = None
        self.heard: queue.Queue[tuple[str, Any]] = queue.Queue(QUEUE_PIECES)
        self._remote = remote
        self._talk = talk
        self._socket: socket.socket | None = None
        self._has_session = False
        self._has_hung_up = threading.Event()

    def run(self) -> None:
        """Do it all; whatever goes wrong is the last thing heard."""
        ended: Any
        try:
            ended = self._converse()
        except Exception as failed:  # noqa: BLE001  # paramiko raises nearly anything; the main thread judges it
            ended = failed
        self._tell("ended", ended)

    def lost_at_deadline(self) -> LinkLost:
        """Return what to say when the deadline came first."""
        if self._has_session and not self._talk.is_running:
            return SHELL.lost(named(self.way.destination), self._talk.deadline_s, self._talk.last_words())
        return self._talk.lost_at_deadline()

    def hang_up(self) -> None:
        """Let the thread close the channel, else cut the connection; a thread that stays even then is given up (it is a daemon)."""
        self._has_hung_up.set()
        self.join(AFTER_END_S)
        if self.is_alive() and self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self.join(AFTER_CUT_S)

    def _converse(self) -> int:
        """Connect, run the command and move bytes; return its exit code, -1 where the connection was lost."""
        import paramiko  # noqa: PLC0415  # it takes 0.15 s to import: only who connects with it pays

        logging.getLogger("paramiko").addHandler(logging.NullHandler())  # else it prints tracebacks on our standard error
        self.route = known.read_route(self.way.destination, self.way.options)
        self._socket = self._dial(self.route)
        client = paramiko.SSHClient()
        try:
            self._log_in(client, self.route, self._socket)
            transport = client.get_transport()
            if transport is None:
                return LOST_CODE
            channel = transport.open_session(timeout=self._left_s())
            self._has_session = True
            channel.exec_command(self._remote)
            return self._pump(channel)
        finally:
            client.close()
            self._socket.close()

    def _left_s(self) -> float:
        return max(0.1, self._talk.deadline - time.monotonic())

    def _dial(self, route: known.Route) -> socket.socket:
        """Return a connection to the first address that takes one."""
        failed: OSError | None = None
        for address in resolving.addresses(route.host, route.port, self._left_s()):
            line = _connect(address, min(CONNECT_S, self._left_s()))
            if isinstance(line, socket.socket):
                return line
            failed = line
        raise failed or OSError("no address")

    def _log_in(self, client: paramiko.SSHClient, route: known.Route, line: socket.socket) -> None:
        """Check the host key against known_hosts and log in with keys from files."""
        import paramiko  # noqa: PLC0415  # as above

        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        for entry in route.host_keys():
            for name in entry.hostnames:
                client.get_host_keys().add(name, entry.key.get_name(), entry.key)
        left_s = self._left_s()
        if route.agent:
            client._agent = agent_keys.open_agent(route.agent, min(CONNECT_S, left_s))  # type: ignore[attr-defined]  # noqa: SLF001  # else it opens its own, unbounded
        keys = [one for one in route.identities if Path(one).is_file()]
        try:
            client.connect(
                route.host, route.port, route.user or getpass.getuser(), sock=line, allow_agent=bool(route.agent),
                key_filename=keys,  # type: ignore[arg-type]  # it takes a list; its types say a string
                look_for_keys=not route.identities, timeout=left_s,
                banner_timeout=min(CONNECT_S, BANNER_PART * left_s), auth_timeout=left_s, channel_timeout=left_s)
        except paramiko.SSHException:
            transport = client.get_transport()
            if transport is not None and not transport.remote_version:
                raise TimeoutError from None  # it was no SSH server, however much it said
            raise

    def _pump(self, channel: paramiko.Channel) -> int:
        """Move bytes until the command has ended and all that it said has come, or we hang up; return its exit code, -1 where none came."""
        channel.setblocking(0)
        quiet_since = time.monotonic()
        while not self._has_hung_up.is_set():
            is_last = self._is_all(channel, time.monotonic() - quiet_since)
            if self._move(channel):
                quiet_since = time.monotonic()
            elif is_last:
                return channel.recv_exit_status()
            else:
                time.sleep(0.01)
        return LOST_CODE

    def _is_all(self, channel: paramiko.Channel, quiet_s: float) -> bool:
        """Tell whether no more will come. An exit is not enough: sshd tells it before output that still waits to be sent.

        Where no agent runs, a child of the login shell may keep the output open for ever: a moment without a word is enough then.
        """
        if not channel.exit_status_ready():
            return False
        return bool(channel.closed or channel.eof_received) or (quiet_s > AFTER_EXIT_S and not self._talk.is_running)

    def _move(self, channel: paramiko.Channel) -> bool:
        """Read and write what can be read and written now; return whether anything moved."""
        moved = False
        if channel.recv_ready():
            self._tell("out", channel.recv(PIECE_BYTES))
            moved = True
        if channel.recv_stderr_ready():
            self._tell("err", channel.recv_stderr(PIECE_BYTES))
            moved = True
        if self._talk.outgoing and channel.send_ready():
            moved = self._send(channel) > 0 or moved
        return moved

    def _send(self, channel: paramiko.Channel) -> int:
        """Send what the far side takes now, and return how many bytes are done with."""
        try:
            sent = channel.send(bytes(self._talk.outgoing[:PIECE_BYTES]))
        except TimeoutError:
            sent = 0
        except OSError:  # the far side reads no more: its exit will say why
            sent = len(self._talk.outgoing)
        del self._talk.outgoing[:sent]
        return sent

    def _tell(self, kind: str, value: Any) -> None:
        """Put what came where the main thread looks, unless it has hung up."""
        while not self._has_hung_up.is_set():
            with suppress(queue.Full):
                self.heard.put((kind, value), timeout=0.1)
                return


def _connect(address: tuple[str, int], timeout_s: float) -> socket.socket | OSError:
    """Return a connection, or why there is none."""
    try:
        return socket.create_connection(address, timeout=timeout_s)
    except OSError as refused:
        return refused


def _explain(ended: Any, line: _Line, talk: Conversation) -> LinkLost:
    """Return what this end of the line means: an exit code, or the exception that paramiko raised."""
    if isinstance(ended, LinkLost):
        return ended
    if ended == LOST_CODE or (talk.is_running and isinstance(ended, Exception)):
        when = "in mid-run" if talk.is_running else "before an agent could start"
        return LinkLost(f"the connection to {line.way.destination.host} broke {when}", "take the snapshot again; sshd's log may say more")
    if isinstance(ended, int):
        return talk.lost_at_exit(ended)
    if line.route is None:
        return LinkLost(f"paramiko cannot be used: {visible(str(ended))}", USE_OPENSSH)
    return _explain_failure(ended, line.route)


def _explain_failure(failed: Exception, route: known.Route) -> LinkLost:
    """Return what an exception before the agent's start means."""
    where = f"{route.host} port {route.port}"
    if "not found in known_hosts" in str(failed):
        return route.unknown_key(where)
    kinds = " ".join(kind.__name__ for kind in type(failed).__mro__)
    terms = {
        "host": where, "words": visible(str(failed) or type(failed).__name__),
        "new": known.fingerprint(getattr(failed, "key", None)), "old": known.fingerprint(getattr(failed, "expected_key", None)),
    }
    reason, advice = next((reason, advice) for pattern, reason, advice in MEANINGS if re.search(pattern, f"{kinds}: {failed}"))
    return LinkLost(reason.format(**terms), advice)
