"""A stored snapshot as the lines of its facts, for whoever reads a thousand of them: equal facts are equal bytes, and nothing is built of them.

The file is checked as ever, by its id: the canonical form is put together from the lines themselves. A file of another layout is read the long way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from driftwatch.model import ModelError, Snapshot, digest_around, from_checked
from driftwatch.store import document

_BEGIN, _END, _BETWEEN = b'\n"facts": {\n', b"\n},\n", b",\n"


@dataclass(frozen=True)
class FactLines:
    """A snapshot without its facts (its id is that of the whole file), and the facts as lines ``"PATH": VALUE`` with one blank before them."""

    snapshot: Snapshot
    id: str
    lines: tuple[bytes, ...]


class LineReader:
    """Reads snapshot files as lines. It remembers the canonical form of the lines that it was told to keep, which most files share."""

    def __init__(self) -> None:
        self._canonical: dict[bytes, bytes] = {}

    def keep(self, lines: Iterable[bytes]) -> None:
        """Remember lines that other files are likely to hold too."""
        self._canonical.update((line, _canonical_line(line)) for line in lines)

    def read(self, data: bytes, name: str) -> FactLines:
        """Return the bytes of a snapshot file as lines; ``name`` is how an error calls it. Raises StoreError as :func:`driftwatch.store.document.parse`."""
        return self._parsed(data) or lines_of(document.parse(data, name))

    @staticmethod
    def again(data: bytes, name: str) -> tuple[bytes, ...]:
        """Return the lines of bytes that :meth:`read` has checked before, without checking them again."""
        found = _split(data)
        return found[1] if found is not None else lines_of(document.parse(data, name)).lines

    def _parsed(self, data: bytes) -> FactLines | None:
        """Return the lines of a file of our own layout whose id is right, else None."""
        found = _split(data)
        if found is None:
            return None
        rest, lines = found
        try:
            head = json.loads(rest)
            told = head.pop("id", None)
            if told != self._digest(head, lines):
                return None
            return FactLines(from_checked({**head, "id": told}), told, lines)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError, ModelError):
            return None

    def _digest(self, head: Mapping[str, Any], lines: Iterable[bytes]) -> str:
        known = self._canonical
        return digest_around(head, b",".join([known.get(line) or _canonical_line(line) for line in lines]))


def _split(data: bytes) -> tuple[bytes, tuple[bytes, ...]] | None:
    """Return the file without its facts, and their lines; None where the layout is another."""
    begin = data.find(_BEGIN)
    end = data.find(_END, begin)
    if begin < 0 or end < 0 or not data.startswith(b'{\n"agent"'):
        return None
    first = begin + len(_BEGIN)
    return data[:first] + data[end:], tuple(data[first:end].split(_BETWEEN))


def _canonical_line(line: bytes) -> bytes:
    """Return a fact as it stands in the canonical form: no blanks between its parts."""
    path, _, value = line[1:].partition(b'": ')
    if value[:1] in b"{[":
        value = json.dumps(json.loads(value), sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()
    return path + b'":' + value


def lines_of(snapshot: Snapshot) -> FactLines:
    """Return a snapshot that was read the long way as lines."""
    found = _split(document.to_bytes(snapshot))
    return FactLines(replace(snapshot, facts={}), snapshot.id, () if found is None else found[1])
