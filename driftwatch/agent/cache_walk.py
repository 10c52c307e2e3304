"""Counts what lies in one folder of a cache: files, bytes, ages, versions in folder names, and what a crash may have left half written. Changes nothing.

Looks at names and lstat, at the end of ``.json`` files and at the start of compiled objects; hashes nothing.
"""
from __future__ import annotations

from .host import Host, Stat
from .probe import Absent, Refusal
from .typed import Any, Callable, Dict, List, Optional, Regex, Set, Tuple

MOST_FILES = 20_000
MOST_READS = 4_000
MOST_NAMES = 20
DEPTH = 16
MIXED_NS = 6 * 3600 * 10**9
_OBJECT = Regex(r"\.(?:so|o|cubin|hsaco|a)\Z")
_EMPTY_ON_PURPOSE = Regex(r"(?:\.lock|/lock|\A\.?lock|\.log|/?__init__\.py|py\.typed|\.tmp|\.pid)\Z")
LOCK = "lock"  # what a builder makes and removes when it is done (torch.utils.file_baton); files called ``*.lock`` stay for ever by design
_VERSION = Regex(r"v?\d+(?:\.\d+)+[\w.+-]*\Z|(?:py|cp|cu|sm_?)\d+\w*\Z|\d{2,3}[a-z]?\Z")


class Tally:
    """What was counted so far in one cache."""

    def __init__(self) -> None:
        self.files = self.bytes = self.reads = 0
        self.oldest: Optional[int] = None
        self.newest: Optional[int] = None
        self.empty: List[str] = []
        self.damaged: List[str] = []
        self.locks: List[str] = []
        self.mixed: Dict[str, int] = {}
        self.versions: Set[str] = set()
        self.owners: Set[int] = set()
        self.unread: List[str] = []
        self.cut = ""

    def told(self, path: str) -> Dict[str, Any]:
        """Return all of it as JSON."""
        whole = sorted(one for one in self.versions if not any(other.startswith(one + "/") for other in self.versions))
        return {"path": path, "files": self.files, "bytes": self.bytes, "oldest": self.oldest, "newest": self.newest, "empty": self.empty,
                "damaged": self.damaged, "locks": self.locks, "mixed": self.mixed, "versions": whole, "unread": self.unread, "cut": self.cut,
                "owners": sorted(self.owners)}


def look(host: Host, is_late: Callable[[], bool], _base: str, wanted: List[Tuple[str, List[str], bool]], others: List[str]) -> Dict[str, Any]:
    """Return for each cache (name, paths, whether one folder is one build) what was counted, None where it is not there, or ``[status, reason]``.

    Folders of ``others`` are caches of their own and not entered from another's.
    """
    found: Dict[str, Any] = {}
    for name, paths, is_one_build in wanted:
        for path in paths:
            try:
                found[name] = count(host, is_late, path, (others, is_one_build)).told(path)
                break
            except Absent:
                found[name] = None
            except Refusal as refusal:
                found[name] = [refusal.status, str(refusal)]
                break
    return found


def count(host: Host, is_late: Callable[[], bool], top: str, how: Tuple[List[str], bool]) -> Tally:
    """Return what lies below a folder; ends early, and says so, at 20,000 files or when it is late. Raises what refuses the folder itself."""
    others, is_one_build = how
    tally = Tally()
    real = host.real(top)
    stack = [("", host.entries(real))]
    while stack:
        below, entries = stack.pop()
        _folder(host, tally, (real, below), entries)
        if is_one_build:
            _ages(tally, below, entries)
        if tally.files >= MOST_FILES or is_late():
            tally.cut = "more than %d files" % MOST_FILES if tally.files >= MOST_FILES else "no time for all of it"
            return tally
        for name, stat in reversed(entries):
            path = below + "/" + name if below else name
            if stat.kind == "dir" and real + "/" + path not in others and top + "/" + path not in others and name != "__pycache__":
                _enter(host, tally, (real, path), stack)
    return tally


def _enter(host: Host, tally: Tally, where: Tuple[str, str], stack: List[Tuple[str, Any]]) -> None:
    top, path = where
    parts = [part for part in path.split("/") if _VERSION.match(part)]
    if parts and path.count("/") < 4 and _VERSION.match(path.rpartition("/")[2]):
        tally.versions.add("/".join(parts))
    if path.count("/") >= DEPTH:
        tally.unread.append(path + ": deeper than %d folders" % DEPTH)
        return
    try:
        stack.append((path, host.entries(top + "/" + path)))
    except Absent:
        return
    except Refusal as refusal:
        tally.unread.append("%s: %s" % (path, refusal.status))


def _folder(host: Host, tally: Tally, where: Tuple[str, str], entries: List[Tuple[str, Stat]]) -> None:
    top, below = where
    for name, stat in entries:
        if stat.uid is not None:
            tally.owners.add(stat.uid)
        if stat.kind != "file":
            continue
        path = below + "/" + name if below else name
        tally.files += 1
        tally.bytes += stat.size
        if stat.mtime_ns is not None:
            tally.oldest = stat.mtime_ns if tally.oldest is None else min(tally.oldest, stat.mtime_ns)
            tally.newest = stat.mtime_ns if tally.newest is None else max(tally.newest, stat.mtime_ns)
        if name == LOCK:
            _note(tally.locks, path)
        if stat.size == 0 and not _EMPTY_ON_PURPOSE.search(path):
            _note(tally.empty, path)
        elif tally.reads < MOST_READS and stat.size and (name.endswith(".json") or _OBJECT.search(name)):
            tally.reads += 1
            fault = _fault(host, top + "/" + path, name)
            if fault:
                _note(tally.damaged, "%s: %s" % (path, fault))


def _note(names: List[str], name: str) -> None:
    if len(names) < MOST_NAMES:
        names.append(name)


def _fault(host: Host, path: str, name: str) -> str:
    """Return how a file's bytes show that it was not written to its end, or ""."""
    try:
        text = host.tail(path, 64) if name.endswith(".json") else host.head(path, 64)
    except Refusal:
        return ""
    if text and not text.strip("\0"):
        return "NUL bytes"
    return "ends in the middle" if name.endswith(".json") and text.rstrip()[-1:] not in ("}", "]") else ""


def _ages(tally: Tally, below: str, entries: List[Tuple[str, Stat]]) -> None:
    """Note a folder whose compiled objects are hours apart: built in two goes, perhaps by two versions."""
    times = [stat.mtime_ns for name, stat in entries if stat.kind == "file" and stat.mtime_ns is not None and _OBJECT.search(name)]
    if times and max(times) - min(times) > MIXED_NS and len(tally.mixed) < MOST_NAMES:
        tally.mixed[below or "."] = (max(times) - min(times)) // (3600 * 10**9)
