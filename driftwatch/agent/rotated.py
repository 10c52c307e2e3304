"""A log and its rotated, perhaps compressed ancestors: their order, and their text. Touches no operating system."""
from __future__ import annotations

import zlib

from .probe import Unreadable
from .typed import Iterable, List, Regex, Tuple

MOST_BYTES = 16 << 20
_ENDING = Regex(r"(?:\.(?P<number>\d{1,4})|-(?P<date>\d{8,10}))?(?P<packed>\.(?:gz|xz|bz2|zst))?")


def newest_first(names: Iterable[str], base: str) -> List[str]:
    """Return the names of a log and of its rotated ancestors (``.1``, ``.2.gz``, ``-20240901.gz``), the newest first."""
    found: List[Tuple[Tuple[int, int], str]] = []
    for name in names:
        ending = _ENDING.fullmatch(name[len(base):]) if name.startswith(base) else None
        if ending:
            date = int((ending.group("date") or "0").ljust(10, "0"))
            found.append(((0 if name == base else 1, int(ending.group("number") or 0) - date), name))
    return [name for _, name in sorted(found)]


def unpacked(path: str, data: bytes) -> str:
    """Return the text of a log, unpacked where it is gzipped; Unreadable where it is packed otherwise, cut, damaged or too large."""
    if path.endswith((".xz", ".bz2", ".zst")):
        raise Unreadable("%s: packed in a way that is not read here" % path)
    if data[:2] == b"\x1f\x8b":
        data = _inflated(path, data)
    return data.decode("utf-8", "surrogateescape")


def _inflated(path: str, data: bytes) -> bytes:
    packed = zlib.decompressobj(47)
    try:
        text = packed.decompress(data, MOST_BYTES)
    except zlib.error as failed:
        raise Unreadable("%s: damaged: %s" % (path, failed)) from None
    if not packed.eof:
        raise Unreadable("%s: %s" % (path, "larger than %d bytes" % MOST_BYTES if packed.unconsumed_tail else "cut: its gzip stream has no end"))
    return text
