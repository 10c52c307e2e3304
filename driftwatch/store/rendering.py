"""A base's facts as they stand in a document's canonical form, so that the id of a document that has few others is put together, not written anew. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from driftwatch.model import ModelError, digest_around, from_checked
from driftwatch.store import pieces
from driftwatch.store.pieces import Flat, Patch
from driftwatch.store.slim import Slim

FACTS = "facts/"
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


class Rendering:
    """One base, ready for the many snapshots that are told against it."""

    def __init__(self, base: Flat) -> None:
        self._facts, self._rest = _parted(base)
        self._lines = {path: _line(path, value) for path, value in self._facts.items()}
        self._order = sorted(self._lines)

    def slim(self, patch: Patch) -> Slim:
        """Return the snapshot that a patch makes of the base. Raises ModelError, KeyError, TypeError or ValueError where its content is not that of its id."""
        changed, rest = _parted(patch.entries)
        gone = tuple(name[len(FACTS) :] for name in patch.gone if name.startswith(FACTS))
        document = pieces.unflatten(pieces.apply(self._rest, Patch(rest, patch.gone)))
        told = document.pop("id", None)
        found = digest_around({key: value for key, value in document.items() if key != "facts"}, self._canonical(changed, gone))
        if told != found:
            raise ModelError(f"its content gives the id {found[:19]}…, but it says {str(told)[:19]}…: it was changed after it was written")
        return Slim(from_checked({**document, "id": told}), self._facts, changed, gone)

    def _canonical(self, changed: Mapping[str, Any], gone: Iterable[str]) -> bytes:
        """Return all facts in canonical form, without the braces around them."""
        lines = {**self._lines, **{path: _line(path, value) for path, value in changed.items()}}
        for path in gone:
            lines.pop(path, None)
        order = self._order if len(lines) == len(self._order) and lines.keys() == self._lines.keys() else sorted(lines)
        return ",".join([lines[path] for path in order]).encode("ascii")


def _parted(flat: Flat) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts of flat entries by their paths, and the other entries."""
    facts = {name[len(FACTS) :]: value for name, value in flat.items() if name.startswith(FACTS)}
    return facts, {name: value for name, value in flat.items() if not name.startswith(FACTS)}


def _line(path: str, value: Any) -> str:
    return f"{_encode(path)}:{_encode(value)}"
