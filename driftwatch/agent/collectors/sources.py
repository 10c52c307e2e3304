"""The digests of the SGLang source tree, installed or checked out, or of the folder given with --source. Only regular files are read; no link is followed.

| path | what |
|---|---|
| sources/KEY/root | the tree's top folder |
| sources/KEY/files/PATH | ``sha256:HEX SIZE`` (bytes), or ``link:TARGET``; PATH is below the root |
| sources/KEY/times/PATH | [mtime_ns, ctime_ns], so that "touched, same bytes" can be told from "edited"; volatile; not told where the host has no times. |
| sources/KEY/count | files and links counted in the digest of all |
| sources/KEY/tree | ``sha256:`` digest over all paths and values, sorted; unknown where one of them is |
| sources/KEY/same/UNIT | how many files are as the controller knows them (known_files.py); it puts their facts, and the tree's, in its place |

Where an inode follows the times, a later snapshot need not read the file again while size, times and inode are the same.
KEY is ``sglang`` where the tree is that package, else the folder's name. ``__pycache__``, ``*.pyc`` and ``.git`` are left out.
"""
from __future__ import annotations

from ..hashing import Hashing
from ..host import TOO_LARGE, Digest, Host, Stat, sha256_of
from ..known_files import key_of
from ..probe import Absent, Fact, Probe, Unknown, fact_path, part
from ..source_trees import Tree, trees
from ..typed import Any, Dict, Generator, Iterable, Iterator, List, Mapping, Optional, Tuple

SKIP = ("__pycache__", ".git")
LARGE = 1 << 20


def collect(host: Host) -> Iterator[Fact]:
    """Yield the digests of each tree; Absent where neither was one given nor is SGLang installed."""
    found = trees(host)
    if not found:
        raise Absent("no SGLang source tree: none was given with --source and no interpreter has the package")
    left = host.settings.byte_budget
    for tree in found:
        left -= yield from _tree(host, tree, left)


def _tree(host: Host, tree: Tree, budget: int) -> Generator[Fact, None, int]:
    """Yield the facts of one tree; return the bytes that were hashed, or would have been."""
    top = fact_path("sources", tree.key)
    names = host.try_list(tree.root)
    if names is None or isinstance(names, Unknown):
        yield top, names or Unknown("error", "%s: no such folder" % tree.root)
        return 0
    yield top + "/root", tree.root
    files = _Files(host, tree.root, top, budget)
    yield from files.small(host.settings.known.get(tree.root, {}))
    yield from files.large()
    yield top + "/count", len(files.values) + files.same
    if not files.same:
        yield top + "/tree", digest_of_all(files.values)
    return budget - files.left


