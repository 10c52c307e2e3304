"""Measures commands against one another: A B C A B C …, wall and CPU seconds of all descendants, medians, ratios taken round by round.

Ratios are what counts: both sides run in the same minute on the same machine. Peak memory is that of the largest single process.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

WATCHER = """
import os, sys, time
null = os.open(os.devnull, os.O_RDWR)
begun = time.monotonic()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, one) for one in (0, 1, 2)])
_, status, usage = os.wait4(pid, 0)
print(time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class Row:
    """One command of a comparison. ``why_not`` says why it could not be run; then ``argv`` is empty."""

    name: str
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    why_not: str = ""
    good_codes: tuple[int, ...] = (0, 1, 3)


@dataclass(frozen=True)
class Cost:
    """What one run cost: seconds of wall and CPU time, and the peak of its largest process in MiB."""

    wall_s: float
    cpu_s: float
    peak_mib: float


HERE = Path(__file__).resolve().parent
BARE = (sys.executable, "-I", "-S")
COLLECTOR = (*BARE, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r}); import collector; collector.main()")  # as a module, for its .pyc


def compile_all(folder: Path, python: str = sys.executable) -> None:
    """Compile a package's sources, since imports without .pyc cost several times as much."""
    subprocess.run([python, "-m", "compileall", "-q", str(folder)], check=False, env=environment())


def environment(extra: tuple[tuple[str, str], ...] = ()) -> dict[str, str]:
    """Return our environment without what would keep Python from using compiled files."""
    return {**{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}, **dict(extra)}


def run_once(row: Row) -> Cost:
    """Run a command to its end and return what it cost, all its descendants included.

    A small process of its own starts it: the kernel counts the memory of whoever starts a command to the command's peak.
    """
    watcher = (sys.executable, "-I", "-S", "-c", WATCHER)
    watched = subprocess.run([*watcher, *row.argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment(row.env), check=True)
    wall_s, cpu_s, peak_kib, code = map(float, watched.stdout.split())
    if code not in row.good_codes:
        raise SystemExit(f"{row.name}: exit {code:g}, so its cost says nothing: {' '.join(row.argv)}")
    return Cost(wall_s, cpu_s, peak_kib / 1024)


def compare(rows: list[Row], rounds: int = 7) -> dict[str, list[Cost]]:
    """Run all rows round-robin, one warm-up round first, and return the costs of each by name."""
    able = [row for row in rows if not row.why_not]
    for row in able:
        run_once(row)
    costs: dict[str, list[Cost]] = {row.name: [] for row in able}
    for _ in range(rounds):
        for row in able:
            costs[row.name].append(run_once(row))
    return costs


def table(rows: list[Row], costs: dict[str, list[Cost]], mine: str) -> str:
    """Return a Markdown table: median wall, its spread, CPU, peak, and the ratio of ``mine`` to each row, taken round by round."""
    lines = ["| what | wall s, median (min..max) | CPU s | peak MiB | ours / this, wall | ours / this, CPU |", "|---|---|---|---|---|---|"]
    for row in rows:
        if row.why_not:
            lines.append(f"| {row.name} | not run: {row.why_not} | | | | |")
            continue
        found = costs[row.name]
        walls = [one.wall_s for one in found]
        ratios = [ratio(costs[mine], found, of) for of in ("wall_s", "cpu_s")]
        lines.append(f"| {row.name} | {statistics.median(walls):.3f} ({min(walls):.3f}..{max(walls):.3f}) | {statistics.median(series(found, 'cpu_s')):.3f} | "
                     f"{max(series(found, 'peak_mib')):.0f} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
    return "\n".join(lines)


def ratio(ours: list[Cost], theirs: list[Cost], of: str) -> float:
    """Return the median of the ratios of one figure, round by round."""
    return statistics.median(mine / other for mine, other in zip(series(ours, of), series(theirs, of), strict=True))


def series(costs: list[Cost], of: str) -> list[float]:
    """Return one figure of all rounds."""
    return [getattr(cost, of) for cost in costs]
