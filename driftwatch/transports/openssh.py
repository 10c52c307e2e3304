"""The user's own ssh client as a child: their ssh_config, jumps, agents, certificates and security keys hold, our safety options come first.

Knows ssh's options. Never takes a host key that is not known, never forwards anything, never asks a question.
"""
from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from .child import converse
from .conversation import Conversation
from .destination import USUAL, Destination, Options
from .jumps import Client
from .ssh_stages import LOG_LEVEL, Progress
from .ssh_words import failure, login, named
from .wire import LinkLost, command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .wire import Shipment

# The first value wins in ssh: these stand before all of the user's.
OURS = ("BatchMode=yes", "StrictHostKeyChecking=yes", "UpdateHostKeys=no", "ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes",
        "PermitLocalCommand=no", "RemoteCommand=none", "ControlMaster=no", "LogLevel=INFO", "ServerAliveInterval=2", "ServerAliveCountMax=5")
CONNECT_S = 10
SSH_FAILED = 255


@dataclass(frozen=True)
class OpenSSH:
    """Reaches a host through the ssh client."""

    destination: Destination
    options: Options = USUAL
    SCHEME: ClassVar[str] = "openssh"

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s (a wait at a jump host is not counted)."""
        talk = _Talk(shipment, deadline_s, self.destination)

        def judge(code: int) -> LinkLost:
            return explain(self.destination, talk) if code == SSH_FAILED else talk.lost_at_exit(code)

        with self._way(talk) as way:
            told = (f"LogLevel={LOG_LEVEL}", *way)
            yield from converse(self.argv(command(shipment.nonce, shipment.pythons), deadline_s, told), talk, judge)

    def argv(self, remote: str, deadline_s: float, first: tuple[str, ...] = ()) -> list[str]:
        """Return ssh's command line for a remote command: the options that go ``first``, ours, the user's, then ``--`` before the host."""
        return [*self._client(deadline_s, first), *login(self.destination), "--", self.destination.host, remote]

    def _client(self, deadline_s: float, first: tuple[str, ...] = ()) -> list[str]:
        ours = [*first, *OURS, f"ConnectTimeout={max(1, min(CONNECT_S, int(deadline_s)))}"]
        if self.options.known_hosts:
            ours.append(f"UserKnownHostsFile={self.options.known_hosts}")
        if self.options.identity:
            ours += [f"IdentityFile={self.options.identity}", "IdentitiesOnly=yes"]
        config = ["-F", self.options.ssh_config] if self.options.ssh_config else []
        return ["ssh", "-T", *config, *(word for one in (*ours, *self.options.ssh_options) for word in ("-o", one))]

    @contextmanager
    def _way(self, talk: Conversation) -> Iterator[tuple[str, ...]]:
        """Yield the options that lead through jump hosts: none where ssh is left to do that by itself."""
        if self.options.jumps is None:
            yield ()
            return
        bare = replace(self, options=replace(self.options, ssh_options=()))  # as with ssh's own jumps: the options are those of the host alone
        client = Client(tuple(self._client(talk.deadline_s)), tuple(bare._client(talk.deadline_s)))  # noqa: SLF001  # one of us
        with self.options.jumps.way(self.destination, client, talk) as way:
            yield way


class _Talk(Conversation):
    """A conversation through ssh, which tells how far it got."""

    def __init__(self, shipment: Shipment, deadline_s: float, destination: Destination) -> None:
        super().__init__(shipment, deadline_s)
        self._host = named(destination)
        self._progress = Progress()

    def _complained(self, piece: bytes) -> bytes:
        return self._progress.hear(piece)

    def lost_at_deadline(self) -> LinkLost:
        """Return what to say when the deadline came first."""
        return super().lost_at_deadline() if self.is_running else self.lost_at_stage()

    def lost_at_stage(self) -> LinkLost:
        """Return what to say of the step at which ssh stopped."""
        return self._progress.lost(self._host, self.deadline_s, self.last_words())


def explain(destination: Destination, talk: Conversation) -> LinkLost:
    """Return what ssh's own failure (exit code 255) means."""
    words = talk.last_words()
    if talk.is_running:
        return LinkLost(f'the connection to {destination.host} broke in mid-run: ssh says "{words}"', "take the snapshot again; sshd's log may say more")
    if isinstance(talk, _Talk) and b"Timeout, server" in talk.complaints:
        return talk.lost_at_stage()
    return failure(destination, talk.complaints.decode("utf-8", "replace"), words)
