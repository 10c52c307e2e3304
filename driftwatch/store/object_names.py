"""Keys of an object store. A snapshot's key tells its host, day, second, id, predecessor and base, so that listings answer most questions. Pure text.

ROOT/hosts/HOST/DAY/TIME--ID--PREVIOUS--BASE.json.gz · ROOT/hosts/HOST/labels/NAME/TIME--… · ROOT/hosts/HOST/removed/TIME--… · ROOT/lists/AB/SHA256.json.gz
"""

from __future__ import annotations

import re
from pathlib import Path

from driftwatch.store.files import Entry
from driftwatch.store.names import ID_DIGITS, FileName, slug

HOSTS = "hosts"
LISTS = "lists"
LABELS = "labels"
REMOVED = "removed"
NAME = "name.json"
KEY = "key"
NONE = "none"
_SNAPSHOT = re.compile(
    r"(?P<time>\d{8}T\d{6}Z)--(?P<id>[0-9a-f]{64})--(?P<previous>[0-9a-f]{12}|none)--(?P<stem>[0-9a-f]{12}|none)(?P<partial>\.partial)?\.json\.gz\Z"
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d\Z")


def host_key(host: str) -> str:
    """Return the prefix of all that is a host's."""
    return f"{HOSTS}/{slug(host)}"


def day_of(compact: str) -> str:
    """Return the day folder of a compact time."""
    return f"{compact[:4]}-{compact[4:6]}-{compact[6:8]}"


def is_day(name: str) -> bool:
    """Tell whether a folder is a day's."""
    return _DAY.match(name) is not None


def snapshot_key(name: FileName, full_id: str, previous: str, stem: str) -> str:
    """Return the key of a snapshot; ``previous`` and ``stem`` are ids in hex, "" where there is none."""
    digits = [one[:ID_DIGITS] or NONE for one in (previous, stem)]
    partial = ".partial" if name.is_partial else ""
    return f"{HOSTS}/{name.slug}/{day_of(name.compact)}/{name.compact}--{full_id}--{digits[0]}--{digits[1]}{partial}.json.gz"


def parse_snapshot_key(host: str, key: str) -> Entry | None:
    """Return the entry that a snapshot's key tells, or None for any other key."""
    found = _SNAPSHOT.match(key.rpartition("/")[2])
    if found is None:
        return None
    name = FileName(slug(host), found["time"], found["id"][:ID_DIGITS], found["partial"] is not None)
    previous, stem = ("" if found[part] == NONE else found[part] for part in ("previous", "stem"))
    place = Path(f"{host_key(host)}/{day_of(name.compact)}/{key.rpartition('/')[2]}")
    return Entry(host, name, place, id=f"sha256:{found['id']}", previous=previous, stem=stem)


def list_key(digest: str) -> str:
    """Return the key of a list: a base or a piece of one."""
    return f"{LISTS}/{digest[:2]}/{digest}.json.gz"


def digest_of(key: str) -> str:
    """Return the digest that a list's key tells."""
    return key.rpartition("/")[2].partition(".")[0]
