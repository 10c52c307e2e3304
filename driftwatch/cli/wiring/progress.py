"""What a person sees while hosts are asked: a bar and one line a host that is slow. Only on a terminal; rich is imported then and not before."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.telling import clock

BAR_COLUMNS = 20
SHOWN_HOSTS = 12
ROUNDS_A_SECOND = 4


class Progress:
    """What the frames of all hosts have told so far. Threads only ever set single values."""

    def __init__(self, hosts: list[str], probes: int, what: str = "snapshot") -> None:
        self.began = time.monotonic()
        self.probes = probes
        self.what = what
        self.total = len(hosts)
        self.ended: dict[str, int] = dict.fromkeys(hosts, 0)
        self.slow: dict[str, tuple[float, Mapping[str, Any]]] = {}

    def watch(self, host: str, frame: Mapping[str, Any]) -> None:
        """Take note of a frame."""
        kind = frame.get("frame")
        if kind == "probe":
            self.ended[host] = self.ended.get(host, 0) + 1
            if host in self.slow and self.slow[host][1].get("probe") == frame.get("probe"):
                self.slow.pop(host, None)
        elif kind == "slow":
            self.slow[host] = (time.monotonic(), frame)

    def leave(self, host: str) -> None:
        """Take note that a host is done."""
        self.ended.pop(host, None)
        self.slow.pop(host, None)

    def lines(self) -> list[str]:
        """Return the block: the bar, then the hosts that are not done, those that wait for something first."""
        done = self.total - len(self.ended)
        filled = BAR_COLUMNS * done // max(1, self.total)
        bar = ("=" * filled + ">").ljust(BAR_COLUMNS)[:BAR_COLUMNS]
        shown = sorted(self.ended.copy(), key=lambda host: (host not in self.slow, host))[:SHOWN_HOSTS]
        return [f"{self.what}  {done} of {self.total}  [{bar}]  {clock(time.monotonic() - self.began)}", *(f"  {host}  {self._waits(host)}" for host in shown)]

    def _waits(self, host: str) -> str:
        counts = f"{self.ended.get(host, 0)}/{self.probes}"
        if host not in self.slow:
            return counts
        since, frame = self.slow[host]
        elapsed = float(frame.get("elapsed_s") or 0) + time.monotonic() - since
        state = ", ".join(str(frame[key]) for key in ("state", "wchan") if frame.get(key))
        return f"{counts}  {frame.get('probe')} {elapsed:.0f} of {float(frame.get('deadline_s') or 0):g} s   state {state}"


@contextmanager
def shown(progress: Progress, desk: Desk) -> Iterator[None]:
    """Show the block while hosts are asked, if standard error is a terminal and nobody asked for quiet."""
    if desk.given.quiet or desk.settings.environment.is_dumb or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415  # 75 ms, only for those who see it
    from rich.live import Live  # noqa: PLC0415  # as above
    from rich.text import Text  # noqa: PLC0415  # as above

    def block() -> Text:
        return Text("\n".join(desk.side_page.say(line) for line in progress.lines()), no_wrap=True, overflow="ellipsis")

    with Live(get_renderable=block, console=Console(stderr=True), refresh_per_second=ROUNDS_A_SECOND, transient=True, redirect_stdout=False):
        yield
