"""Jump hosts: how many hosts are reached through each at once, and one ssh connection to each that all of them share.

Knows what ``ssh -G`` tells of jumps, and masters (ControlMaster). A master of ours has its socket in a private folder, gets our safety options, and ends with
us, whatever becomes of us. The user's own master for a jump host is used where it runs, and left alone. Nothing here speaks of the host behind the jump.
"""
from __future__ import annotations

import re
import shlex
import threading
import time
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .asking import ask
from .destination import BadDestination, Destination, parse_destination
from .lifeline import Lifeline
from .ssh_words import failure, login
from .wire import LinkLost

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .conversation import Conversation

    Hops = tuple[Destination, ...]

AT_ONCE = 8
DEEPEST = 8
TURN_S = 0.1
CONFIGS, CONFIGS_BELOW = ("~/.ssh/config", "/etc/ssh/ssh_config"), "/etc/ssh/ssh_config.d"
# an Include may lead to a jump; that of the usual folder is followed here
MAY_NAME_ONE = re.compile(rf"^\s*(?:proxyjump\b|include\b(?!\s+{re.escape(CONFIGS_BELOW)}/\*\.conf\s*$))", re.IGNORECASE | re.MULTILINE)
REMEMBERED_S = 30.0
CHECK_S = 5.0
LONGEST_SOCKET_PATH = 80  # of 108, since ssh first binds a longer name beside it
DIRECT = "none"


@dataclass(frozen=True)
class Client:
    """The ssh command line up to the login, once for the host that is wanted and once for the jump hosts before it."""

    for_host: tuple[str, ...]
    for_jumps: tuple[str, ...]


