"""When a change can have taken effect: a process keeps the code that it loaded at its start. Compares times that the snapshot holds; reads no clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from driftwatch.explain import servers
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Term
from driftwatch.explain.terms import term
from driftwatch.explain.words import utc_minute

_MINUTE = len("2026-03-02T10:00")


def out_of_order(case: Case, at: Any, facts: tuple[str, ...]) -> Iterator[Term]:
    """Yield that a thing came, at a time in ISO 8601 or in nanoseconds, when every server that runs on the bad side had been started already."""
    came = _minute(at)
    starts = [(f"servers/{server}/started_at", _minute(case.value("bad", f"servers/{server}/started_at"))) for server in servers.runs(case, "bad")]
    if came and starts and all(start and start < came for _, start in starts):
        says = f"it came at {came.replace('T', ' ')}Z; the server runs since {max(start for _, start in starts).replace('T', ' ')}Z and keeps what it loaded"
        yield term("out of order", says, (*facts, *(path for path, _ in starts)))


def _minute(value: Any) -> str:
    """Return a time in UTC by the minute, as ISO 8601 writes it; empty where it is none."""
    if isinstance(value, str):
        return value[:_MINUTE] if value.endswith("Z") and len(value) > _MINUTE and value[10] == "T" else ""
    return utc_minute(value).replace(" ", "T").removesuffix("Z")