class _Files:
    """Tells the files of a tree: small ones as they are found, then larger ones, of which the smallest have the first right to what is left of the budget."""

    def __init__(self, host: Host, root: str, top: str, budget: int) -> None:
        self.host, self.root, self.top, self.left = host, root, top, budget
        self.hashing = Hashing(host)
        self.values: Dict[str, Any] = {}
        self.same = 0
        self.later: List[Tuple[int, str, bool]] = []  # size, path, whether it is as the controller knows it

    def small(self, known: Mapping[str, str]) -> Iterator[Fact]:
        """Yield what is told of all but large files. Where nothing is known no file is asked for its size before it is read."""
        for unit, files in _units(self.host, self.root, is_brief=not known):
            path, stat = files[0]
            size = _size_of_same(files, known[unit]) if unit in known else None
            if isinstance(stat, Stat) and stat.size > LARGE:
                self.later.append((stat.size, path, size is not None))
            elif size is not None and size <= self.left:
                yield self._as_before(unit, len(files), size)
            else:
                for path, stat in files:
                    yield from self._one(path, stat)
        yield from self._answers(self.hashing.ready())

    def large(self) -> Iterator[Fact]:
        """Yield what is told of the others."""
        for size, path, is_same in sorted(self.later):
            if is_same and size <= self.left:
                yield self._as_before(part(path), 1, size)
                continue
            yield from self._answers(self.hashing.give(self.root + "/" + path, size, self.left), is_last=True)
            self.left -= size if size <= self.left else 0
        yield from self._answers(self.hashing.rest(), is_last=True)

    def _as_before(self, unit: str, count: int, size: int) -> Fact:
        self.left -= size
        self.same += count
        return self.top + "/" + fact_path("same", unit), count

    def _one(self, path: str, stat: Any) -> Iterator[Fact]:
        where = self.root + "/" + path
        if isinstance(stat, Unknown) or stat.kind != "file":
            yield from self._told(path, stat if isinstance(stat, Unknown) else _value(self.host, where, stat.kind))
        else:
            yield from self._answers(self.hashing.give(where, 0, min(self.left, LARGE)))

    def _answers(self, answered: Iterable[Tuple[str, Any]], *, is_last: bool = False) -> Iterator[Fact]:
        """Yield what is told of the files that were read; those that were found too large to be read at once are kept for later."""
        for where, value in answered:
            path = where[len(self.root) + 1:]
            if isinstance(value, Digest):
                self.left -= 0 if is_last else value.size
            elif isinstance(value, Unknown) and TOO_LARGE in value.reason and not is_last:
                stat = self.host.attempt(self.host.stat, where)
                if isinstance(stat, Stat):
                    self.later.append((stat.size, path, False))
                    continue
            yield from self._told(path, value)

    def _told(self, path: str, value: Any) -> List[Fact]:
        """Return what is told of one file, and note it for the digest of all."""
        name = part(path)
        if isinstance(value, Digest):
            sha256, size, *times = value
            told = self.values[path] = told_digest(sha256, size)
            facts: List[Fact] = [(self.top + "/files/" + name, told)]
            if times[0] is not None:
                facts.append((self.top + "/times/" + name, times if times[2] is not None else times[:2]))
            return facts
        gone = Unknown("error", "%s: vanished while the tree was read" % path)
        self.values[path] = value if isinstance(value, Unknown) else gone if value is None else "link:" + value
        return [(self.top + "/files/" + name, self.values[path])]


def _units(host: Host, root: str, *, is_brief: bool) -> Iterator[Tuple[str, List[Tuple[str, Any]]]]:
    """Yield each unit of a tree with the files in it: the small ones of a folder together, links and what cannot be looked at with them."""
    folder = ""
    files: List[Tuple[str, Any]] = []
    for path, stat in host.walk(root, SKIP, is_brief=is_brief):
        if path.endswith((".pyc", "/.git")) or path == ".git":
            continue
        if isinstance(stat, Stat) and stat.size > LARGE:
            yield part(path), [(path, stat)]
            continue
        above = path.rpartition("/")[0]
        if above != folder:
            if files:
                yield part(folder), files
            folder, files = above, []
        files.append((path, stat))
    if files:
        yield part(folder), files


def _size_of_same(files: List[Tuple[str, Any]], key: str) -> Optional[int]:
    """Return the bytes of a unit that is as the controller knows it, None where it is not."""
    if any(not isinstance(stat, Stat) or stat.kind != "file" or stat.inode is None for _, stat in files):
        return None
    return sum([stat.size for _, stat in files]) if key_of([(part(path), stat[1:5]) for path, stat in files]) == key else None


def _value(host: Host, path: str, kind: str) -> Any:
    """Return the text of a link, None if it vanished; of what is neither file nor link, that it is none."""
    return host.attempt(host.link, path) if kind == "link" else Unknown("error", "%s: not a regular file" % path)


def told_digest(sha256: str, size: int) -> str:
    """Return what is told of a file's bytes."""
    return "sha256:%s %d" % (sha256, size)


def digest_of_all(values: Dict[str, Any]) -> Any:
    """Return the digest over all paths and values; Unknown where one of them is."""
    unread = [path for path, value in values.items() if isinstance(value, Unknown)]
    if unread:
        return Unknown("error", "%d of %d files could not be read, first %s" % (len(unread), len(values), unread[0]))
    lines = "".join("%s\0%s\n" % (path, values[path]) for path in sorted(values))
    return "sha256:" + sha256_of(lines.encode("utf-8", "surrogateescape"))


PROBES = (Probe(
    "sources", collect, deadline_s=30.0, needs_targets=True, cap_bytes=16 << 20, tells=("sources/*",), volatile=("sources/*/times/*",),
    reads="every file of the SGLang source tree (or of the folder given with --source)"),)