class Jumps:
    """The jump hosts of one run. ``at_once`` hosts are reached through each at most."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._lock = threading.Lock()
        self._jumps: dict[Hops, _Jump] = {}
        self._are_named: dict[str, bool] = {}
        self.close = weakref.finalize(self, _close, self._jumps)

    @contextmanager
    def way(self, host: Destination, client: Client, talk: Conversation) -> Iterator[tuple[str, ...]]:
        """Yield the ssh options that lead to a host: none where its configuration names no jump. Waiting for a place there does not count as the host's time.

        LinkLost where a jump host cannot be reached.
        """
        hops = self._hops(host, client.for_host, client, talk) if self._may_jump(client) else ()
        if not hops:
            yield ()
            return
        jump = self._jump(hops)
        talk.postpone(_wait_for(jump.places))
        try:
            yield (f"ProxyCommand={self._through(hops, client, talk)}",)
        finally:
            jump.places.release()

    def _may_jump(self, client: Client) -> bool:
        """Tell whether a jump may be named anywhere; where none is, ssh is not asked about each host. A place missed costs nothing: ssh jumps itself."""
        if "proxyjump" in " ".join(client.for_host).lower():
            return True
        config = client.for_host[client.for_host.index("-F") + 1] if "-F" in client.for_host else ""
        if config not in self._are_named:
            files = [Path(config)] if config else [*(Path(one).expanduser() for one in CONFIGS), *sorted(Path(CONFIGS_BELOW).glob("*.conf"))]
            self._are_named[config] = any(MAY_NAME_ONE.search(_text(file)) for file in files)
        return self._are_named[config]

    def _hops(self, host: Destination, argv: Sequence[str], client: Client, talk: Conversation, depth: int = 0) -> Hops:
        """Return the jump hosts before a host in the order to pass them, those of the first jump host itself included."""
        answer = ask([*argv, "-G", *login(host), "--", host.host], talk.left_s())
        found = re.search(r"^proxyjump (\S+)$", answer.said, re.MULTILINE)
        if answer.code != 0 or not found or found[1] == DIRECT:
            return ()
        if depth == DEEPEST:
            raise LinkLost(f"the jump hosts of {host.host} lead in a circle", "look at ProxyJump in ssh_config: ssh -G HOST shows it")
        try:
            hops = tuple(parse_destination("ssh://" + one.removeprefix("ssh://")) for one in found[1].split(","))
        except BadDestination:
            return ()  # ssh reads its own configuration better: it does the jump itself
        return (*self._hops(hops[0], client.for_jumps, client, talk, depth + 1), *hops)

    def _jump(self, hops: Hops) -> _Jump:
        with self._lock:
            return self._jumps.setdefault(hops, _Jump(threading.BoundedSemaphore(self._at_once)))

    def _through(self, hops: Hops, client: Client, talk: Conversation) -> str:
        """Return the proxy command that leads through these jump hosts."""
        before = ("-o", f"ProxyCommand={self._through(hops[:-1], client, talk)}") if len(hops) > 1 else ()
        return self._jump(hops).through(hops[-1], (*client.for_jumps, *before), talk)


@dataclass
class _Jump:
    """One jump host: the places in it, and the connection to it once there is one."""

    places: threading.BoundedSemaphore
    lock: threading.Lock = field(default_factory=threading.Lock)
    master: Lifeline | None = None
    folder: str = ""
    failed: tuple[float, LinkLost] | None = None

    def through(self, host: Destination, argv: tuple[str, ...], talk: Conversation) -> str:
        """Return the proxy command that uses the connection to this jump host; make the connection where there is none."""
        if not _try_in_turns(self.lock, talk):
            raise _no_answer(host, talk)
        try:
            socket = self._socket(host, argv, talk)
        finally:
            self.lock.release()
        words = [*argv, *(["-S", socket] if socket else []), "-W", "[HOST]:PORT", *login(host), "--", host.host]
        return shlex.join(words).replace("%", "%%").replace("[HOST]:PORT", "[%h]:%p")

    def _socket(self, host: Destination, argv: tuple[str, ...], talk: Conversation) -> str:
        """Return the socket of a master of ours that is up, "" where the user's own does it."""
        if self.master is not None and self.master.is_alive:
            return f"{self.folder}/s"
        if self.failed and time.monotonic() - self.failed[0] < REMEMBERED_S:
            raise self.failed[1]
        if self.master is None and ask([*argv, "-O", "check", *login(host), "--", host.host], min(CHECK_S, talk.left_s())).code == 0:
            return ""
        self.close()
        self.folder = _private_folder()
        self.master = Lifeline((*argv, "-M", "-N", "-S", f"{self.folder}/s", "-o", "ControlPersist=no", *login(host), "--", host.host), self.folder)
        if not self.master.is_there(f"{self.folder}/s", talk.left_s()):
            lost = _no_answer(host, talk) if self.master.is_alive else _failed(host, self.master)
            self.failed = (time.monotonic(), lost)
            self.close()
            raise lost
        return f"{self.folder}/s"

    def close(self) -> None:
        """End the connection and take its folder away."""
        if self.master is not None:
            import shutil  # noqa: PLC0415  # only who jumps pays for it

            self.master.end()
            shutil.rmtree(self.folder, ignore_errors=True)


def _no_answer(host: Destination, talk: Conversation) -> LinkLost:
    return LinkLost(f"no answer from the jump host {host.host} in {talk.deadline_s:g} s: connection or login hang",
                    "log in there by hand with ssh -v and see where it stops")


def _failed(host: Destination, master: Lifeline) -> LinkLost:
    lost = failure(host, master.said)
    return LinkLost(f"at the jump host: {lost.reason}", lost.advice)


def _close(jumps: dict[Hops, _Jump]) -> None:
    for jump in jumps.values():
        jump.close()


def _private_folder() -> str:
    """Return a new folder that only we may enter, with a path short enough for a socket."""
    import tempfile  # noqa: PLC0415  # only who jumps pays for it

    usual = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="dw", dir="/tmp" if len(usual) > LONGEST_SOCKET_PATH - 20 or "%" in usual else usual)  # noqa: S108  # mkdtemp makes it 0700


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _wait_for(places: threading.BoundedSemaphore) -> float:
    """Take a place and return the seconds that it took to get one."""
    began = time.monotonic()
    while not places.acquire(timeout=TURN_S):  # in turns: Ctrl-C comes up between them
        pass
    return time.monotonic() - began


def _try_in_turns(lock: threading.Lock, talk: Conversation) -> bool:
    while talk.left_s() > 0:
        if lock.acquire(timeout=TURN_S):
            return True
    return False
