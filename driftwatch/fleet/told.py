"""What was told of a host already, so that a night tells only what is new: pure steps from one state to the next.

A difference is known by its key (fleet/seen.py), so it is told again as soon as one of its values changes. What could not be looked at tonight stays
told; what was looked at and is gone is forgotten, and so is its acknowledgement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from driftwatch.model import matches

FORMAT = 1
UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Acknowledged:
    """A difference that someone knows of: its path, when it was acknowledged (UTC) and why."""

    path: str
    at: str
    note: str = ""


@dataclass(frozen=True)
class Told:
    """What a host's last audit told, as keys by path, and what of it is acknowledged, by key."""

    keys: Mapping[str, str] = field(default_factory=dict)
    acknowledged: Mapping[str, Acknowledged] = field(default_factory=dict)

    def is_new(self, path: str, key: str) -> bool:
        """Tell whether a difference was not told in this form yet."""
        return self.keys.get(path) != key


def after(told: Told, keys: Mapping[str, str], unknown: tuple[str, ...], present: Iterable[str]) -> Told:
    """Return the state after an audit that found these differences by path.

    ``unknown`` are globs of the facts that could not be read tonight: what was told of them stays. ``present`` are the keys of all that differs,
    acknowledged or not.
    """
    kept = {path: key for path, key in told.keys.items() if path not in keys and unknown and matches(path, unknown)}
    still = set(present)
    acknowledged = {key: one for key, one in told.acknowledged.items() if key in still or (unknown and matches(one.path, unknown))}
    return Told({**kept, **keys}, acknowledged)


def acknowledge(told: Told, paths: Iterable[str], at: str, note: str = "") -> Told:
    """Return the state with these told differences acknowledged."""
    added = {told.keys[path]: Acknowledged(path, at, note) for path in paths if path in told.keys}
    return replace(told, acknowledged={**told.acknowledged, **added})


def to_document(told: Told) -> dict[str, Any]:
    """Return the state as JSON values."""
    known = {key: {"path": one.path, "at": one.at, "note": one.note} for key, one in sorted(told.acknowledged.items())}
    return {"format": FORMAT, "keys": dict(sorted(told.keys.items())), "acknowledged": known}


def from_document(document: Any) -> Told:
    """Return the state of a document. Raises ValueError for what is none of this format."""
    keys, known = (document.get("keys"), document.get("acknowledged")) if isinstance(document, dict) else (None, None)
    if not isinstance(keys, dict) or not isinstance(known, dict) or document.get("format") != FORMAT:
        raise ValueError("no state of format 1, with its objects keys and acknowledged")
    return Told(
        {str(path): str(key) for path, key in keys.items()},
        {str(key): Acknowledged(str(one["path"]), str(one["at"]), str(one.get("note", ""))) for key, one in known.items()},
    )
