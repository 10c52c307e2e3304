"""What `snapshot` says beside its answer: one line a host with what it did not answer, the counts, and what to do next. Words only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from driftwatch.cli.wiring.running import Done
from driftwatch.model import ANSWERED, ProbeResult, Snapshot
from driftwatch.store.references import counted

NOT_ASKED = "not asked: "
SHOWN_UNANSWERED = 6


def asked(snapshot: Snapshot) -> dict[str, ProbeResult]:
    """Return the probes that were asked: all but those left out on purpose."""
    return {name: one for name, one in snapshot.probes.items() if not (one.status == "not_recorded" and one.reason.startswith(NOT_ASKED))}


def unanswered(snapshot: Snapshot) -> dict[str, ProbeResult]:
    """Return the probes that were asked and gave no answer."""
    return {name: one for name, one in asked(snapshot).items() if one.status not in ANSWERED}


def is_unreachable(snapshot: Snapshot) -> bool:
    """Tell whether nothing at all was told."""
    return not snapshot.facts and all(one.status == "lost" for one in asked(snapshot).values()) and bool(asked(snapshot))


def host_lines(done: Done, columns: int) -> list[str]:
    """Return the lines about one host: ``=`` whole, ``?`` with what gave no answer, ``x`` unreachable."""
    probes, silent = asked(done.snapshot), unanswered(done.snapshot)
    counts = f"{len(probes) - len(silent)}/{len(probes)}"
    name = done.host.ljust(columns)
    if is_unreachable(done.snapshot):
        return [f"x {name}  {' ' * len(counts)}  {next(iter(silent.values())).reason}"]
    if not silent:
        return [f"= {name}  {counts}  {clock(done.elapsed_s)}"]
    lead = f"? {name}  {counts}  "
    told = [f"{probe}: {_why(one)}" for probe, one in list(silent.items())[:SHOWN_UNANSWERED]]
    rest = [f"and {len(silent) - len(told)} more: driftwatch show REF"] if len(silent) > len(told) else []
    return [lead + told[0], *(" " * len(lead) + line for line in [*told[1:], *rest])]


def _why(result: ProbeResult) -> str:
    left = "".join(f", pid {_shown(one, 'pid')} left behind in {_shown(one, 'state')}" for one in result.left_behind)
    return result.status.replace("_", " ") + (f": {result.reason}" if result.reason else "") + left


def _shown(process: Mapping[str, Any], key: str) -> str:
    return str(process.get(key, "?"))


def counts_line(done: Sequence[Done], elapsed_s: float, code: int) -> str:
    """Return the last line: how many hosts, whole, incomplete and unreachable, how long, and the exit code."""
    unreachable = sum(is_unreachable(one.snapshot) for one in done)
    incomplete = sum(bool(unanswered(one.snapshot)) for one in done) - unreachable
    parts = [counted(len(done), "host"), f"{len(done) - incomplete - unreachable} whole"]
    parts += [f"{count} {word}" for count, word in ((incomplete, "incomplete"), (unreachable, "unreachable")) if count]
    return " · ".join([*parts, clock(elapsed_s), f"exit {code}"])


def clock(seconds: float) -> str:
    """Return a span of time as ``0:31``."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
