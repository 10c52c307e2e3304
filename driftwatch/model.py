"""The nouns of the controller: Snapshot, ProbeResult, Known and Unknown. Pure: no files, no clock, no third parties.

The one function that matters is :meth:`Snapshot.get`: it never lets a question without an answer look like an answer.
"""
from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Union

FORMAT = 1
STATUSES = ("ok", "absent", "denied", "timeout", "error", "died", "lost", "not_recorded")
ANSWERED = ("ok", "absent")
FAILED = ("timeout", "error", "died", "lost")  # unlike a refusal, or what was never asked, the next time may answer
SOURCES = (
    "snapshot", "recorded-host", "sglang-check-env", "torch-collect-env", "vllm-collect-env", "pip-list", "pip-freeze", "pip-inspect", "conda-list",
    "uv-pip-list", "nvidia-smi", "flashinfer-collect-env", "transformers-env", "env", "server-log", "transcript", "nvidia-bug-report", "docker-inspect",
    "ds-report", "xformers-info", "conda-env-export", "pixi-list", "poetry-show", "docker-compose", "kubernetes-manifest", "systemd-unit",
)


class ModelError(Exception):
    """A document that is no snapshot. The message says what is wrong and at which key."""


class NewerFormat(ModelError):
    """A snapshot of a later release: nothing is wrong with it."""


@dataclass(frozen=True)
class Known:
    """An answer. ``value`` is a JSON value; ``None`` means that the host is known to have no such thing."""

    value: Any


@dataclass(frozen=True)
class Unknown:
    """No answer: the status (denied, timeout, error, died, lost, not_recorded) and why."""

    status: str
    reason: str = ""


Answer = Union[Known, Unknown]  # noqa: UP007  # read at run time, also where the tests of the agent run on Python 3.8


@dataclass(frozen=True)
class ProbeResult:
    """What became of one probe. ``tells`` are globs of the paths it answers for; the rest is for people."""

    status: str
    elapsed_s: float = 0.0
    deadline_s: float | None = None
    reason: str = ""
    tells: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    left_behind: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Symptom:
    """How the failure shows: its class (oom, hang …), its decisive line, and the log it was read from."""

    klass: str | None = None
    signature: str | None = None
    log: str | None = None


