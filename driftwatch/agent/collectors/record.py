"""What was installed against what lies there now: every distribution's RECORD of the serving interpreter, file by file. Reads, never repairs.

The size of each listed file is compared; the digest too for each ``.py`` and each ``.so`` of a kernel package whose size differs, or whose mtime or
ctime is later than its RECORD's. ``.pyc`` files never count.

| path | what |
|---|---|
| packages/NAME/altered/PATH | {"size", "recorded_size" in bytes, "sha256" of what lies there, null where it was not hashed}; PATH as RECORD writes it |
| packages/NAME/missing/PATH | true: RECORD names it and it is not there |
| packages/NAME/verified | counts {"files", "altered", "missing", "unhashed": not hashed though its times are later, "unchecked": a recording left them out} |

Where a folder cannot be listed, or more files differ than are named, ``altered`` and ``missing`` of that distribution are unknown beyond what is told.
A distribution without RECORD has ``altered`` unknown. On a host without file times (a recorded one) every such file there is hashed; and where a
recording holds less than half of the files that a RECORD names, the rest was left out by the recorder and is unchecked, not missing.
"""
from __future__ import annotations

from ..dist_metadata import Entry, Folder, listed
from ..hashing import sha256_each
from ..host import Digest, Host, Stat
from ..probe import Fact, NotRecorded, Probe, Unknown, fact_path, refusal
from ..record_files import KERNELS, latest, recorded_digest, recorded_entries, sights, written
from ..typed import Any, Dict, Generator, Iterator, List, NamedTuple, Optional, Tuple

NAMED = 100
OVER_BUDGET = Unknown("not_recorded", "not hashed: the byte budget is used up")
GONE = Unknown("error", "it was gone when it was to be hashed")


class Suspect(NamedTuple):
    """A listed file that is not as RECORD says, or may not be: where it lies, its line, its lstat, and whether its size already differs."""

    path: str
    entry: Entry
    stat: Stat
    is_other_size: bool


class Sight(NamedTuple):
    """What looking at all files of one distribution gave, before hashing."""

    files: int
    present: int
    absent: List[str]
    suspects: List[Suspect]
    refused: List[Unknown]


def collect(host: Host) -> Iterator[Fact]:
    """Yield what differs, distribution by distribution, the kernel packages last: their files are large and their folders have been seen to hang."""
    if not host.targets:
        raise NotRecorded("no interpreter was found to look at")
    sites, refused = listed(host, host.targets[0].site_packages)
    left = host.settings.byte_budget
    told: List[str] = []
    for one in sorted(latest(host, sites), key=lambda folder: folder.name.startswith(KERNELS)):
        if one.name not in told:
            told.append(one.name)
            left -= yield from _distribution(host, one, left)
    if refused or not sites:
        raise refusal(refused[0]) if refused else NotRecorded("no site-packages folder was found")


def _distribution(host: Host, folder: Folder, budget: int) -> Generator[Fact, None, int]:
    """Yield the facts of one distribution; return how many bytes were hashed for it."""
    top = fact_path("packages", folder.name)
    entries = recorded_entries(host, folder)
    if isinstance(entries, Unknown):
        yield top + "/altered", entries
        return 0
    since = written(host, folder)
    listed_files = entries if since is not None else [entry for entry in entries if ".dist-info/" not in entry.path]
    sight = _look(host, folder, listed_files, since)
    altered, unhashed, used = _hashed(host, sight.suspects, budget)
    yield from _told(top, sight, (altered, unhashed), since)
    return used


def _look(host: Host, folder: Folder, entries: List[Entry], since: Optional[int]) -> Sight:
    """Return what one lstat of each listed file shows."""
    is_kernel = folder.name.startswith(KERNELS)
    absent: List[str] = []
    suspects: List[Suspect] = []
    refused: List[Unknown] = []
    for path, entry, stat in sights(host, folder.path.rpartition("/")[0], entries):
        if stat is None:
            absent.append(entry.path)
        elif isinstance(stat, Unknown):
            refused.append(stat)
        else:
            suspects += _suspected(path, entry, stat, (since, is_kernel))
    return Sight(len(entries), len(entries) - len(absent), absent, suspects, refused)


