"""The digests of a host's source files as its last snapshots told them, ROOT/hosts/HOST/state/sources.json.gz: what a next one need not read again.

They only ever save time: whoever removes the file loses nothing, and one that is damaged or another host's is refused as a whole.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from driftwatch.model import Snapshot
from driftwatch.store import document, durable
from driftwatch.store.errors import NOT_STORED, StoreError
from driftwatch.store.files import FileStore, readable
from driftwatch.store.strict_json import parse_own

FOLDER = "state"
FILE = "sources.json.gz"
FORMAT = 1
LARGEST_FILE = 32 << 20
LARGEST_TEXT = 256 << 20
MOST_TREES = 4
LEVEL = 3  # of gzip: 6 takes twice as long for two percent
GZIP = 31
KEY_LENGTH = 5
Tree = Mapping[str, Any]
_DIGEST = re.compile(r"sha256:([0-9a-f]{64}) (\d{1,20})\Z", re.ASCII)


def load_known(store: FileStore, host: str) -> Mapping[str, Tree]:
    """Return what is kept of a host: {root: {path below it as in the facts: [size, mtime_ns, ctime_ns, inode, sha256]}}, nothing where there is no file.

    Raises StoreError where it cannot be trusted.
    """
    folder = store.folder(host) / FOLDER
    with readable(folder):
        if not (folder / FILE).exists():
            return {}
    store.admit(folder.parent)
    store.admit(folder)
    data = document.read_bounded(folder / FILE, LARGEST_FILE, follow=False, advice="remove it")
    try:
        return _parse(data, host)
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error, RecursionError) as wrong:
        raise StoreError(f"{FILE} is damaged: {wrong}", str(folder / FILE), "remove it") from None


def save_known(store: FileStore, snapshot: Snapshot) -> None:
    """Keep what a snapshot told of source files for the next one; nothing is written where nothing changed. Raises StoreError where it cannot be kept."""
    host = snapshot.host or ""
    try:
        before = load_known(store, host)
    except StoreError:
        before = {}
    is_whole = "sources" in snapshot.probes and snapshot.probes["sources"].status == "ok"
    told = {root: tree if is_whole else {**before.get(root, {}), **tree} for root, tree in _told(snapshot.facts)}
    trees = dict(list({**{root: tree for root, tree in before.items() if root not in told}, **told}.items())[-MOST_TREES:])
    if list(trees.items()) != list(before.items()):
        _write(store, host, trees)


def _write(store: FileStore, host: str, trees: Mapping[str, Tree]) -> None:
    folder = store.folder(host) / FOLDER
    text = json.dumps({"format": FORMAT, "host": host, "trees": trees}, separators=(",", ":"))
    try:
        durable.make_folder(folder)
        durable.write_over(folder, FILE, gzip.compress(text.encode("ascii"), LEVEL, mtime=0))
        durable.sweep(folder)
    except OSError as failed:
        raise StoreError(f"the digests were not kept: {(failed.strerror or str(failed)).lower()}", str(folder), code=NOT_STORED) from None


def _parse(data: bytes, host: str) -> Mapping[str, Tree]:
    """Return the trees that a file's bytes hold."""
    unpacker = zlib.decompressobj(GZIP)
    text = unpacker.decompress(data, LARGEST_TEXT)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it is cut, or goes on behind its end")
    told = parse_own(text)
    if told["format"] != FORMAT or told["host"] != host:
        raise ValueError(f"it is of format {told['format']} and of host {told['host']!r}")
    trees: dict[str, Tree] = told["trees"]
    if not all(_is_entry(entry) for tree in trees.values() for entry in tree.values()):
        raise ValueError("an entry has the wrong shape")
    return trees


def _is_entry(entry: Any) -> bool:
    """Tell whether this is [size, mtime_ns, ctime_ns, inode, sha256]."""
    return isinstance(entry, list) and len(entry) == KEY_LENGTH and all(type(one) is int for one in entry[:4]) and isinstance(entry[4], str)


def _told(facts: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the root of each tree that a snapshot told, and the files in it that need not be read again."""
    trees: dict[str, dict[str, Any]] = {}
    for path, value in facts.items():
        if path.startswith("sources/") and path.count("/") == 3 and "/times/" in path and isinstance(value, list) and len(value) == 3:
            _, key, _, name = path.split("/")
            found = _DIGEST.match(str(facts.get(f"sources/{key}/files/{name}")))
            if found:
                trees.setdefault(key, {})[name] = [int(found[2]), *value, found[1]]
    yield from ((facts[f"sources/{key}/root"], tree) for key, tree in trees.items() if isinstance(facts.get(f"sources/{key}/root"), str))