@dataclass(frozen=True)
class Snapshot:
    """What was learnt of one host at one moment. Immutable; its ``id`` is a digest of its content."""

    host: str | None
    taken_at: str | None
    source: str = "snapshot"
    agent: Mapping[str, Any] = field(default_factory=dict)
    targets: tuple[Mapping[str, Any], ...] = ()
    probes: Mapping[str, ProbeResult] = field(default_factory=dict)
    volatile: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    symptom: Symptom | None = None
    redaction: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def get(self, path: str) -> Answer:
        """Return what is known of a fact: ``Known(value)``, ``Known(None)`` where it is known to be absent, else ``Unknown``.

        A fact that was told stands. Below a thing that could not be read, everything is unknown. A path that nobody told is absent only
        if the probe that answers for it ended ok or absent; else it has the status of that probe.
        """
        if path in self.facts:
            return answer(self.facts[path])
        above = self._unknown_above(path)
        if above is not None:
            return above
        owner = self.owner(path)
        if owner is None:
            return Unknown("not_recorded", "no probe that answers for it was asked")
        result = self.probes[owner]
        if result.status in ANSWERED:
            return Known(None)
        return Unknown(result.status, f"{owner}: {result.reason}" if result.reason else owner)

    def owner(self, path: str) -> str | None:
        """Return the name of the planned probe that answers for a path: the one with the most exact glob, or None."""
        return _most_exact(self._tellers, path)

    def is_volatile(self, path: str) -> bool:
        """Tell whether a fact changes by itself."""
        return bool(self.volatile) and matches(path, self.volatile)

    def below(self, prefix: str) -> dict[str, Any]:
        """Return the facts below a path, keyed by the rest of their path; unknown ones included as they are stored."""
        start = prefix.rstrip("/") + "/"
        return {path[len(start):]: value for path, value in self.facts.items() if path.startswith(start)}

    def with_symptom(self, symptom: Symptom | None) -> Snapshot:
        """Return the same snapshot with a symptom."""
        return replace(self, symptom=symptom)

    @cached_property
    def id(self) -> str:
        """Return ``sha256:`` and the digest of the canonical JSON without the id itself."""
        return content_id(to_document(self))

    @cached_property
    def _tellers(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((name, result.tells or (name, name + "/*")) for name, result in self.probes.items())

    @cached_property
    def unknown_paths(self) -> frozenset[str]:
        """Return the paths that are stored as not known."""
        return frozenset([path for path, value in self.facts.items() if value.__class__ is dict and "unknown" in value])

    def _unknown_above(self, path: str) -> Unknown | None:
        if not self.unknown_paths:
            return None
        cut = path.rfind("/")
        while cut > 0:
            if path[:cut] in self.unknown_paths:
                found = answer(self.facts[path[:cut]])
                return found if isinstance(found, Unknown) else None
            cut = path.rfind("/", 0, cut)
        return None


def plain(part: str) -> str:
    """Return a part of a path as the name that it stands for."""
    return part.replace("%2F", "/").replace("%25", "%")


def is_unknown(value: Any) -> bool:
    """Tell whether a stored value stands for a thing that could not be read."""
    return isinstance(value, dict) and "unknown" in value


def answer(value: Any) -> Answer:
    """Return a stored value as Known or Unknown."""
    if is_unknown(value):
        return Unknown(str(value["unknown"]), str(value.get("reason", "")))
    return Known(value)


@lru_cache(maxsize=1024)
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("(?:" + "|".join(_glob(one) for one in globs) + r")\Z", re.DOTALL)


def _glob(glob: str) -> str:
    """Return a glob as a regular expression: ``*`` is any text within one part, a closing ``/*`` is everything below."""
    if glob.endswith("/*"):
        return _glob(glob[:-2]) + "/.*"
    return "[^/]*".join(re.escape(piece) for piece in glob.split("*"))


def matches(path: str, globs: tuple[str, ...]) -> bool:
    """Tell whether a path is covered by one of the globs. ``a/*/c`` matches within parts, ``a/*`` everything below ``a``."""
    return _pattern(globs).match(path) is not None


@lru_cache(maxsize=65536)
def _most_exact(tellers: tuple[tuple[str, tuple[str, ...]], ...], path: str) -> str | None:
    best: tuple[int, str] | None = None
    for name, globs in tellers:
        for one in globs:
            if matches(path, (one,)):
                weight = len(one.replace("*", ""))
                if best is None or weight > best[0]:
                    best = (weight, name)
    return None if best is None else best[1]


def canonical(document: Mapping[str, Any]) -> bytes:
    """Return a document as canonical JSON: keys sorted, ASCII, no blanks, no NaN."""
    return json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()


def content_id(document: Mapping[str, Any]) -> str:
    """Return the id that a document's content gives."""
    return "sha256:" + hashlib.sha256(canonical({key: value for key, value in document.items() if key != "id"})).hexdigest()


def digest_around(head: Mapping[str, Any], facts: bytes) -> str:
    """Return the id of a document whose facts stand in ``facts`` in canonical form, without their braces; ``head`` is the rest, without the id."""
    before = canonical({key: value for key, value in head.items() if key < "facts"})
    after = canonical({key: value for key, value in head.items() if key > "facts"})
    opening = before[:-1] + (b"," if len(before) > len(b"{}") else b"") + b'"facts":{'
    return "sha256:" + hashlib.sha256(b"".join((opening, facts, b"},", after[1:]))).hexdigest()


_WHOLE = frozenset({str, int, bool, type(None)})  # nearly all values: they stay as they are, without a call


def round3(value: Any) -> Any:
    """Return a JSON value whose floats have at most three decimals, so that its digest is the same everywhere."""
    if value.__class__ in _WHOLE:
        return value
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: one if one.__class__ in _WHOLE else round3(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [one if one.__class__ in _WHOLE else round3(one) for one in value]
    return value


def to_document(snapshot: Snapshot) -> dict[str, Any]:
    """Return a snapshot as the JSON object of format 1, without its id."""
    document: dict[str, Any] = {
        "format": FORMAT, "host": snapshot.host, "taken_at": snapshot.taken_at, "source": snapshot.source, "agent": dict(snapshot.agent),
        "targets": [dict(target) for target in snapshot.targets],
        "probes": {name: _probe_document(result) for name, result in snapshot.probes.items()},
        "volatile": list(snapshot.volatile), "facts": dict(snapshot.facts), "symptom": _symptom_document(snapshot.symptom),
        "redaction": dict(snapshot.redaction),
    }
    document.update(snapshot.extra)
    rounded: dict[str, Any] = round3(document)
    return rounded


def _probe_document(result: ProbeResult) -> dict[str, Any]:
    document: dict[str, Any] = {"status": result.status, "elapsed_s": round(result.elapsed_s, 3)}
    for key in ("deadline_s", "reason", "tells", "tools", "left_behind", "notes"):
        value = getattr(result, key)
        if value not in (None, "", ()):
            document[key] = [dict(one) if isinstance(one, Mapping) else one for one in value] if isinstance(value, tuple) else value
    return document


def _symptom_document(symptom: Symptom | None) -> dict[str, Any] | None:
    return None if symptom is None else {"class": symptom.klass, "signature": symptom.signature, "log": symptom.log}


_SHAPES: Mapping[str, type | tuple[type, ...]] = MappingProxyType({
    "host": (str, type(None)), "taken_at": (str, type(None)), "source": str, "agent": dict, "targets": list, "probes": dict, "volatile": list, "facts": dict,
    "symptom": (dict, type(None)), "redaction": dict,
})


def from_document(document: Any) -> Snapshot:
    """Return the snapshot that a JSON object of format 1 holds. Raises ModelError where it is none, with the key at fault.

    The format number is looked at first, so that a newer file is named as newer. The id is checked: a file whose content gives another id is refused.
    """
    _check_shape(document)
    found = content_id(document)
    if found != document["id"]:
        raise ModelError(f"its content gives the id {found[:19]}…, but it says {document['id'][:19]}…: it was changed after it was written")
    return _identified(document)


def from_checked(document: Any) -> Snapshot:
    """Return the snapshot that a JSON object of format 1 holds, as :func:`from_document` does, for whoever has checked its id himself."""
    _check_shape(document)
    return _identified(document)


def _identified(document: dict[str, Any]) -> Snapshot:
    """Return a snapshot whose id is known, so that it is not worked out again."""
    built = _build(document)
    built.__dict__["id"] = document["id"]
    return built


def refilled(head: Snapshot, facts: Mapping[str, Any], identity: str) -> Snapshot:
    """Return a snapshot with other facts and the id that is known for them: for whoever keeps facts apart from the rest."""
    filled = replace(head, facts=facts)
    filled.__dict__["id"] = identity
    return filled


def _check_shape(document: Any) -> None:
    if not isinstance(document, dict):
        raise ModelError("the top is no object")
    _check_format(document.get("format"))
    for key, shape in _SHAPES.items():
        if key not in document:
            raise ModelError(f"key {key!r} is missing")
        if not isinstance(document[key], shape):
            raise ModelError(f"key {key!r} has the wrong type")
    if not isinstance(document.get("id"), str):
        raise ModelError("key 'id' is missing")


def _check_format(number: Any) -> None:
    if type(number) is not int:
        raise ModelError("key 'format' is no whole number: this is no snapshot")
    if number > FORMAT:
        raise NewerFormat(f"its format is {number}, newer than {FORMAT}, the newest this version reads: upgrade driftwatch")
    if number < 1:
        raise ModelError(f"its format is {number}: there is none below 1")


def _build(document: dict[str, Any]) -> Snapshot:
    try:
        probes = {name: _probe(name, entry) for name, entry in document["probes"].items()}
        symptom = document["symptom"]
        return Snapshot(
            host=document["host"], taken_at=document["taken_at"], source=document["source"], agent=document["agent"],
            targets=tuple(document["targets"]), probes=probes, volatile=tuple(map(str, document["volatile"])), facts=document["facts"],
            redaction=document["redaction"], symptom=None if symptom is None else Symptom(symptom.get("class"), symptom.get("signature"), symptom.get("log")),
            extra={key: value for key, value in document.items() if key not in _SHAPES and key not in ("format", "id")},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise ModelError(f"an entry has the wrong shape: {wrong}") from wrong


def _probe(name: str, entry: Any) -> ProbeResult:
    if not isinstance(entry, dict) or entry.get("status") not in STATUSES:
        raise ModelError(f"probes/{name} has no known status")
    return ProbeResult(
        status=entry["status"], elapsed_s=float(entry.get("elapsed_s", 0.0)), deadline_s=entry.get("deadline_s"),
        reason=str(entry.get("reason", "")), tells=tuple(map(str, entry.get("tells", ()))), tools=tuple(map(str, entry.get("tools", ()))),
        left_behind=tuple(entry.get("left_behind", ())), notes=tuple(map(str, entry.get("notes", ()))),
    )
