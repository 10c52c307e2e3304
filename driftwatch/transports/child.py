"""A child process as the line to an agent: ssh, or a local shell. Bounds it whatever it does, and leaves nothing running that can be ended.

One selectors loop, no threads. The child has its own session. Closing its standard input is the agent's sign to end; then its process group gets
KILL, and a bounded wait. ``subprocess.run(timeout=…)`` would wait for ever on a process in uninterruptible sleep.
"""
from __future__ import annotations

import errno
import os
import selectors
import signal
import subprocess
import time
from contextlib import closing, suppress
from typing import IO, TYPE_CHECKING, Any

from .wire import LinkLost

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from .conversation import Conversation

PIECE_BYTES = 65536
AFTER_END_S = 2.0
AFTER_STOP_S = 0.3
AFTER_KILL_S = 0.4
AFTER_EXIT_S = 0.5


def converse(argv: Sequence[str], talk: Conversation, judge: Callable[[int], LinkLost]) -> Iterator[dict[str, Any]]:
    """Yield the frames that come through this command, the end frame last. Else LinkLost; ``judge`` makes it from the command's exit code."""
    child = start(argv)
    for pipe in _pipes(child):
        os.set_blocking(pipe.fileno(), False)
    left_behind = ""
    try:
        has_exited = yield from _follow(child, talk)
    finally:
        if not end(child, AFTER_END_S if talk.is_over else AFTER_STOP_S):
            left_behind = f"; {argv[0]} (pid {child.pid}) could not be ended and was left behind"
    if talk.is_over:
        return
    lost = judge(child.returncode) if has_exited else talk.lost_at_deadline()
    raise LinkLost(lost.reason + left_behind, lost.advice)


def start(argv: Sequence[str], stdin: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own, with pipes to it. LinkLost where it cannot be started."""
    try:
        return subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                env={**os.environ, "SSH_ASKPASS_REQUIRE": "never"})
    except OSError as failed:
        raise LinkLost(f"{argv[0]} cannot be started: {failed.strerror}", _advice(argv[0], failed.errno)) from None


def _advice(program: str, number: int | None) -> str:
    """Return what to do about a program that could not be started."""
    if number == errno.ENOENT:
        return "install openssh-client, or write paramiko://HOST" if program == "ssh" else f"install {program}, or add its folder to PATH"
    if number == errno.EACCES:
        return f"make {program} executable, or take its folder from PATH"
    return "ask fewer hosts at once (--jobs), or raise this machine's limits (ulimit -a)"


def _pipes(child: subprocess.Popen[bytes]) -> list[IO[bytes]]:
    return [pipe for pipe in (child.stdin, child.stdout, child.stderr) if pipe is not None]


def _follow(child: subprocess.Popen[bytes], talk: Conversation) -> Generator[dict[str, Any], None, bool]:
    """Yield frames until the conversation is over, the child has ended or the deadline came; return whether the child ended by itself."""
    stop = talk.stop
    with closing(_Pump(child, talk)) as pump:
        while True:
            exited = _has_ended(child)
            if exited and stop == talk.stop:
                stop = min(stop, time.monotonic() + AFTER_EXIT_S)  # a grandchild may hold the pipes for ever
            left_s = stop - time.monotonic()
            yield from pump.turn(left_s, is_last=exited)
            if talk.is_over:
                return exited
            if left_s <= 0 or (exited and pump.is_dry):
                return exited


class _Pump:
    """Moves bytes between a child's pipes and the conversation, none of them blocking."""

    def __init__(self, child: subprocess.Popen[bytes], talk: Conversation) -> None:
        self._talk = talk
        self._stdin, self._stdout, self._stderr = _pipes(child)
        self._selector = selectors.DefaultSelector()
        self._reading = {self._stdout.fileno(), self._stderr.fileno()}
        self._is_writing = False
        for descriptor in self._reading:
            self._selector.register(descriptor, selectors.EVENT_READ)

    def close(self) -> None:
        """Watch nothing any more; the pipes are the child's owner's."""
        self._selector.close()

    @property
    def is_dry(self) -> bool:
        """Return whether both outputs have come to their end."""
        return not self._reading

    def turn(self, left_s: float, *, is_last: bool) -> Iterator[dict[str, Any]]:
        """Wait a little for a pipe, move what can be moved, yield the frames in it."""
        self._attend_stdin()
        longest_s = 0.02 if is_last or self.is_dry else 0.2
        for key, _ in self._selector.select(max(0.0, min(left_s, longest_s))):
            if key.fd == self._stdin.fileno():
                self._write()
            else:
                yield from self._read(key.fd)

    def _read(self, descriptor: int) -> list[dict[str, Any]]:
        try:
            piece = os.read(descriptor, PIECE_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            piece = b""
        if not piece:
            self._selector.unregister(descriptor)
            self._reading.discard(descriptor)
        if descriptor == self._stdout.fileno():
            return self._talk.hear(piece)
        self._talk.overhear(piece)
        return []

    def _attend_stdin(self) -> None:
        """Watch standard input only while there is something to send."""
        wants = bool(self._talk.outgoing)
        if wants and not self._is_writing:
            self._selector.register(self._stdin.fileno(), selectors.EVENT_WRITE)
        elif self._is_writing and not wants:
            self._selector.unregister(self._stdin.fileno())
        self._is_writing = wants

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin.fileno(), self._talk.outgoing[:PIECE_BYTES])
        except BlockingIOError:
            return
        except OSError:  # the child reads no more: its exit will say why
            sent = len(self._talk.outgoing)
        del self._talk.outgoing[:sent]


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Tell whether the child has ended, without reaping it: until then its number, and that of its group, belongs to nobody else."""
    with suppress(ChildProcessError):
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return True


def _has_ended_within(child: subprocess.Popen[bytes], wait_s: float) -> bool:
    stop = time.monotonic() + wait_s
    while not _has_ended(child):
        if time.monotonic() >= stop:
            return False
        time.sleep(0.005)
    return True


def end(child: subprocess.Popen[bytes], grace_s: float) -> bool:
    """Close the pipes, give the child its grace, then kill its process group; return False where it had to be left behind."""
    for pipe in _pipes(child):
        with suppress(OSError):
            pipe.close()
    if child.returncode is not None:
        return True
    _has_ended_within(child, grace_s)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    if _has_ended_within(child, AFTER_KILL_S):
        child.wait()
        return True
    child.returncode = -signal.SIGKILL
    return False
