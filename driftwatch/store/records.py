"""The small records beside snapshots, as bytes and back: labels with their history, and what gc took away. Pure; what cannot be understood is a ValueError."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from driftwatch.store.strict_json import parse_own

SIGNATURE = ".sig"
LARGEST_LABEL = 1 << 16
LARGEST_REMOVAL = 32 << 20
LARGEST_SIGNATURE = 1 << 16


@dataclass(frozen=True)
class Label:
    """A label of a host: the file it points at ("" where it was taken away), that snapshot's id digits, when (UTC), a note, and who set it."""

    name: str
    file: str
    id: str
    set_at: str
    note: str = ""
    by: str = ""


@dataclass(frozen=True)
class Removal:
    """What one run of gc takes away of a host: short ids, each with its predecessor's ("" for none), when (UTC), by whom, by which rules."""

    removed: Mapping[str, str]
    at: str
    by: str = ""
    rules: str = ""


@dataclass(frozen=True)
class Swept:
    """Lists that no snapshot needs: how many, their bytes, how many more are too young to go, how many stay in use, and how many of these are not there."""

    count: int = 0
    size_bytes: int = 0
    young: int = 0
    used: int = 0
    keys: tuple[str, ...] = field(default=(), repr=False)


def to_bytes(record: Label | Removal) -> bytes:
    """Return a record as one line of JSON in ASCII."""
    return (json.dumps(asdict(record), sort_keys=True) + "\n").encode("ascii")


def parse_label(data: bytes) -> Label:
    """Return the label that these bytes hold; those of older versions tell no ``by``."""
    told = _object(data)
    return Label(**{key: str(told[key]) for key in ("name", "file", "id", "set_at", "note")}, by=str(told.get("by", "")))


def parse_removal(data: bytes) -> Removal:
    """Return the removal that these bytes hold."""
    told = _object(data)
    removed = told["removed"]
    if not isinstance(removed, dict):
        raise TypeError("'removed' is no object")
    return Removal({str(key): str(value) for key, value in removed.items()}, str(told["at"]), str(told.get("by", "")), str(told.get("rules", "")))


def _object(data: bytes) -> dict[str, Any]:
    told = parse_own(data)
    if not isinstance(told, dict):
        raise TypeError("it is no object")
    return told
