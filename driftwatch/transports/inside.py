"""The agent inside a container, over ``exec -i`` of a client: what docker, podman and kubectl have in common.

Needs no shell in the container: each Python is started by name, one exec after the other, until one is young enough. Ending the client closes the
agent's standard input inside, which ends it. Never starts, stops or copies anything, and never takes a name that is none (views.py).
"""
from __future__ import annotations

import math
import re
import shlex
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import openssh
from .child import converse
from .conversation import Conversation
from .destination import Destination
from .ssh_stages import LOG_LEVEL, SHELL, Progress
from .views import HERE
from .wire import STAGE0, LinkLost, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .destination import Options
    from .wire import Shipment

LEAST_S = 0.2
FAR_GRACE_S = 2
# a client that hangs on the far machine would outlive our ssh: what ends it there is coreutils' timeout, where there is one
FAR = 'command -v timeout >/dev/null && exec timeout -s KILL "$0" "$@"; exec "$@"'
NAMEABLE = re.compile(r"""[^\x00-\x1f\x7f'"\\$`!]+""")  # what a login shell takes in quotes
OLD_PYTHON_CODE = 4
NEXT_CODES = (1, 2, 126, 127)  # as of a shim that stands for no Python
SHELL_FOUND_NOTHING = 127
RUNS, OLD, FAILS, MISSING = range(4)  # what became of a Python, the most telling first; after RUNS, or a failure that is not its own, no other is tried
MEMORY = "/dev/shm"  # noqa: S108  # where stage 0 keeps the agent if the kernel has no memfd: an unnamed file there
# no such program inside: exec's own words, as docker, podman and kubectl hand them on from runc and crun
NOT_INSIDE = re.compile(r"executable file `?[^`\n]*`? ?not found|exec: \"[^\"\n]*\":[^\n]*(?:no such file or directory|permission denied)|"
                        r"OCI runtime attempted to invoke a command that was not found")


@dataclass(frozen=True)
class Client:
    """A program that reaches containers. ``words`` makes its command line, up to the program inside; ``meanings`` are (pattern, reason, advice)."""

    name: str
    words: Callable[[str], Sequence[str]]
    meanings: Sequence[tuple[str, str, str]]
    look: str


class _Exec(Conversation):
    """The conversation with one Python of a container."""

    def __init__(self, way: _Way, shipment: Shipment, deadline_s: float) -> None:
        super().__init__(shipment, deadline_s)
        self._way = way
        self._ssh = Progress()
        self.python = RUNS

    def _complained(self, piece: bytes) -> bytes:
        return self._ssh.hear(piece) if self._way.is_far else piece

    def lost_at_deadline(self) -> LinkLost:
        """Return what to say when the deadline came first: where ssh stopped on its way to the client, or that exec did."""
        if self.is_running:
            return super().lost_at_deadline()
        at = (self._way.destination.host, self._way.deadline_s, "")
        if self._way.is_far and self._ssh.lost(*at).reason != SHELL.lost(*at).reason:
            return self._ssh.lost(*at[:2], self.last_words())
        return LinkLost(f"exec in {self._way.where} gave no answer in {self._way.deadline_s:g} s (no ready frame){self._quoted()}",
                        f"see whether {self._way.by_hand(self._way.client.look)} answers; a hung runtime holds every exec")

    def judge(self, code: int) -> LinkLost:
        """Return what the client's end with this exit code and no end frame means; note whether another Python may do better."""
        said = self.complaints.decode("utf-8", "replace")
        if self.is_running or code == OLD_PYTHON_CODE:
            self.python = RUNS if self.is_running else OLD
            return super().lost_at_exit(code)
        if NOT_INSIDE.search(said):
            self.python = MISSING
            return self._way.without_python(self._shipment)
        lost = self._way.known_meaning(said, code, self)
        if lost is None and code in NEXT_CODES:
            self.python = FAILS
        return lost or self._way.unknown_meaning(code, self)


