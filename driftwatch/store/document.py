"""One snapshot file: bytes to Snapshot and back. Reads only regular files of bounded size, and never writes."""

from __future__ import annotations

import difflib
import json
import os
import stat
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path
from typing import Any

from driftwatch.model import ModelError, NewerFormat, Snapshot, from_document, to_document
from driftwatch.store.errors import StoreError
from driftwatch.store.strict_json import JsonRefused, parse_json

LARGEST_FILE = 32 << 20
CHUNK = 1 << 20
ADVICE = "name a file that `driftwatch snapshot --out FILE` wrote and nobody changed"
LINES_OF = ("facts", "probes")


def load(path: str | Path, *, follow: bool = True) -> Snapshot:
    """Return the snapshot that a file holds. Raises StoreError that names the file and says why it is refused."""
    return parse(read_bounded(path, LARGEST_FILE, follow=follow), str(path))


def parse(data: bytes, name: str) -> Snapshot:
    """Return the snapshot that these bytes hold; ``name`` is how the error calls them."""
    try:
        return from_document(parse_json(data))
    except NewerFormat as newer:
        raise StoreError(f"{_short(name)} is no snapshot that this version reads: {newer}", name, "pip install --upgrade driftwatch-gpu") from None
    except (JsonRefused, ModelError) as wrong:
        raise StoreError(f"{_short(name)} is no snapshot: {wrong}", name, ADVICE) from None


def read_bounded(path: str | Path, limit: int, *, advice: str = ADVICE, follow: bool = True) -> bytes:
    """Return all bytes of a regular file. Anything else (folder, FIFO, device), a missing file, or more than ``limit`` bytes raises StoreError at once."""
    try:
        _admit(Path(path).stat(follow_symlinks=follow), limit)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            _admit(os.fstat(descriptor), limit)
            return read_stream(file, limit)
    except FileNotFoundError as missing:
        raise StoreError(f"{_short(path)} {_reason(missing)}", str(path), _near(Path(path))) from None
    except (OSError, ValueError) as failed:
        raise StoreError(f"{_short(path)} {_reason(failed)}", str(path), advice) from None


def _near(path: Path) -> str:
    """Return the file beside a missing one that may have been meant, as advice."""
    try:
        near = difflib.get_close_matches(path.name, [one.name for one in path.parent.iterdir()], 1)
    except OSError:
        return "check its path: the folder is not there either"
    return f"did you mean {path.with_name(near[0])}?" if near else "check its path"


def read_stream(file: Any, limit: int) -> bytes:
    """Return all bytes of an open file. Raises ValueError as soon as there are more than ``limit``."""
    pieces, size = [], 0
    while piece := file.read(CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise ValueError(f"is too large: more than {limit:,} bytes")
    return b"".join(pieces)


def _admit(found: os.stat_result, limit: int) -> None:
    """Raise ValueError for what is no regular file or too large."""
    if stat.S_ISDIR(found.st_mode):
        raise ValueError("is a folder, not a file")
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("is not a regular file")
    if found.st_size > limit:
        raise ValueError(f"is too large: {found.st_size:,} bytes, and at most {limit:,} are read")


def _short(path: str | Path) -> str:
    return Path(path).name or str(path)


def _reason(failed: OSError | ValueError) -> str:
    """Return what is wrong without the path: the message names it already."""
    if isinstance(failed, OSError):
        return f"cannot be read: {(failed.strerror or str(failed)).lower()}"
    return str(failed) if "null" not in str(failed) else "cannot be read: the name holds a zero byte"


def to_bytes(snapshot: Snapshot) -> bytes:
    """Return the snapshot file: JSON in ASCII, keys sorted, each fact and each probe on a line of its own, so that it can be searched by line."""
    document = {**to_document(snapshot), "id": snapshot.id}
    encode = json.JSONEncoder(sort_keys=True, allow_nan=False).encode
    entries = []
    for key, value in sorted(document.items()):
        is_listed = key in LINES_OF and value
        told = [f" {quoted(name)}: {quoted(one) if type(one) is str else encode(one)}" for name, one in sorted(value.items())] if is_listed else []
        lines = ",\n".join(told)
        entries.append(f"{encode(key)}: " + (f"{{\n{lines}\n}}" if is_listed else encode(value)))
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode("ascii")
