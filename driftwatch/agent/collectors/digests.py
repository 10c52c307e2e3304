"""The digest of every file that was installed: each one that a RECORD lists, whatever its times say, and all of site-packages as one digest per package.

What ``record`` trusts (size and times) is not trusted here: a file that was rewritten with its size and times kept shows. Slow, and off by default.
``.pyc`` files never count. Small distributions come first, and what the byte budget did not reach is unread, never unchanged.

| path | what |
|---|---|
| packages/NAME/rewritten/PATH | {"size", "recorded_size" in bytes, "sha256" of what lies there}; PATH as RECORD writes it |
| packages/NAME/digests | counts {"files", "altered", "missing", "unread"}; recorded without a digest (RECORD itself) is no file here |
| site_packages/TOP/tree | "sha256:HEX" over path and digest of each file below a folder or module of site-packages, and over the text of each link |
| site_packages/TOP/count | files and links in it |

Where a file could not be read, or more differ than are named, ``rewritten`` of that distribution is unknown beyond what is told, and the tree is unknown.
Where a recording holds less than half of the files that a RECORD names, the rest was left out by the recorder and is unread, not missing.
"""
from __future__ import annotations

from ..dist_metadata import Entry, Folder, joined, listed
from ..hashing import sha256_each
from ..host import Digest, Host, Stat, sha256_of
from ..probe import Fact, NotRecorded, Probe, Unknown, fact_path, refusal
from ..record_files import latest, recorded_digest, recorded_entries, sights, written
from ..typed import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

NAMED = 100
APART = (".dist-info", ".egg-info", ".egg-link", ".pyc")
METADATA = ".dist-info/"


class Record(NamedTuple):
    """One distribution with what its RECORD lists: the lines that have a digest, or why there is none."""

    folder: Folder
    entries: Any

    @property
    def size(self) -> int:
        """Return the bytes that it was installed with."""
        return sum(entry.size or 0 for entry in self.entries) if isinstance(self.entries, list) else 0


class Reading:
    """Digests of files, each read once, as long as the byte budget lasts."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.left = host.settings.byte_budget
        self.known: Dict[str, Any] = {}

    def digests(self, files: List[Tuple[str, Stat]]) -> Dict[str, Any]:
        """Return {path: Digest, None if it is gone, or Unknown}, small files first."""
        chosen: List[Tuple[str, int]] = []
        for path, stat in sorted(files, key=lambda one: one[1].size):
            if path in self.known:
                continue
            if stat.kind != "file":
                self.known[path] = Unknown("error", "%s: not a regular file" % path)
            elif stat.size > self.left:
                self.known[path] = Unknown("not_recorded", "%s: not read: more than the byte budget of %d" % (path, self.host.settings.byte_budget))
            else:
                self.left -= stat.size
                chosen.append((path, stat.size))
        self.known.update(sha256_each(self.host, chosen))
        return {path: self.known[path] for path, _ in files}


def collect(host: Host) -> Iterator[Fact]:
    """Yield what was rewritten, distribution by distribution, then the digest of each package's folder."""
    if not host.targets:
        raise NotRecorded("no interpreter was found to look at")
    sites, refused = listed(host, host.targets[0].site_packages)
    records = [Record(one, _with_digest(recorded_entries(host, one))) for one in latest(host, sites)]
    reading = Reading(host)
    told: List[str] = []
    for one in sorted(records, key=lambda record: record.size):
        if one.folder.name not in told:
            told.append(one.folder.name)
            yield from _distribution(reading, one)
    tops: List[str] = []
    for site, names in sites:
        for name in names:
            if not name.endswith(APART) and name != "__pycache__" and name not in tops:
                tops.append(name)
                yield from _tree(reading, site, name)
    if refused or not sites:
        raise refusal(refused[0]) if refused else NotRecorded("no site-packages folder was found")


def _with_digest(entries: Any) -> Any:
    return [entry for entry in entries if entry.digest.startswith("sha256=")] if isinstance(entries, list) else entries


