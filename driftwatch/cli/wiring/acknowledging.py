"""What `ack` does: finds the hosts that a letter of the last audit, or words, mean, and notes their told drift as acknowledged."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.inventories import selected
from driftwatch.fleet import told as told_states
from driftwatch.model import matches
from driftwatch.report.table import columns
from driftwatch.settings import utc_now
from driftwatch.store import nights

_LETTER = re.compile(r"[A-Z]{1,2}\Z")


def meant(words: Sequence[str], desk: Desk) -> tuple[str, ...]:
    """Return the hosts that letters of the last audit, and other words, mean."""
    found: list[str] = []
    for word in words:
        found += _of_letter(word, desk) if _LETTER.match(word) else [one.name for one in selected([word], desk)]
    return tuple(dict.fromkeys(found))


def acknowledge(hosts: Sequence[str], only: tuple[str, ...], note: str, desk: Desk) -> str:
    """Note what the last audits told of these hosts as acknowledged, and return it as text or JSON. Raises UsageFault where there is nothing."""
    rows = []
    for host in hosts:
        document = nights.load_told(desk.store.root, host)
        told = told_states.Told() if document is None else told_states.from_document(document)
        paths = [path for path in told.keys if not only or matches(path, only)]
        if paths:
            nights.save_told(desk.store.root, host, told_states.to_document(told_states.acknowledge(told, paths, utc_now(), note)))
            rows += [(host, path) for path in paths]
    if not rows:
        raise UsageFault("no audit told any such drift", ", ".join(hosts), "driftwatch audit   tells what there is")
    if desk.given.format == "json":
        return json.dumps([{"host": host, "path": path, "note": note} for host, path in rows], indent=1) + "\n"
    return columns([list(row) for row in rows], desk.page)


def _of_letter(letter: str, desk: Desk) -> list[str]:
    stored = nights.runs(desk.store.root)
    if not stored:
        raise UsageFault(f"{letter} is a letter of the last audit, and there was none", str(desk.store.root), "driftwatch audit")
    ways = {way["letter"]: way for way in nights.load_run(stored[-1]).get("ways", ())}
    if letter not in ways:
        raise UsageFault(f"the last audit has no {letter}", str(stored[-1]), f"it has: {', '.join(ways) or 'no way of differing'}")
    return list(ways[letter]["hosts"])
