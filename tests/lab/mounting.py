"""Mounts a FUSE file system that a program of the lab serves, and surely takes it away again. Knows nothing of what the file system shows."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

COMING_UP_S = 10.0
CONNECTIONS = Path("/sys/fs/fuse/connections")
PROGRAM = "import sys; from tests.lab.{module} import serve; serve(*sys.argv[1:])"


@contextlib.contextmanager
def served(module: str, where: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Let ``serve(*words)`` of a module of the lab serve a mount point, and yield its process; at the end every stuck request is aborted."""
    server = subprocess.Popen([sys.executable, "-c", PROGRAM.format(module=module), *words], cwd=Path(__file__).parents[2],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    number = None
    try:
        stop = time.monotonic() + COMING_UP_S
        while not os.path.ismount(where):
            if time.monotonic() > stop or server.poll() is not None:
                raise RuntimeError("the mount did not come up")
            time.sleep(0.02)
        number = os.minor(where.stat().st_dev)
        yield server
    finally:
        if number is not None:
            _abort(number)
        server.kill()
        server.wait(10)
        subprocess.run(["fusermount3", "-u", "-z", str(where)], check=False, capture_output=True)


def _abort(number: int) -> None:
    """End all requests of a connection, so that no process stays stuck behind it."""
    is_ours = not any(CONNECTIONS.iterdir())
    if is_ours:
        subprocess.run(["mount", "-t", "fusectl", "none", str(CONNECTIONS)], check=False, capture_output=True)
    with contextlib.suppress(OSError):
        (CONNECTIONS / str(number) / "abort").write_text("1")
    if is_ours:
        subprocess.run(["umount", str(CONNECTIONS)], check=False, capture_output=True)