def _distribution(reading: Reading, record: Record) -> Iterator[Fact]:
    top = fact_path("packages", record.folder.name)
    if isinstance(record.entries, Unknown):
        yield top + "/rewritten", record.entries
        return
    is_real = written(reading.host, record.folder) is not None
    entries = [entry for entry in record.entries if is_real or METADATA not in entry.path]
    found = list(sights(reading.host, record.folder.path.rpartition("/")[0], entries))
    digests = reading.digests([(path, stat) for path, _, stat in found if isinstance(stat, Stat)])
    answers = [(entry, digests.get(path) if isinstance(stat, Stat) else stat) for path, entry, stat in found]
    yield from _told(top, answers, is_real=is_real)


def _told(top: str, answers: List[Tuple[Entry, Any]], *, is_real: bool) -> Iterator[Fact]:
    """Yield the files that are not as recorded, why others may be, and the counts. ``answers``: Digest, None if absent, or Unknown of each file."""
    absent = [entry for entry, answer in answers if answer is None]
    unread = [answer for _, answer in answers if isinstance(answer, Unknown)]
    if not is_real and len(absent) * 2 > len(answers):
        unread += [Unknown("not_recorded", "%d of %d files are not in the recording" % (len(absent), len(answers)))] * len(absent)
        absent = []
    altered = [(entry, digest) for entry, digest in answers if isinstance(digest, Digest) and recorded_digest(digest.sha256) != entry.digest]
    for entry, digest in altered[:NAMED]:
        yield top + "/" + fact_path("rewritten", entry.path), {"size": digest.size, "recorded_size": entry.size, "sha256": digest.sha256}
    if unread or len(altered) > NAMED:
        yield top + "/rewritten", unread[0] if unread else Unknown("error", "%d files are altered, %d of them are named" % (len(altered), NAMED))
    yield top + "/digests", {"files": len(answers), "altered": len(altered), "missing": len(absent), "unread": len(unread)}


def _tree(reading: Reading, site: str, name: str) -> Iterator[Fact]:
    """Yield the digest of one folder or module of site-packages; unknown where any of its files is."""
    host, top = reading.host, fact_path("site_packages", name)
    found = host.attempt(_below, host, site, name)
    if not isinstance(found, list):
        if found is not None:
            yield top, found
        return
    digests = reading.digests([(joined(site, path), stat) for path, stat in found if isinstance(stat, Stat) and stat.kind == "file"])
    lines: List[str] = []
    trouble: Optional[Unknown] = None
    for path, stat in found:
        where = joined(site, path)
        answer = host.attempt(host.link, where) if isinstance(stat, Stat) and stat.kind == "link" else digests.get(where, stat)
        trouble = trouble or (answer if isinstance(answer, Unknown) else None)
        lines.append("%s\0%s" % (path, _as_text(answer)))
    yield top + "/tree", trouble or "sha256:" + sha256_of("\n".join(sorted(lines)).encode("utf-8", "surrogateescape"))
    yield top + "/count", len(found)


def _as_text(answer: Any) -> str:
    """Return what stands for a file in its tree's digest: its own, a link's text, the kind of what is no file; nothing where it went meanwhile."""
    if isinstance(answer, (Digest, Stat)):
        return answer.sha256 if isinstance(answer, Digest) else answer.kind
    return "-> " + answer if isinstance(answer, str) else ""


def _below(host: Host, site: str, name: str) -> List[Tuple[str, Any]]:
    """Return the files of one name in site-packages, as (path below site-packages, Stat or Unknown); itself where it is one."""
    stat = host.stat(site + "/" + name)
    if stat.kind != "dir":
        return [(name, stat)]
    return [(name + "/" + path if path else name, one) for path, one in host.walk(site + "/" + name) if not path.endswith(".pyc")]


PROBES = (Probe(
    "digests", collect, deadline_s=120.0, needs_targets=True, group="record", cap_bytes=4 << 20, volatile=("packages/*/digests",),
    tells=("packages/*/rewritten", "packages/*/rewritten/*", "packages/*/digests", "site_packages/*"),
    reads="the bytes of every file that a RECORD lists, and of all of site-packages"),)
