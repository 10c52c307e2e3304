"""What `snapshot` says beside its answer: one line a host with what it did not answer, the counts, and what to do next. Words only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from driftwatch.cli.wiring.running import Done
from driftwatch.cli.wiring.stopping import CUT
from driftwatch.model import ANSWERED, FAILED, ProbeResult, Snapshot, is_unknown
from driftwatch.store.references import counted

NOT_ASKED = "not asked: "
SHOWN_UNANSWERED = 6


def asked(snapshot: Snapshot) -> dict[str, ProbeResult]:
    """Return the probes that were asked: all but those left out on purpose."""
    return {name: one for name, one in snapshot.probes.items() if not (one.status == "not_recorded" and one.reason.startswith(NOT_ASKED))}


def unanswered(snapshot: Snapshot) -> dict[str, ProbeResult]:
    """Return the probes that were asked and gave no answer."""
    return {name: one for name, one in asked(snapshot).items() if one.status not in ANSWERED}


def not_whole(snapshot: Snapshot) -> dict[str, ProbeResult]:
    """Return the probes that gave no answer, and those that answered that their whole topic failed: ``containers`` where its daemon is down."""
    failed = {path: value for path, value in snapshot.facts.items() if "/" not in path and is_unknown(value) and value["unknown"] in FAILED}
    topics = {snapshot.owner(path) or path: ProbeResult(str(value["unknown"]), reason=str(value.get("reason", ""))) for path, value in failed.items()}
    return {**topics, **unanswered(snapshot)}


def is_unreachable(snapshot: Snapshot) -> bool:
    """Tell whether nothing at all was told, and not because Ctrl-C came first."""
    return not snapshot.facts and all(one.status == "lost" for one in asked(snapshot).values()) and bool(asked(snapshot)) and not is_cut(snapshot)


def is_cut(snapshot: Snapshot) -> bool:
    """Tell whether Ctrl-C came before all was told."""
    return any(one.status == "lost" and one.reason == CUT for one in snapshot.probes.values())


def host_lines(done: Done, columns: int) -> list[str]:
    """Return the lines about one host: ``=`` whole, ``?`` with what gave no answer, ``x`` unreachable or cut by Ctrl-C."""
    probes, silent = asked(done.snapshot), not_whole(done.snapshot)
    counts = f"{len(probes) - len(silent)}/{len(probes)}"
    name = done.host.ljust(columns)
    if is_cut(done.snapshot):
        return [f"x {name}  {counts}  {CUT}"]
    if is_unreachable(done.snapshot):
        return [f"x {name}  {' ' * len(counts)}  {next(iter(silent.values())).reason}"]
    if not silent:
        return [f"= {name}  {counts}  {clock(done.elapsed_s)}"]
    lead = f"? {name}  {counts}  "
    told = [f"{probe}: {_why(one)}" for probe, one in list(silent.items())[:SHOWN_UNANSWERED]]
    rest = [f"and {len(silent) - len(told)} more: driftwatch show REF"] if len(silent) > len(told) else []
    return [lead + told[0], *(" " * len(lead) + line for line in [*told[1:], *rest])]


def in_vain(snapshot: Snapshot) -> list[str]:
    """Return what was named for the host to look at and is not there, by what came back."""
    given = [one for one in snapshot.targets if str(one.get("because", "")).startswith("given ") and not one.get("site_packages")]
    found = [f"--python {one.get('python')}: no package folder of it was found" for one in given]
    env, sources = snapshot.probes.get("env"), snapshot.probes.get("sources")
    if env is not None and env.status == "absent" and env.reason.startswith("/proc/"):
        found.append(f"--env-from-pid: {env.reason}")
    if sources is not None and sources.status in ANSWERED and not snapshot.below("sources"):
        found += dict.fromkeys(f"no sources are in {one['source']}" for one in snapshot.targets if one.get("source"))
    return found


def _why(result: ProbeResult) -> str:
    left = "".join(f", pid {_shown(one, 'pid')} left behind in {_shown(one, 'state')}" for one in result.left_behind)
    return result.status.replace("_", " ") + (f": {result.reason}" if result.reason else "") + left


def _shown(process: Mapping[str, Any], key: str) -> str:
    return str(process.get(key, "?"))


def counts_line(done: Sequence[Done], elapsed_s: float, code: int) -> str:
    """Return the last line: how many hosts, whole, incomplete and unreachable, how long, and the exit code."""
    unreachable, cut = sum(is_unreachable(one.snapshot) for one in done), sum(is_cut(one.snapshot) for one in done)
    incomplete = sum(bool(not_whole(one.snapshot)) for one in done) - unreachable - cut
    parts = [counted(len(done), "host"), f"{len(done) - incomplete - unreachable - cut} whole"]
    parts += [f"{count} {word}" for count, word in ((incomplete, "incomplete"), (unreachable, "unreachable"), (cut, "stopped")) if count]
    return " · ".join([*parts, clock(elapsed_s), f"exit {code}"])


def clock(seconds: float) -> str:
    """Return a span of time as ``0:31``."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
