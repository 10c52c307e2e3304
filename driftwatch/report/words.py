"""How values, paths and subjects are worded for people, the same in every report for people. Lays nothing out and cleans nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from driftwatch.explain.explanation import Asked, Event, Explanation, NotChecked, Side, Subject, Suspect, strength_of
from driftwatch.explain.words import count
from driftwatch.model import Answer, Known, Unknown, answer, is_unknown, plain

VALUE_LIMIT = 160
MARKS = MappingProxyType({"changed": "~", "added": "+", "removed": "-", "unknown": "?"})
SAYS_ENOUGH = ("package", "file", "env-var", "probe", "library", "mount")
ABSENT_WORDS = MappingProxyType({"env": "unset", "env-var": "unset", "launch-arg": "not given", "args": "not given", "given": "not given"})
GIT_STATES = MappingProxyType({"??": "untracked", "M": "modified", "A": "added", "D": "deleted", "R": "renamed", "U": "unmerged"})
_DIGEST = re.compile(r"\bsha256:([0-9a-f]{7})[0-9a-f]{57}\b")


def say_value(value: Any, *, absent: str = "absent", limit: int | None = VALUE_LIMIT) -> str:
    """Return a JSON value as a person reads it; text beyond ``limit`` characters is cut and closed by ``…``.

    None is a thing that is known to be absent, an unknown shows ``?``, and a value that must not be seen seven digits of its keyed digest.
    Without a limit a list or an object is told as JSON.
    """
    if limit is None:
        return _say(value, absent)
    shown = _DIGEST.sub(r"sha256 \1…", _say_flat(value, absent))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _say_flat(value: Any, absent: str) -> str:
    """Return a list or an object without its brackets and without what it says is not there: ``count 1, pids 4121``."""
    if isinstance(value, list) and value:
        return ", ".join(_say(one, absent) for one in value)
    if isinstance(value, dict) and value and not is_unknown(value) and not {"keyed", "masked"} & set(value):
        return ", ".join(f"{key} {_say_flat(one, absent)}" for key, one in sorted(value.items()) if one is not None) or "{}"
    return _say(value, absent)


def _say(value: Any, absent: str) -> str:
    if isinstance(value, str):
        return value or '""'
    if value is None:
        return absent
    if isinstance(value, Unknown):
        return f"? ({say_status(value.status)})"
    if is_unknown(value):
        return _say(answer(value), absent)
    if isinstance(value, dict) and set(value) in ({"keyed"}, {"masked"}):
        return f"secret {str(value['keyed']).rpartition(':')[2][:7]}" if "keyed" in value else "secret, masked"
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=True)


def say_answer(one: Answer, path: str) -> str:
    """Return one side of a change as a person reads it; its path decides the word for a thing that is not there."""
    value = one.value if isinstance(one, Known) else one
    if path.startswith("git/") and isinstance(value, dict) and "status" in value:
        return _say_file_state(value)
    return say_value(value, absent=absent_word(path))


def _say_file_state(entry: dict[str, Any]) -> str:
    """Return what git says of a file that is not as committed, and in what alone it differs where that is known."""
    state = GIT_STATES.get(str(entry["status"]).strip(" ."), str(entry["status"]))
    return f"{state}, only in {entry['only']}" if entry.get("only") else state


def absent_word(path: str) -> str:
    """Return the word for what is not there: a variable is unset, an argument is not given, all else is absent."""
    parts = path.split("/")
    return next((word for part in (parts[0], *parts[-2:-1]) if (word := ABSENT_WORDS.get(part))), "absent")


def say_status(status: str) -> str:
    """Return a status in words."""
    return status.replace("_", " ")


def say_path(path: str) -> str:
    """Return the shortest name by which a person knows a fact: a package by its name, a variable by its own, all else by its path."""
    parts = path.split("/")
    if len(parts) == 3 and parts[0] == "packages" and parts[2] == "version":
        return parts[1]
    if len(parts) >= 4 and parts[0] == "servers" and parts[-2] in ("args", "given"):
        return f"{_as_argument(parts[-1])}{', resolved' if parts[-2] == 'args' else ''}"
    if len(parts) == 4 and parts[0] in ("sources", "git") and parts[2] == "files":
        return plain(parts[3])
    if len(parts) == 4 and parts[0] == "servers" and parts[2] == "log":
        return f"{parts[1]}, log: {parts[3].replace('_', ' ')}"
    return parts[1] if len(parts) == 2 and parts[0] == "env" else path


def say_subject(subject: Subject) -> str:
    """Return a subject by its name, with its kind before it where the name alone does not say what it is."""
    if subject.kind == "launch-arg" and " " not in subject.name:
        return _as_argument(subject.name)
    kind, name = subject.kind.replace("-", " "), subject.name.replace("-", " ").lower()
    if subject.kind in SAYS_ENOUGH or any(word in name for word in kind.split()):
        return subject.name
    return f"{kind} {subject.name}"


def say_sides(suspect: Suspect) -> tuple[str, str, str, str]:
    """Return what is blamed, one value, a sign, and the other: → from side to side, ≠ inside one host, none where both sides have one value or none."""
    if suspect.good in (None, "") and suspect.bad in (None, ""):
        return suspect.fact, "", "", ""
    good, bad = (say_value(value, absent=absent_word(suspect.subject.kind)) for value in (suspect.good, suspect.bad))
    return (suspect.fact, "", "", f"{bad} on both sides") if good == bad else (suspect.fact, good, "≠" if suspect.is_one_host else "→", bad)


def alone(explanation: Explanation, *, is_whole: bool) -> Iterator[Event]:
    """Yield one event for the changes that no event holds and no suspect rests on, so that none is lost; unread sides stand under NOT CHECKED."""
    told = {change.path for event in explanation.events for change in event.changes}
    told |= {path for suspect in explanation.suspects for term in suspect.because for path in term.facts}
    seen = (change for change in explanation.changes if change.path not in told)
    rest = tuple(change for change in seen if is_whole or not (change.is_folded or change.kind == "unknown"))
    if rest:
        yield Event("by themselves", rest)


def _as_argument(name: str) -> str:
    return name if name.startswith("-") else "--" + name.replace("_", "-")


def say_time(taken_at: str | None) -> str:
    """Return a time of a side to the minute, in UTC, or ``undated``."""
    if taken_at is None:
        return "undated"
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z", taken_at)
    return f"{found[1]} {found[2]}Z" if found else taken_at


def say_side(side: Side) -> str:
    """Return what is known of how the server did there; where nothing is, how many probes answered; for a dump, what it was read as."""
    if side.source not in ("snapshot", "recorded-host"):
        return f"{side.outcome}{'; ' if side.outcome else ''}read as {side.source}, {count(side.facts, 'fact')}"
    return side.outcome or f"{side.answered:,} of {side.planned:,} probes answered"


def say_asked(one: Asked, suspects: int) -> tuple[str, str]:
    """Return the mark and the words of an answer to a hypothesis: how it stands among so many suspects, or why it is none."""
    name, asked = say_subject(one.subject), one.asked.strip()
    what = asked if asked == one.subject.name else name if name.lower().startswith(asked.lower()) else f"{asked}: {name}"
    if one.answer == "ruled_out":
        return "=", f"{what} is ruled out: {one.because}"
    if one.answer == "not_checked":
        return "?", f"{what} was not checked: {one.because}"
    if one.rank is None or one.confidence is None:
        return "~", f"{what} is no suspect: {one.because}"
    return "~", f"{what} is suspect {one.rank} of {suspects}, {strength_of(one.confidence)}: {one.because}"


def say_unanswered(one: NotChecked) -> str:
    """Return what was not checked, on which side, how the question ended, and why."""
    side = "" if one.side == "both" else f" ({one.side} side)"
    status = say_status(one.status)
    why = one.reason if one.reason.startswith(status) else f"{status}: {one.reason}" if one.reason else status
    return f"{say_subject(one.subject)}{side}: {why}"


def say_weight(one: NotChecked) -> str:
    """Return whether an unanswered question could hide a suspect."""
    return "matters: it could hide a suspect" if one.matters else "does not matter here"


def say_counts(explanation: Explanation) -> str:
    """Return the closing line: how much was found, ruled out, left open and changed, and the exit code that goes with it."""
    counts = [
        count(len(explanation.suspects), "suspect"), f"{len(explanation.ruled_out):,} ruled out", f"{len(explanation.not_checked):,} not checked",
        count(sum(not one.is_folded and one.kind != "unknown" for one in explanation.changes), "change"),
    ]
    gaps = [count(len(explanation.standing_gaps), "gap")] if explanation.standing_gaps else []
    return " · ".join([*counts, *gaps, f"exit {explanation.exit_code}"])
