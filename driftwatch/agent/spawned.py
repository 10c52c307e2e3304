"""A command in a session of its own: how it is started and how it ended. Waits for nothing, not even for the start itself.

``subprocess`` costs as much to import as Python to start, and waits without a limit for a program that lies on a mount that hangs.
"""
from __future__ import annotations

import errno
import os
import signal

from .typed import Dict, List, NoReturn, Optional, Tuple

NOT_STARTED = 127
NOBODY = 65534
WRITE_AS_ROOT = ("rpm",)  # a query of its sqlite database touches the files beside it wherever it may; without the rights to it only reads
OUTPUTS = 3


class Spawned:
    """A command below us. ``pipes`` are our ends of its output, its errors, and of where its start is told to have failed; ``rc`` is None until it ended."""

    def __init__(self, pid: int, pipes: List[int]) -> None:
        self.pid = pid
        self.pipes = pipes
        self.rc: Optional[int] = None

    def has_ended(self) -> bool:
        """Tell whether it has ended; ``rc`` is its exit code then, negative for a signal. It is not reaped: till then its number is nobody else's."""
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) if self.rc is None else None
        if found:
            self.rc = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return self.rc is not None

    def close(self) -> None:
        """Close our ends."""
        for one in self.pipes:
            os.close(one)


def spawn(argv: List[str], env: Dict[str, str]) -> Spawned:
    """Return the command, which has /dev/null to read from. OSError where there is no room for one more process."""
    ends: List[Tuple[int, int]] = []
    try:
        while len(ends) < OUTPUTS:
            ends += [os.pipe()]
        pid = os.fork()
    except OSError:
        for pair in ends:
            os.close(pair[0])
            os.close(pair[1])
        raise
    if pid == 0:
        _become(argv, env, [writer for _, writer in ends])
    for _, writer in ends:
        os.close(writer)
    return Spawned(pid, [reader for reader, _ in ends])


def _become(argv: List[str], env: Dict[str, str], writers: List[int]) -> NoReturn:
    """Turn this child into the command; where that fails, tell the errno on the third pipe, which a start closes."""
    number = errno.EINVAL
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(writers[0], 1)
        os.dup2(writers[1], 2)
        if argv[0] in WRITE_AS_ROOT and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        for one in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and what is ignored stays so
            signal.signal(one, signal.SIG_DFL)
        os.execvpe(argv[0], argv, env)  # noqa: S606  # no shell is wanted
    except OSError as failed:
        number = failed.errno or number
    finally:
        os.write(writers[2], b"%d" % number)
        os._exit(NOT_STARTED)