@dataclass(frozen=True)
class _Way:
    """Through which client, where, and how long."""

    client: Client
    destination: Destination
    options: Options
    deadline_s: float

    @property
    def where(self) -> str:
        """Return the container as messages name it."""
        return visible(str(self.destination))

    @property
    def is_far(self) -> bool:
        """Tell whether the client runs on another machine, behind ssh."""
        return self.destination.host != HERE

    @contextmanager
    def through(self, talk: Conversation) -> Iterator[tuple[str, ...]]:
        """Yield the ssh options that lead to the machine that is asked; none where it is this one."""
        if not self.is_far:
            yield ()
            return
        with self._ssh()._way(talk) as way:  # noqa: SLF001  # one of us: containers behind a jump host take their turn there like hosts
            yield (f"LogLevel={LOG_LEVEL}", *way)

    def argv(self, words: Sequence[str], deadline_s: float, first: tuple[str, ...]) -> list[str]:
        """Return the command line for these words: as they are, or through ssh, where the login shell gets them quoted."""
        if not self.is_far:
            return list(words)
        words = ["/bin/sh", "-c", FAR, str(math.ceil(deadline_s) + FAR_GRACE_S), *words]
        return self._ssh().argv("exec " + " ".join(shlex.quote(one) for one in words), deadline_s, first)

    def _ssh(self) -> openssh.OpenSSH:
        to = self.destination
        return openssh.OpenSSH(Destination("openssh", to.host, to.user, to.port), self.options)

    def by_hand(self, command: str) -> str:
        """Return a command for people, with the machine to type it on."""
        return f"{command} on {self.destination.host}" if self.is_far else command

    def known_meaning(self, said: str, code: int, talk: Conversation) -> LinkLost | None:
        """Return what a complaint of the client, of ssh or of the far shell means; None for one that is not known."""
        terms = {"name": self.where, "words": talk.last_words(), "tool": self.client.name}
        for pattern, reason, advice in self.client.meanings:
            if re.search(pattern, said):
                return LinkLost(reason.format(**terms), advice.format(**terms))
        if self.is_far and code == openssh.SSH_FAILED:
            return openssh.explain(self._ssh().destination, talk)
        if self.is_far and code == SHELL_FOUND_NOTHING:
            return LinkLost(f"{self.client.name} is not found on {self.destination.host} by a login without a terminal",
                            f"put it on that login's PATH there, or install it: ssh {self.destination.host} {self.client.name} --version")
        return None

    def unknown_meaning(self, code: int, talk: Conversation) -> LinkLost:
        """Return what to say of an exec that failed in a way of its own."""
        test = shlex.join([*self.client.words(self.destination.inside), "true"])
        return LinkLost(f'exec in {self.where} ended with code {code} before an agent could start: "{talk.last_words() or "it said nothing"}"',
                        f"try it by hand: {self.by_hand(test)}")

    def without_python(self, shipment: Shipment) -> LinkLost:
        """Return what to say of a container in which no Python starts."""
        tried = ", ".join(visible(one) for one in shipment.pythons)
        return LinkLost(f"no Python in {self.where} that starts: tried {tried}",
                        "name one with --python PATH (3.8 or newer); an image without Python can only be looked at from its host")


def stream_inside(client: Client, destination: Destination, options: Options, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
    """Yield the frames of an agent in a container, the end frame last; LinkLost where none came in ``deadline_s`` + 1 s, whichever Python was tried."""
    way, stop = _Way(client, destination, options, deadline_s), time.monotonic() + deadline_s
    _require(way)
    lost: dict[int, LinkLost] = {}
    for python, words in _stage0_words(shipment):
        talk = _Exec(way, shipment, max(LEAST_S, stop - time.monotonic()))
        try:
            with way.through(talk) as first:
                yield from converse(way.argv([*client.words(destination.inside), python, *words], talk.deadline_s, first), talk, talk.judge)
            return
        except LinkLost as gone:
            if talk.python == RUNS:
                raise
            lost.setdefault(talk.python, gone)
        if stop - time.monotonic() < LEAST_S:
            break
    raise lost[min(lost)]


def _stage0_words(shipment: Shipment) -> list[tuple[str, list[str]]]:
    """Return each Python that may be named, with the words behind it that run stage 0 without any shell. LinkLost where none may be named.

    The words hold no quote but double ones and no line end, so that a login shell takes them in single quotes.
    """
    named = [one for one in shipment.pythons if NAMEABLE.fullmatch(one)]
    if not named:
        raise LinkLost("no Python to try: none was given that can be named", "give one by a path without quotes: --python PATH")
    stage0 = STAGE0.rstrip("\n").replace("\n", "\\n")
    words = ["-E", "-s", "-S", "-c", f'exec("{stage0}")', shipment.nonce, "DW1", "ready", "old_python", "/proc/self/fd/", MEMORY]
    return [(one, words) for one in named]


def _require(way: _Way) -> None:
    tool = "ssh" if way.is_far else way.client.name
    if shutil.which(tool) is None:
        do = "install openssh-client" if way.is_far else f"install it, or name the machine that has it, as in {way.client.name}://NAME@HOST"
        raise LinkLost(f"there is no {tool} on this machine's PATH", "install it" if way.client.name == "kubectl" else do)
