"""What a REF names: HOST@which in the store, a snapshot file, a recorded host, or standard input. Reads names only, and says what it cannot find."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Literal

from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry
from driftwatch.store.labels import label_names, load_label
from driftwatch.store.names import ID_DIGITS, is_label, parse_file_name
from driftwatch.store.seam import Store

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".zip")
FILE_ENDINGS = (".json", ".txt", ".log", ".md", ".csv", ".xml", *ARCHIVES)
_LAST = re.compile(r"last(?:~(\d{1,6}))?\Z")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z?)?\Z")
FORMS = "HOST@last, HOST@last~1, HOST@TAG, HOST@2026-03-04, HOST@2026-03-04T03:12Z, or HOST@ and 7 or more digits of an id"
_HEX = re.compile(r"[0-9a-f]{7,64}\Z")


@dataclass(frozen=True)
class Reference:
    """What a REF turned out to name. ``recorded`` is a recorded host at ``path``, which has to be captured before it can be read.

    ``passed`` counts the newer snapshots that HOST@last passes over: partial ones, in which not every probe was asked or none answered.
    """

    text: str
    kind: Literal["stored", "file", "recorded", "stdin"]
    path: Path | None = None
    entry: Entry | None = None
    passed: int = 0


def resolve(text: str, store: Store) -> Reference:
    """Return what a REF names. Raises StoreError that says what is missing, where it was looked for, and what to do."""
    if text == "-":
        return Reference(text, "stdin")
    if is_path(text):
        return Reference(text, "recorded" if is_recorded(text) else "file", Path(text))
    host, at, which = text.rpartition("@")
    if not at or not host or not which:
        raise _no_reference(text, store)
    entry, passed = _nth_last(store, host, 0) if which == "last" else (find(store, host, which), 0)
    return Reference(text, "stored", entry.path, entry, passed)


def is_path(text: str) -> bool:
    """Tell whether a REF is a path: it holds a slash or has the ending of a snapshot, dump or archive."""
    return "/" in text or text.endswith(FILE_ENDINGS)


def is_recorded(text: str) -> bool:
    """Tell whether a path is a recorded host: a folder with host.json, an archive, or a folder named behind an archive."""
    path = Path(text)
    try:
        if path.is_dir():
            return (path / "host.json").exists()
        return any(str(one).endswith(ARCHIVES) and one.is_file() for one in (path, *path.parents))
    except (OSError, ValueError):
        return False


def find(store: Store, host: str, which: str) -> Entry:
    """Return the stored snapshot of a host that ``which`` means: a label, last, last~N, a UTC date or minute, or 7 or more digits of an id.

    No more names are listed than that takes: of a host with years of snapshots, its last is found in the newest day's.
    """
    if found := _LAST.match(which):
        return _nth_last(store, host, int(found[1] or 0))[0]
    if _DATE.match(which):
        return _not_after(store, host, which)
    if is_label(which):
        return _labelled(store, host, which)
    entries = store.entries(host)
    if not entries:
        raise unknown_host(store, host, which)
    if _HEX.match(which):
        return _by_digits(store, host, entries, which)
    if "." in which or which in store.hosts():
        raise _ssh_login(host, which)
    raise StoreError(f"{host}@{which} names nothing", _where(store, host, entries), f"a REF is {FORMS}; driftwatch list {host}")


def _nth_last(store: Store, host: str, back: int) -> tuple[Entry, int]:
    """Return the newest whole snapshot, or one so many before it, and how many partial ones are newer."""
    left = back
    for place, entry in enumerate(store.newest_first(host)):
        if not entry.name.is_partial and left == 0:
            return entry, place - back
        left -= not entry.name.is_partial
    entries = _some(store, host, "last")
    count = sum(not entry.name.is_partial for entry in entries)
    said = f"{host} has {counted(count, 'whole snapshot')}, so there is no last~{back}" if count else f"{host} has no whole snapshot, only partial ones"
    raise StoreError(said, _where(store, host, entries), f"driftwatch list {host}")


def _not_after(store: Store, host: str, which: str) -> Entry:
    """Return the newest whole snapshot that is not after the end of the day, minute or second told."""
    try:
        datetime.fromisoformat(which.rstrip("Z"))
    except ValueError:
        raise StoreError(f"{host}@{which} names no day or time that there is", do="days are written 2026-03-04, minutes 2026-03-04T03:12Z") from None
    end = which.rstrip("Z").replace("-", "").replace(":", "") + "~"
    for entry in store.newest_first(host, end):
        if not entry.name.is_partial:
            return entry
    entries = _some(store, host, which)
    said = f"no snapshot of {host} is as old as {which}; the oldest is of {entries[0].name.taken_at}"
    raise StoreError(said, _where(store, host, entries), f"driftwatch list {host}")


def _some(store: Store, host: str, which: str) -> tuple[Entry, ...]:
    """Return all snapshots of a host, at least one, for an error. Raises StoreError where there is none."""
    entries = store.entries(host)
    if not entries:
        raise unknown_host(store, host, which)
    return entries


def _labelled(store: Store, host: str, which: str) -> Entry:
    names = label_names(store, host)
    if which not in names:
        entries = _some(store, host, which)
        if which in store.hosts():
            raise _ssh_login(host, which)
        near = difflib.get_close_matches(which, names, 1)
        first = f"did you mean {host}@{near[0]}?" if near else f"driftwatch tag {which} {host}@{entries[-1].name.taken_at[:10]}"
        do = f"{first}   or   driftwatch list {host}"
        raise StoreError(f'no snapshot of {host} is tagged "{which}"', _where(store, host, entries), do)
    label = load_label(store, host, which)
    if entry := find_file(store, host, label.file):
        return entry
    place = f"{store.place_of(host)}/{label.file}"
    raise StoreError(f'the snapshot that {host} has tagged "{which}" is gone', place, f"driftwatch tag {which} REF   sets the tag anew")


def find_file(store: Store, host: str, file: str) -> Entry | None:
    """Return the stored snapshot of a host that has this file name, or None."""
    name = parse_file_name(file)
    if name is None:
        return None
    near = takewhile(lambda entry: entry.name.compact == name.compact, store.newest_first(host, name.compact + "~"))
    return next((entry for entry in near if entry.name == name), None)


def _by_digits(store: Store, host: str, entries: tuple[Entry, ...], which: str) -> Entry:
    found = [entry for entry in entries if entry.name.short_id.startswith(which[:ID_DIGITS])]
    if len(found) == 1:
        return found[0]
    said = f"{len(found)} snapshots of {host} begin with {which}" if found else f"no snapshot of {host} begins with {which}"
    raise StoreError(said, _where(store, host, entries), "give more digits" if found else f"driftwatch list {host}")


def _where(store: Store, host: str, entries: tuple[Entry, ...]) -> str:
    """Return the place and what is there, for an error."""
    tags = ", ".join(label_names(store, host)) or "none"
    return f"{store.place_of(host)} ({counted(len(entries), 'snapshot')}, tags: {tags})"


def counted(count: int, thing: str) -> str:
    """Return a count with its thing, in the plural where it has to be."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def _ssh_login(user: str, host: str) -> StoreError:
    return StoreError(f"{user}@{host} is an SSH login; did you mean {host}@last?", do="a REF is HOST@which, with the host's name first and no user")


