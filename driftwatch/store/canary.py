"""Whether a folder's disk answers at all, asked by a process of its own: whoever waits for a frozen disk or a dead file server cannot even be killed."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

from driftwatch.store.durable import TEMPORARY

ANSWER_S = 10.0
LAST_S = 0.5
SCRIPT = 'if [ -d "$1" ]; then f="$1/$2$$"; (umask 077; : >"$f") 2>/dev/null; rm -f "$f" 2>/dev/null; fi; exit 0'


def takes_a_file(folder: Path, seconds: float = ANSWER_S) -> bool:
    """Return whether a folder could be looked at, and a file made in it or refused, in so many seconds. What does not answer is left behind."""
    asked = subprocess.Popen(["/bin/sh", "-c", SCRIPT, "sh", str(folder), f"{TEMPORARY}canary-"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        asked.wait(seconds)
        return True
    asked.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        asked.wait(LAST_S)
    asked.returncode = -9  # nobody is to wait for it again: it ends when its disk answers
    return False
