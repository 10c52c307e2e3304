"""A log file as a stream of bytes, unpacked where it is gzip'd. Reads only regular files, and no more than there was when it was opened."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from driftwatch.store.document import CHUNK
from driftwatch.store.errors import StoreError

ADVICE = "name the log of the broken run: a text file, or one packed with gzip"
LARGEST = 64 << 30
_GZIP = b"\x1f\x8b"


def log_chunks(path: str | Path) -> Iterator[bytes]:
    """Yield a log's bytes, at most a MiB each. Raises StoreError at once for a FIFO, a device or a folder, and for gzip that is damaged or too large."""
    try:
        _admit(Path(path).stat().st_mode)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            found = os.fstat(descriptor)
            _admit(found.st_mode)
            pieces = _read(file, found.st_size)
            first = next(pieces, b"")
            yield from _unpacked(first, pieces) if first.startswith(_GZIP) else _after(first, pieces)
    except (OSError, ValueError, zlib.error) as failed:
        raise StoreError(f"{Path(path).name or path} {_reason(failed)}", str(path), ADVICE) from None


def _admit(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise ValueError("is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise ValueError("is not a regular file")


def _read(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (piece := file.read(min(CHUNK, size))):
        size -= len(piece)
        yield piece


def _after(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from pieces


def _unpacked(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what gzip holds, all of its members. A file that ends in the middle of one gives what there is."""
    stream = zlib.decompressobj(wbits=31)
    told = 0
    for piece in _after(first, pieces):
        packed = piece
        while packed:
            plain = stream.decompress(packed, CHUNK)
            told += len(plain)
            if told > LARGEST:
                raise ValueError(f"is too large: unpacked it has more than {LARGEST:,} bytes")
            yield plain
            packed = stream.unconsumed_tail
            if stream.eof:
                packed = stream.unused_data.lstrip(b"\0")
                stream = zlib.decompressobj(wbits=31)
    yield stream.flush()


def _reason(failed: Exception) -> str:
    if isinstance(failed, OSError):
        return f"cannot be read: {(failed.strerror or str(failed)).lower()}"
    if isinstance(failed, zlib.error):
        return f"cannot be unpacked: {failed}"
    return str(failed) if "null" not in str(failed) else "cannot be read: the name holds a zero byte"