def _suspected(path: str, entry: Entry, stat: Stat, rule: Tuple[Optional[int], bool]) -> List[Suspect]:
    """Return the file as a suspect, or nothing. ``rule``: the mtime of RECORD in ns (None: no times here), and whether ``.so`` files count."""
    since, is_kernel = rule
    if entry.size is not None and (stat.size != entry.size or stat.kind != "file"):
        return [Suspect(path, entry, stat, is_other_size=True)]
    is_hashed = entry.digest.startswith("sha256=") and (path.endswith(".py") or (is_kernel and ".so" in path.rpartition("/")[2]))
    is_later = since is None or stat.mtime_ns is None or stat.ctime_ns is None or stat.mtime_ns > since or stat.ctime_ns > since
    return [Suspect(path, entry, stat, is_other_size=False)] if is_hashed and is_later else []


def _hashed(host: Host, suspects: List[Suspect], budget: int) -> Tuple[Dict[str, Any], int, int]:
    """Return the altered files as facts, how many could not be hashed, and the bytes that were; large files go last."""
    altered: Dict[str, Any] = {}
    chosen: List[Suspect] = []
    left, unhashed = budget, 0
    for one in sorted(suspects, key=lambda suspect: suspect.stat.size):
        if one.stat.kind == "file" and one.stat.size <= left:
            left -= one.stat.size
            chosen.append(one)
        else:
            unhashed += 1
            _judge(altered, one, OVER_BUDGET if one.stat.kind == "file" else Unknown("error", "%s: not a regular file" % one.path))
    digests = sha256_each(host, [(one.path, one.stat.size) for one in chosen])
    for one in chosen:
        digest = digests[one.path]
        unhashed += not isinstance(digest, Digest)
        _judge(altered, one, GONE if digest is None else digest)
    return altered, unhashed, budget - left


def _judge(altered: Dict[str, Any], one: Suspect, digest: Any) -> None:
    """Note a file as altered if its size or its digest says so, as unknown if its size does not and its bytes could not be read."""
    sha256 = digest.sha256 if isinstance(digest, Digest) else None
    if one.is_other_size or (sha256 is not None and recorded_digest(sha256) != one.entry.digest):
        altered[one.entry.path] = {"size": one.stat.size, "recorded_size": one.entry.size, "sha256": sha256}
    elif sha256 is None:
        altered[one.entry.path] = digest


def _told(top: str, sight: Sight, hashed: Tuple[Dict[str, Any], int], since: Optional[int]) -> Iterator[Fact]:
    altered, unhashed = hashed
    is_selection = since is None and sight.present * 2 < sight.files
    missing = [] if is_selection else sight.absent
    yield from ((top + "/" + fact_path("altered", path), value) for path, value in list(altered.items())[:NAMED])
    yield from ((top + "/" + fact_path("missing", path), True) for path in missing[:NAMED])
    known = sum(not isinstance(value, Unknown) for value in altered.values())
    for kind, count in (("altered", known), ("missing", len(missing))):
        why = _untold(sight, kind, count, is_selection=is_selection)
        if why:
            yield top + "/" + kind, why
    counts = {"files": sight.files, "altered": known, "missing": len(missing), "unhashed": unhashed}
    yield top + "/verified", dict(counts, unchecked=len(sight.absent)) if is_selection else counts


def _untold(sight: Sight, kind: str, count: int, *, is_selection: bool) -> Optional[Unknown]:
    """Return why more files may be altered or missing than are told, or None."""
    if sight.refused:
        return sight.refused[0]
    if is_selection:
        return Unknown("not_recorded", "%d of %d files are not in the recording" % (len(sight.absent), sight.files))
    return Unknown("error", "%d files are %s, %d of them are named" % (count, kind, NAMED)) if count > NAMED else None


PROBES = (Probe(
    "record", collect, deadline_s=30.0, needs_targets=True, cap_bytes=4 << 20, volatile=("packages/*/verified",),
    tells=("packages/*/altered", "packages/*/altered/*", "packages/*/missing", "packages/*/missing/*", "packages/*/verified"),
    reads="the size of every file that a RECORD names, and the digest of those that changed after it"),)
