"""The lists of an object store: bases and their pieces, written once under their SHA-256 and checked against it whenever they are read.

The base that this machine last used for a host is kept in a local folder: writing the next snapshot then reads nothing but names. It may be removed.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from driftwatch.model import canonical
from driftwatch.store import document, durable, pieces
from driftwatch.store.bounded import all_of
from driftwatch.store.bucket import AT_ONCE, Bucket
from driftwatch.store.errors import StoreError
from driftwatch.store.files import FileStore
from driftwatch.store.names import slug
from driftwatch.store.object_names import list_key
from driftwatch.store.pieces import Flat
from driftwatch.store.rendering import Rendering
from driftwatch.store.strict_json import JsonRefused, parse_json, parse_own

MOST_PIECES = 4096
MOST_BASES = 8
MOST_RENDERINGS = 3
FOLDER = "bases"
LARGEST_BASE = 32 << 20
Kept = OrderedDict[str, Any]


@dataclass(frozen=True)
class Ages:
    """From which age on a writer writes a list again that it needs, and gc takes one that nobody does: between them a writer has days."""

    refreshed_s: float = 3 * 86_400.0
    taken_s: float = 7 * 86_400.0


class Bases:
    """Reads and writes the lists of one bucket."""

    def __init__(self, bucket: Bucket, local: FileStore, ages: Ages) -> None:
        self.bucket = bucket
        self.ages = ages
        self.local = local
        self._pieces: Kept = OrderedDict()
        self._bases: Kept = OrderedDict()
        self._renderings: Kept = OrderedDict()
        self._fresh: dict[str, float] = {}

    def load(self, stem: str) -> Flat:
        """Return the flat entries of a base. Raises StoreError where one of its lists is missing or does not match its digest."""
        if stem in self._bases:
            self._bases.move_to_end(stem)
            return dict(self._bases[stem])
        base: dict[str, Any] = {}
        for piece in self._load_pieces(self.piece_digests(stem)):
            base.update(piece)
        _keep(self._bases, stem, base, MOST_BASES)
        return base

    def rendering(self, stem: str) -> Rendering:
        """Return a base ready for many snapshots, that of nothing for "". Raises StoreError as :meth:`load` does."""
        if stem not in self._renderings:
            _keep(self._renderings, stem, Rendering(self.load(stem) if stem else {}), MOST_RENDERINGS)
        self._renderings.move_to_end(stem)
        found: Rendering = self._renderings[stem]
        return found

    def piece_digests(self, stem: str) -> list[str]:
        """Return the digests of a base's pieces."""
        told = self._parse(stem, self.bucket.read(list_key(stem)))
        digests = told.get("pieces")
        if not isinstance(digests, list) or not all(isinstance(one, str) and len(one) == 64 for one in digests):
            raise self._wrong(stem, "is no base")
        return digests

    def _load_pieces(self, digests: list[str]) -> list[Mapping[str, Any]]:
        missing = [one for one in dict.fromkeys(digests) if one not in self._pieces]
        for digest, data in zip(missing, self.bucket.read_many([list_key(one) for one in missing]), strict=True):
            _keep(self._pieces, digest, self._parse(digest, data), max(MOST_PIECES, len(digests)))
        return [self._pieces[one] for one in digests]

    def _parse(self, digest: str, data: bytes | None) -> dict[str, Any]:
        """Return the object that a list's bytes hold, once they are the ones that its digest names."""
        if data is None:
            raise self._wrong(digest, "is missing")
        try:
            plain = pieces.unpack(data)
            if pieces.digest(plain) != digest:
                raise self._wrong(digest, "does not match: it was changed after it was written")
            told = parse_json(plain)
        except (ValueError, JsonRefused) as wrong:
            raise self._wrong(digest, f"does not match: {wrong}") from None
        if not isinstance(told, dict):
            raise self._wrong(digest, "is no object")
        return told

    def _wrong(self, digest: str, what: str) -> StoreError:
        return StoreError(f"list {digest[:12]} {what}", f"{self.bucket.place}/{list_key(digest)}", "restore it from a backup, or from another store")

    def create(self, flat: Flat) -> str:
        """Write a document as a base, pieces first, and return its digest. What is there already is not written again, but kept from gc by a new date."""
        cut = {pieces.digest(one): one for one in pieces.cut(flat)}
        plain = canonical({"pieces": list(cut)})
        stem = pieces.digest(plain)
        if not self._is_fresh(stem):
            all_of(lambda one: self._write(*one), list(cut.items()), AT_ONCE)
            self._write(stem, plain)
            self._fresh[stem] = time.monotonic()
        _keep(self._bases, stem, {name: value for name, value in flat.items() if name not in pieces.OWN}, MOST_BASES)
        return stem

    def _is_fresh(self, digest: str) -> bool:
        return time.monotonic() - self._fresh.get(digest, -float("inf")) < self.ages.refreshed_s

    def _write(self, digest: str, plain: bytes) -> None:
        """Write a list; one that is there and old is written over with the same bytes, so that it is young again."""
        if self._is_fresh(digest):
            return
        key = list_key(digest)
        if not self.bucket.write_new(key, data := pieces.pack(plain)):
            written_s = self.bucket.written_s(key)
            if written_s is None or time.time() - written_s > self.ages.refreshed_s:
                self.bucket.write_over(key, data)
        self._fresh[digest] = time.monotonic()

    def recall(self, host: str, digits: str) -> tuple[str, Flat] | None:
        """Return the digest and the entries of the base that was last used for a host here, if its digest begins with these digits."""
        path = self.local.root / FOLDER / f"{slug(host)}.json.gz"
        try:
            self.local.admit(path.parent)
            told = parse_own(pieces.unpack(document.read_bounded(path, LARGEST_BASE, follow=False)))
            stem, base = told["stem"], told["base"]
        except (StoreError, ValueError, KeyError, TypeError):
            return None
        return (stem, base) if isinstance(stem, str) and isinstance(base, dict) and stem.startswith(digits) else None

    def remember(self, host: str, stem: str, base: Flat) -> None:
        """Keep the base of a host here for the next snapshot. Where that fails, the next one reads it from the store."""
        folder = self.local.root / FOLDER
        try:
            durable.make_folder(folder)
            self.local.admit(folder)
            durable.write_over(folder, f"{slug(host)}.json.gz", pieces.pack(canonical({"stem": stem, "base": dict(base)})))
            durable.sweep(folder)
        except (OSError, StoreError):
            return


def _keep(kept: Kept, name: str, value: Any, most: int) -> None:
    """Keep a value under a name, and forget the oldest where there are too many."""
    kept[name] = value
    while len(kept) > most:
        kept.popitem(last=False)
