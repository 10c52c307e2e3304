"""What `show` picks from a snapshot. A path that nobody told is shown as absent or as unknown, as the snapshot itself says."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from driftwatch.cli.wiring.telling import unanswered
from driftwatch.model import Snapshot, Unknown, matches, to_document
from driftwatch.report.facts import render_facts
from driftwatch.report.page import Page

UNANSWERED = 3


@dataclass(frozen=True)
class Shown:
    """The facts to show, and the questions without an answer that could have told more of them, by probe."""

    facts: dict[str, Any]
    silent: dict[str, str] = field(default_factory=dict)


def pick(snapshot: Snapshot, glob: str | None) -> Shown:
    """Return the facts whose path fits a glob (all, without one), and the probes that could have told more."""
    if glob is None:
        return Shown(dict(snapshot.facts), {name: _words(one.status, one.reason) for name, one in unanswered(snapshot).items()})
    below = (glob, f"{glob}/*")
    found = {path: value for path, value in snapshot.facts.items() if matches(path, below)}
    if found or "*" in glob:
        owners = {name: one for name, one in unanswered(snapshot).items() if any(_could_tell(tells, glob) for tells in one.tells or (name + "/*",))}
        return Shown(found, {name: _words(one.status, one.reason) for name, one in owners.items()})
    told = snapshot.get(glob)
    return Shown({glob: {"unknown": told.status, "reason": told.reason} if isinstance(told, Unknown) else None})


def _could_tell(tells: str, glob: str) -> bool:
    """Tell whether a probe's glob and the asked one can mean one path: part by part, where ``*`` is any part and a closing one all below."""
    pairs = zip(tells.split("/"), glob.split("/"), strict=False)
    return all("*" in mine + asked or mine == asked for mine, asked in pairs)


def _words(status: str, reason: str) -> str:
    return status.replace("_", " ") + (f": {reason}" if reason else "")


def as_text(shown: Shown, page: Page) -> str:
    """Return the facts as lines, then the probes that gave no answer."""
    lines = [page.paint("unknown", page.say(f"? {name}  {why}")) for name, why in sorted(shown.silent.items())]
    return render_facts(shown.facts, page) + "".join(line + "\n" for line in lines)


def as_json(snapshot: Snapshot, shown: Shown, glob: str | None) -> str:
    """Return the whole snapshot as JSON, or with a glob the facts that fit it."""
    document = {**to_document(snapshot), "id": snapshot.id} if glob is None else {"facts": shown.facts, "unanswered": shown.silent}
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def code_of(shown: Shown) -> int:
    """Return 3 where nothing can be shown because it was not answered, else 0."""
    answered = [value for value in shown.facts.values() if not (isinstance(value, dict) and "unknown" in value)]
    return 0 if answered or not (shown.silent or shown.facts) else UNANSWERED
