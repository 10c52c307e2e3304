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
from ..host import Digest, Host, Stat, sha256_of
from ..known_files import key_of
from ..probe import Absent, Fact, Probe, Unknown, fact_path, part
from ..source_trees import Tree, trees
from ..typed import Any, Dict, Generator, Iterator, List, Optional, Tuple

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
    """Yield the facts of one tree, large files last; return the bytes that were hashed, or would have been."""
    top = fact_path("sources", tree.key)
    names = host.try_list(tree.root)
    if names is None or isinstance(names, Unknown):
        yield top, names or Unknown("error", "%s: no such folder" % tree.root)
        return 0
    yield top + "/root", tree.root
    values: Dict[str, Any] = {}
    hashing = Hashing(host)
    known = host.settings.known.get(tree.root, {})
    left, same, below = budget, 0, len(tree.root) + 1
    for unit, files in _units(host, tree.root):
        size = _size_of_same(files, known.get(unit), left) if known else None
        if size is not None:
            left -= size
            same += len(files)
            yield top + "/" + fact_path("same", unit), len(files)
            continue
        for path, stat in files:
            if not isinstance(stat, Stat) or stat.kind != "file":
                yield from _told(top, path, stat if isinstance(stat, Unknown) else _value(host, tree.root + "/" + path, stat), values)
                continue
            for found, digest in hashing.give(tree.root + "/" + path, stat.size, left):
                yield from _told(top, found[below:], digest, values)
            left -= stat.size if stat.size <= left else 0
    for found, digest in hashing.rest():
        yield from _told(top, found[below:], digest, values)
    yield top + "/count", len(values) + same
    if not same:
        yield top + "/tree", digest_of_all(values)
    return budget - left


def _units(host: Host, root: str) -> Iterator[Tuple[str, List[Tuple[str, Any]]]]:
    """Yield each unit of a tree with the files in it: the small ones of a folder together, links and what cannot be looked at with them."""
    folder = ""
    files: List[Tuple[str, Any]] = []
    for path, stat in host.walk(root, SKIP):
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


def _size_of_same(files: List[Tuple[str, Any]], key: Optional[str], limit: int) -> Optional[int]:
    """Return the bytes of a unit that is as the controller knows it, None where it is not, or larger than ``limit``."""
    if key is None or any(isinstance(stat, Unknown) or stat.kind != "file" or stat.inode is None for _, stat in files):
        return None
    size = sum([stat.size for _, stat in files])
    is_same = size <= limit and key_of([(part(path), stat[1:5]) for path, stat in files]) == key
    return size if is_same else None


def _value(host: Host, path: str, stat: Stat) -> Any:
    """Return the text of a link, None if it vanished; of what is neither file nor link, that it is none."""
    return host.attempt(host.link, path) if stat.kind == "link" else Unknown("error", "%s: not a regular file" % path)


def _told(top: str, path: str, value: Any, values: Dict[str, Any]) -> Iterator[Fact]:
    """Yield what is told of one file, and note it for the digest of all."""
    name = part(path)
    if isinstance(value, Digest):
        sha256, size, *times = value
        values[path] = told_digest(sha256, size)
        yield top + "/files/" + name, values[path]
        if times[0] is not None:
            yield top + "/times/" + name, times if times[2] is not None else times[:2]
        return
    gone = Unknown("error", "%s: vanished while the tree was read" % path)
    values[path] = value if isinstance(value, Unknown) else gone if value is None else "link:" + value
    yield top + "/files/" + name, values[path]


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
