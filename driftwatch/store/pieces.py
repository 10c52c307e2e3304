"""A snapshot's document as parts that many snapshots can share: a base cut into pieces, each named by its SHA-256, and what one snapshot has else. Pure.

Flat, a document is ``{"facts/PATH": value, "probes/NAME": …, "elapsed/NAME": seconds, "top/KEY": …}``. A base is cut where the hash of an entry's
name says so, never by position, so that a changed or added entry alters one piece and leaves the others as they are. What changes by itself stands
in pieces of its own: it would make each host's others unlike.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from driftwatch.model import canonical, matches

SMALL_BYTES = 64 << 10
PIECE_BYTES = 16 << 10
LARGEST_PIECE = 1 << 20
LARGEST_PLAIN = 64 << 20
MOST_MOVED_BYTES = 512
MOST_PATCH_BYTES = 16 << 10
OWN = ("top/id", "top/host", "top/taken_at", "top/previous")
LEVEL = 6
_FLAT = frozenset({str, int, bool, type(None)})
Flat = Mapping[str, Any]


@dataclass(frozen=True)
class Patch:
    """What a document has else than a base: entries that are new or differ, and names that the document does not have."""

    entries: Flat
    gone: tuple[str, ...] = ()


def flatten(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a snapshot's document as flat entries."""
    flat = {f"facts/{path}": value for path, value in document["facts"].items()}
    for name, probe in document["probes"].items():
        flat[f"probes/{name}"] = {key: value for key, value in probe.items() if key != "elapsed_s"}
        if "elapsed_s" in probe:
            flat[f"elapsed/{name}"] = probe["elapsed_s"]
    flat.update({f"top/{key}": value for key, value in document.items() if key not in ("facts", "probes")})
    return flat


def unflatten(flat: Flat) -> dict[str, Any]:
    """Return the document of flat entries."""
    document: dict[str, Any] = {"facts": {}, "probes": {}}
    elapsed = {}
    for name, value in flat.items():
        section, _, key = name.partition("/")
        if section == "elapsed":
            elapsed[key] = value
        elif section == "top":
            document[key] = value
        else:
            document[section][key] = value
    for key, seconds in elapsed.items():
        document["probes"][key] = {**document["probes"][key], "elapsed_s": seconds}
    return document


def is_small(flat: Flat) -> bool:
    """Tell whether a document is too small to be cut."""
    size = 0
    for name, value in flat.items():
        size += _size(name, value)
        if size > SMALL_BYTES:
            return False
    return True


def cut(flat: Flat) -> list[bytes]:
    """Return the pieces of a base as canonical JSON, in an order that does not matter. What belongs to one snapshot alone is left out."""
    moving = moves(flat)
    names = sorted(set(flat).difference(OWN))
    steady = [name for name in names if name not in moving]
    return [*_cut(flat, steady), *_cut(flat, [name for name in names if name in moving])]


def moves(flat: Flat) -> set[str]:
    """Return the names of the entries that change by themselves: volatile facts, and how long probes took."""
    globs = tuple(flat.get("top/volatile", ()))
    return {name for name in flat if name.startswith("elapsed/") or (globs and name.startswith("facts/") and matches(name[6:], globs))}


def _cut(flat: Flat, names: Iterable[str]) -> Iterator[bytes]:
    piece: dict[str, Any] = {}
    size = 0
    for name in names:
        piece[name] = flat[name]
        length = _size(name, flat[name])
        size += length
        if zlib.crc32(name.encode("utf-8", "surrogatepass")) < (length << 32) // PIECE_BYTES or size > LARGEST_PIECE:
            yield canonical(piece)
            piece, size = {}, 0
    if piece:
        yield canonical(piece)


def _size(name: str, value: Any) -> int:
    """Return about how many bytes an entry takes."""
    return len(name) + (len(value) if isinstance(value, str) else 8 if isinstance(value, (int, float)) or value is None else len(str(value))) + 6


def diff(base: Flat, flat: Flat) -> Patch:
    """Return what a document has else than a base. Equal values of unlike types (1, 1.0, true) are told apart."""
    missing, get = object(), base.get
    entries = {
        name: value for name, value in flat.items()
        if (kept := get(name, missing)) is not value and not (kept.__class__ is str is value.__class__ and kept == value) and not _is_same(kept, value)
    }
    return Patch(entries, tuple(sorted(name for name in base if name not in flat)))


def _is_same(one: Any, other: Any) -> bool:
    if one != other or type(one) is not type(other):
        return False
    if isinstance(one, list) and _FLAT.issuperset(kinds := [*map(type, one)]):
        return kinds == [*map(type, other)]
    return isinstance(one, (str, int)) or repr(one) == repr(other) or canonical({"": one}) == canonical({"": other})


def apply(base: Flat, patch: Patch) -> dict[str, Any]:
    """Return the flat entries that a patch makes of a base."""
    gone = set(patch.gone)
    return {**{name: value for name, value in base.items() if name not in gone}, **patch.entries}


def is_outgrown(patch: Patch, flat: Flat) -> bool:
    """Tell whether a new base is worth more than so large a patch, which every snapshot after it would carry again."""
    names = [*(name for name in patch.entries if name not in OWN), *patch.gone]
    sizes = {name: _size(name, patch.entries.get(name)) for name in names}
    if sum(sizes.values()) > MOST_PATCH_BYTES:
        return True
    moving = moves({**{name: patch.entries.get(name) for name in names}, "top/volatile": flat.get("top/volatile", ())})
    return sum(size for name, size in sizes.items() if name not in moving) > MOST_MOVED_BYTES


def digest(data: bytes) -> str:
    """Return the SHA-256 of plain bytes in hex."""
    return hashlib.sha256(data).hexdigest()


def pack(data: bytes) -> bytes:
    """Return bytes gzipped, the same bytes for the same plain ones."""
    return gzip.compress(data, LEVEL, mtime=0)


def unpack(data: bytes, limit: int = LARGEST_PLAIN) -> bytes:
    """Return what gzip holds. Raises ValueError for what is damaged, goes on behind its end, or is larger than ``limit``."""
    unpacker = zlib.decompressobj(31)
    try:
        plain = unpacker.decompress(data, limit)
    except zlib.error as wrong:
        raise ValueError(f"it is damaged: {wrong}") from None
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it is cut, too large, or goes on behind its end")
    return plain
