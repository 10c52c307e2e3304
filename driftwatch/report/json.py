"""An explanation as JSON, format 1 (docs/explanation.md): strict, ASCII, the same bytes for the same explanation. Words nothing anew."""

from __future__ import annotations

import hashlib
import json
import re
from types import MappingProxyType
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.explain.explanation import Asked, Command, Explanation, NotChecked, RuledOut, Side, Subject, Suspect
from driftwatch.model import Answer, Known, Unknown
from driftwatch.report.page import Page

FORMAT = 1
NAME_LIMIT = 120
PATH_KINDS = ("file", "cache", "library", "git", "python", "mount", "disk")
DIGITS = 3
_NEAREST = MappingProxyType({  # a layout that format 1 does not name goes by the nearest of those that it names
    "ds-report": "torch-collect-env", "xformers-info": "torch-collect-env", "conda-env-export": "conda-list", "pixi-list": "conda-list",
    "poetry-show": "pip-list", "docker-compose": "docker-inspect", "kubernetes-manifest": "docker-inspect", "systemd-unit": "transcript",
})


def render(explanation: Explanation, page: Page) -> str:  # noqa: ARG001  every report takes a page; JSON has no width
    """Return the explanation as one JSON object, ending with one line feed."""
    return json.dumps(_printable(document(explanation)), ensure_ascii=True, allow_nan=False, indent=1) + "\n"


def document(explanation: Explanation) -> dict[str, Any]:
    """Return the explanation as the JSON object of format 1."""
    symptom = explanation.symptom
    return {
        "format": FORMAT,
        "good": _side(explanation.good),
        "bad": _side(explanation.bad),
        "symptom": None if symptom is None else {"class": symptom.klass, "signature": symptom.signature, "from": explanation.symptom_from},
        "verdict_word": explanation.word,
        "verdict": _one_line(explanation.verdict),
        "doubts": list(explanation.doubts),
        "asked": [_asked(one) for one in explanation.asked],
        "suspects": [_suspect(rank, one) for rank, one in enumerate(explanation.suspects, 1)],
        "ruled_out": [_ruled_out(one) for one in explanation.ruled_out],
        "not_checked": [_not_checked(one) for one in explanation.not_checked],
        "gaps_settle": explanation.gaps_settle,
        "standing_gaps": [{"what": what, "settle": command} for what, command in explanation.standing_gaps],
        "events": [{"title": event.title, "paths": [change.path for change in event.changes]} for event in explanation.events],
        "changes": [_change(one) for one in explanation.changes],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "host": side.host, "taken_at": side.taken_at, "id": side.id, "source": _NEAREST.get(side.source, side.source), "layout": side.source,
        "ref": side.ref, "outcome": side.outcome, "answered": side.answered, "planned": side.planned, "facts": side.facts,
    }


def _asked(one: Asked) -> dict[str, Any]:
    confidence = None if one.confidence is None else round(one.confidence, DIGITS)
    return {
        "asked": one.asked, "answer": one.answer, "subject": _subject(one.subject), "rank": one.rank, "confidence": confidence,
        "because": _one_line(one.because), "settle": one.settle, "facts": list(one.facts),
    }


def _suspect(rank: int, suspect: Suspect) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "rank": rank,
        "subject": _subject(suspect.subject),
        "change": {"good": _value(suspect.good), "bad": _value(suspect.bad), "carrier": suspect.carrier},
        "confidence": round(suspect.confidence, DIGITS),
        "prior": round(suspect.prior, DIGITS),
        "because": [{"says": _one_line(term.says), "weight": round(term.weight, DIGITS), "facts": list(term.facts)} for term in suspect.because],
        "confirm": _first(suspect, "confirm") or _first(suspect, "look"),
        "undo": _first(suspect, "undo"),
        "commands": [_command(one) for one in suspect.commands],
    }
    if suspect.sum is not None:
        entry["sum"] = {"caption": suspect.sum.caption, "rows": [list(row) for row in suspect.sum.rows]}
    return entry


def _command(command: Command) -> dict[str, str]:
    return {"label": command.label, "run": command.run, "note": command.note}


def _first(suspect: Suspect, label: str) -> str:
    return next((command.run for command in suspect.commands if command.label == label), "")


def _ruled_out(one: RuledOut) -> dict[str, Any]:
    return {"subject": _subject(one.subject), "because": _one_line(one.because), "facts": list(one.facts)}


def _not_checked(one: NotChecked) -> dict[str, Any]:
    return {
        "subject": _subject(one.subject), "status": one.status, "side": one.side, "reason": _one_line(one.reason) or one.status, "settle": one.settle,
        "matters": one.matters, "detail": one.detail,
    }


def _change(change: Change) -> dict[str, Any]:
    entry = {"path": change.path, "good": _answer(change.good), "bad": _answer(change.bad), "class": change.kind, "folded": change.is_folded}
    more = {"follows": change.follows, "detail": change.detail}
    return {**entry, **{key: value for key, value in more.items() if value}}


def _answer(one: Answer) -> Any:
    return one.value if isinstance(one, Known) else _value(one)


def _value(value: Any) -> Any:
    return {"unknown": value.status, "reason": value.reason} if isinstance(value, Unknown) else value


def _subject(subject: Subject) -> dict[str, str]:
    name = re.sub(r"[-_.]+", "-", subject.name).lower() if subject.kind == "package" else _one_line(subject.name)
    is_path = subject.kind in PATH_KINDS and re.fullmatch(r"~?/\S+", name) is not None
    return {"kind": subject.kind, "name": name if is_path else _short(name)}


def _short(name: str) -> str:
    """Return a name of at most 120 characters; what had to be cut is told apart by digits of its digest."""
    if len(name) <= NAME_LIMIT:
        return name
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{name[: NAME_LIMIT - len(digits) - 1]}-{digits}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _printable(value: Any) -> Any:
    r"""Return a JSON value without lone surrogates, which strict readers refuse: they are shown as ``\udc80``."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_printable(key): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list) else value