def unknown_host(store: Store, host: str, which: str) -> StoreError:
    """Return the error for a host of which nothing is stored; a login of SSH in its place is told as such."""
    hosts = store.hosts()
    if "." in which or which in hosts:
        return _ssh_login(host, which)
    near = [os.uname().nodename] if host == "local" else difflib.get_close_matches(host, [one for one in hosts if one != host], 1)
    do = f"did you mean {near[0]}@{which}?" if near else f"{snapshot_command(host)}   or   driftwatch list"
    return StoreError(f"no snapshot of {host} is stored", f"{store.place} ({counted(len(hosts), 'host')})", do)


def snapshot_command(host: str) -> str:
    """Return the command that takes a snapshot of a host; this machine needs no name."""
    return "driftwatch snapshot" if host in ("", os.uname().nodename) else f"driftwatch snapshot {host}"


def _no_reference(text: str, store: Store) -> StoreError:
    if text in store.hosts():
        do = f"{text}@last, {text}@good, or another of: driftwatch list {text}"
        return StoreError(f"{text} is a host: say which of its snapshots", store.place_of(text), do)
    if os.path.lexists(text):
        return StoreError(f"{text} is no reference; a file or folder is named with a slash", do=f"./{text}")
    return StoreError(f"{text!r} is no reference", do=f"{FORMS}; a path with a slash, or - for standard input")
