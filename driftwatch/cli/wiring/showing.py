"""What `show` picks from a snapshot. A path that nobody told is shown as absent or as unknown, as the snapshot itself says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.fitting import refuse_misfits
from driftwatch.cli.wiring.telling import unanswered
from driftwatch.model import Snapshot, Unknown, is_unknown, matches, to_document
from driftwatch.report.facts import render_facts
from driftwatch.report.words import say_value

UNANSWERED = 3
CHECK_ENV = "check-env"
FORMATS = ("text", "json", CHECK_ENV)


@dataclass(frozen=True)
class Shown:
    """The facts to show, and the probes that could have told more of them: those that did not answer, and the host has no such thing (``absent``)."""

    facts: dict[str, Any]
    silent: dict[str, str] = field(default_factory=dict)
    is_absent: bool = False

    @property
    def answered(self) -> dict[str, Any]:
        """Return the facts that are known, those that are known to be absent too."""
        return {path: value for path, value in self.facts.items() if not is_unknown(value)}


def pick(snapshot: Snapshot, glob: str | None) -> Shown:
    """Return the facts whose path fits a glob (all, without one), and the probes that could have told more."""
    if glob is None:
        return Shown(dict(snapshot.facts), {name: _words(one.status, one.reason) for name, one in unanswered(snapshot).items()})
    below = (glob, f"{glob}/*")
    found = {path: value for path, value in snapshot.facts.items() if matches(path, below)}
    if found or "*" in glob:
        owners = {name: one for name, one in snapshot.probes.items() if any(_could_tell(tells, glob) for tells in one.tells or (name + "/*",))}
        silent = {name: _words(one.status, one.reason) for name, one in unanswered(snapshot).items() if name in owners}
        return Shown(found, silent, any(one.status == "absent" for one in owners.values()))
    told = snapshot.get(glob)
    return Shown({glob: {"unknown": told.status, "reason": told.reason} if isinstance(told, Unknown) else None})


def pick_all(snapshot: Snapshot, globs: Sequence[str]) -> list[Shown]:
    """Return what fits each glob. Raises the faults of those that fit nothing, though all who could tell of it answered that they have such things."""
    shown = {glob: pick(snapshot, glob) for glob in globs}
    misfits = [glob for glob, one in shown.items() if not (one.facts or one.silent or one.is_absent)]
    refuse_misfits(misfits, snapshot.facts.keys(), snapshot.host or "what it tells")
    return list(shown.values())


def _could_tell(tells: str, glob: str) -> bool:
    """Tell whether a probe's glob and the asked one can mean one path: part by part, where ``*`` is any part and a closing one all below."""
    pairs = zip(tells.split("/"), glob.split("/"), strict=False)
    return all("*" in mine + asked or mine == asked for mine, asked in pairs)


def _words(status: str, reason: str) -> str:
    return status.replace("_", " ") + (f": {reason}" if reason else "")


def show_facts(snapshot: Snapshot, globs: Sequence[str], desk: Desk, *, is_bare: bool) -> tuple[str, int]:
    """Return the facts that fit any of the globs, one a line, and the exit code: 3 where a glob fits nothing that is known.

    What is not known is told beside the answer.
    ``is_bare``: values alone in the order in which they were asked, an absent one as an empty line.
    """
    shown = pick_all(snapshot, globs)
    answered = {path: value for one in shown for path, value in sorted(one.answered.items())}
    for path, value in sorted({path: value for one in shown for path, value in one.facts.items() if is_unknown(value)}.items()):
        desk.say(f"? {path}  {_words(str(value['unknown']), str(value.get('reason', '')))}")
    for name, why in sorted({name: why for one in shown for name, why in one.silent.items()}.items()):
        desk.say(f"? probe {name}  {why}")
    code = max(map(code_of, shown), default=0)
    if is_bare:
        return "".join(desk.page.say(say_value(answered[path], absent="", limit=None)) + "\n" for path in answered), code
    return render_facts(answered, desk.page), code


def show_whole(snapshot: Snapshot, desk: Desk, *, has_all: bool) -> str:
    """Return the snapshot on one page, every fact a line, or in the layout of check_env; JSON is the whole document."""
    if desk.given.format == "json":
        return json.dumps({**to_document(snapshot), "id": snapshot.id}, indent=1, sort_keys=True) + "\n"
    if desk.given.format == CHECK_ENV:
        return _as_check_env(snapshot, desk)
    if has_all:
        shown = pick(snapshot, None)
        lines = [desk.page.paint("unknown", desk.page.say(f"? {name}  {why}")) for name, why in sorted(shown.silent.items())]
        return render_facts(shown.facts, desk.page) + "".join(line + "\n" for line in lines)
    from driftwatch.report.overview import render_overview  # noqa: PLC0415  # only where it is drawn

    return render_overview(snapshot, desk.page)


def _as_check_env(snapshot: Snapshot, desk: Desk) -> str:
    from driftwatch.report.check_env import left_out, render_check_env  # noqa: PLC0415  # only where it is asked for

    for row in left_out(snapshot):
        desk.say(f"note: no row for {row}")
    return render_check_env(snapshot, desk.page)


def facts_as_json(snapshot: Snapshot, globs: Sequence[str]) -> tuple[str, int]:
    """Return the facts that fit as JSON, with the probes that could have told more, and the exit code."""
    shown = pick_all(snapshot, globs)
    facts = {path: value for one in shown for path, value in one.facts.items()}
    silent = {name: why for one in shown for name, why in one.silent.items()}
    return json.dumps({"facts": facts, "unanswered": silent}, indent=1, sort_keys=True) + "\n", max(map(code_of, shown), default=0)


def code_of(shown: Shown) -> int:
    """Return 3 where nothing can be shown because it was not answered, else 0."""
    return 0 if shown.answered or not (shown.silent or shown.facts) else UNANSWERED


def check_use(globs: Sequence[str], desk: Desk, *, is_bare: bool) -> None:
    """Raise UsageFault for options of `show` that do not go together."""
    if is_bare and not globs:
        raise UsageFault("--value prints the values of facts, and none is named", do="driftwatch show REF --value driver/version")
    if globs and desk.given.format == CHECK_ENV:
        raise UsageFault("--format check-env prints a whole snapshot, so no fact can be named beside it", do="leave one of them away")
