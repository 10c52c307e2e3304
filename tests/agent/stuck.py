"""A child that cannot be killed, by the best means that this machine has: a frozen control group, else a stopped process."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

FREEZER = Path("/sys/fs/cgroup/freezer")


@contextlib.contextmanager
def freezer(name: str) -> Iterator[Path | None]:
    """Yield a control group that freezes what joins it, thawed and removed at the end; None where the kernel has no v1 freezer that we may use."""
    group = FREEZER / f"driftwatch-{name}-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        (group / "freezer.state").write_text("THAWED")
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), 9)
        stop = time.monotonic() + 5
        while time.monotonic() < stop:
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)
