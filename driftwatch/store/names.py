"""Names in the store: host names as safe folder names, snapshot file names, labels. Pure text; a name is never taken over from data unseen."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from driftwatch.model import Snapshot
from driftwatch.store.errors import StoreError

ALTERED = "~"
ID_DIGITS = 12
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?Z\Z")
_FILE = re.compile(r"(?P<host>.+)--(?P<time>\d{8}T\d{6}Z)--(?P<id>[0-9a-f]{12})(?P<partial>\.partial)?\.json\Z")
_LABEL = re.compile(r"[a-z][a-z0-9-]{0,30}\Z")
_HEX = re.compile(r"[0-9a-f]{7,}\Z")
RESERVED = ("last",)
ANOTHER = "choose another name, as in: driftwatch tag good REF"


@dataclass(frozen=True)
class FileName:
    """What the name of a snapshot file says: its folder's slug, the time as ``20260304T031200Z``, 12 digits of the id, and whether it is partial."""

    slug: str
    compact: str
    short_id: str
    is_partial: bool = False

    def __str__(self) -> str:
        return f"{self.slug}--{self.compact}--{self.short_id}{'.partial' if self.is_partial else ''}.json"

    @property
    def taken_at(self) -> str:
        """Return the time as ``2026-03-04T03:12:00Z``."""
        text = self.compact
        return f"{text[:4]}-{text[4:6]}-{text[6:8]}T{text[9:11]}:{text[11:13]}:{text[13:15]}Z"


def parse_file_name(name: str) -> FileName | None:
    """Return what a snapshot file's name says, or None for any other file."""
    found = _FILE.match(name)
    return FileName(found["host"], found["time"], found["id"], found["partial"] is not None) if found else None


def name_of(snapshot: Snapshot) -> FileName:
    """Return the file name of a snapshot. Raises StoreError for one without a time."""
    short_id = snapshot.id.partition(":")[2][:ID_DIGITS]
    return FileName(slug(snapshot.host or "unnamed"), compact_time(snapshot.taken_at), short_id, bool(snapshot.extra.get("partial")))


def slug(host: str) -> str:
    """Return the folder name of a host: its own name where that is plain, else a cleaned one, ``~`` and 8 digits of the name's digest."""
    if _PLAIN.match(host):
        return host
    digest = hashlib.sha256(host.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_UNSAFE.sub('-', host)[:40].strip('-.') or 'host'}{ALTERED}{digest[:8]}"


def compact_time(taken_at: str | None) -> str:
    """Return ``2026-03-04T03:12:00Z`` as ``20260304T031200Z``. Raises StoreError for what is no such time."""
    found = _TIME.match(taken_at or "")
    if found is None:
        raise StoreError(f"a snapshot without a UTC time cannot be stored: it says {taken_at!r}")
    return "{}{}{}T{}{}{}Z".format(*found.groups())


def check_label(name: str) -> str:
    """Return the name if it may be a label, else raise StoreError with the rule that it breaks."""
    if name in RESERVED:
        raise StoreError(f"{name!r} is reserved and cannot be a tag: it always means the newest snapshot", do=ANOTHER)
    if not _LABEL.match(name) or _HEX.match(name):
        rule = "a tag is a small letter, then at most 30 small letters, digits and dashes, and not a digest (7 or more of 0-9 a-f alone)"
        raise StoreError(f"{name!r} cannot be a tag: {rule}", do=ANOTHER)
    return name


def check_host(name: str) -> str:
    """Return the name if a host can be called so, else raise StoreError: a reference HOST@WHICH must come through a shell as one word."""
    if not name.isprintable() or set(name) & set(" @/\\'\"") or not name.strip() or name.startswith("-"):
        raise StoreError(f"{name!r} cannot be the name of a host", do="letters, digits, dots and hyphens, as in: --host gpu-a")
    return name


def is_label(word: str) -> bool:
    """Tell whether a word has the shape of a label."""
    return word not in RESERVED and _LABEL.match(word) is not None and _HEX.match(word) is None
