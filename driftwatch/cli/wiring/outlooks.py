"""What `memory` reads before it counts: the snapshot, the log beside it, and the host's good snapshot, if it has one, to compare with."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from driftwatch.agent.log_errors import rank_of
from driftwatch.agent.probe import fact_path
from driftwatch.agent.server_log import last_run, parse_log
from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.sides import read_one
from driftwatch.explain.outlook import WhatIf
from driftwatch.log_stream import condense
from driftwatch.model import Snapshot
from driftwatch.store.errors import StoreError
from driftwatch.store.log_file import log_chunks

GOOD = "good"
_LINES = (("free_before_load_gib", "Load weight begin"), ("free_after_load_gib", "Load weight end"))
_FREE = re.compile(r"avail mem=(-?[0-9]+(?:\.[0-9]+)?) GB")


def what_if(ref: str, log: str | None, asked: tuple[float | None, int | None], desk: Desk) -> WhatIf:
    """Return the question to work out. ``asked``: another fraction, and another largest graph batch. Raises UsageFault for a log that is no SGLang's."""
    snapshot, places = read_one(ref, desk), {}
    if log is not None:
        kept = condense(log_chunks(log))
        snapshot, places = with_log(snapshot, kept.text, log), dict(places_in(kept.text)) if kept.is_whole else {}
    other_ref = f"{snapshot.host}@{GOOD}"
    other = _good_of(other_ref, snapshot, desk)
    return WhatIf(snapshot, ref, *asked, other, other_ref, places)


def with_log(snapshot: Snapshot, text: str, path: str) -> Snapshot:
    """Return the snapshot with what a log tells of its last run in the place of what it held of one. Raises UsageFault."""
    run = parse_log(text)
    if run.framework not in ("sglang", ""):
        raise UsageFault(f"{path} is a log of {run.framework}, and this is SGLang's sum", do="name the log of an SGLang server")
    told: dict[str, Any] = {f"servers/sglang/{fact_path('log', name)}": value for name, value in {**run.figures, "path": path}.items()}
    if run.args is not None:
        told |= {f"servers/sglang/{fact_path('args', name)}": value for name, value in run.args.items()}
        told["servers/sglang/given"] = {"unknown": "not_recorded", "reason": f"{path} may be of another run than the server that was seen"}
    gone = ("servers/sglang/log", *(("servers/sglang/args", "servers/sglang/given") if run.args is not None else ()))
    kept = {name: value for name, value in snapshot.facts.items() if name != "servers" and not f"{name}/".startswith(tuple(f"{one}/" for one in gone))}
    return replace(snapshot, facts={**kept, **told})


def places_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield for both measurements the rank and the line of the log that tell the least."""
    run = last_run(text)
    first = text.count("\n", 0, len(text) - len(run)) + 1
    lines = run.split("\n")
    for name, mark in _LINES:
        told = [(float(free.group(1)), number) for number, line in enumerate(lines, first) if mark in line and (free := _FREE.search(line))]
        if told:
            _, number = min(told)
            rank = rank_of(lines[number - first])
            yield name, f"{rank}, log line {number:,}" if rank else f"log line {number:,}"


def _good_of(ref: str, snapshot: Snapshot, desk: Desk) -> Snapshot | None:
    """Return the host's snapshot that is tagged good, where there is one and it is another."""
    if snapshot.host is None:
        return None
    with contextlib.suppress(StoreError, UsageFault):
        good = read_one(ref, desk)
        return good if good.id != snapshot.id else None
    return None
