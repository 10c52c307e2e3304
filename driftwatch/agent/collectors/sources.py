"""The digests of the SGLang source tree, installed or checked out, or of the folder given with --source. Only regular files are read; no link is followed.

| path | what |
|---|---|
| sources/KEY/root | the tree's top folder |
| sources/KEY/files/PATH | ``sha256:HEX SIZE`` (bytes), or ``link:TARGET``; PATH is below the root |
| sources/KEY/times/PATH | [mtime_ns, ctime_ns], so that "touched, same bytes" can be told from "edited"; volatile; not told where the host has no times |
| sources/KEY/count | files and links counted in the digest of all |
| sources/KEY/tree | ``sha256:`` digest over all paths and values, sorted; unknown where one of them is |

KEY is ``sglang`` where the tree is that package, else the folder's name. ``__pycache__``, ``*.pyc`` and ``.git`` are left out.
"""
from __future__ import annotations

from typing import Any, Dict, Generator, Iterator, List, Tuple

from ..host import Digest, Host, Stat, sha256_of
from ..probe import Absent, Fact, Probe, Unknown, fact_path
from ..source_trees import Tree, trees

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
    """Yield the facts of one tree, large files last; return the bytes that were hashed."""
    top = fact_path("sources", tree.key)
    names = host.try_list(tree.root)
    if names is None or isinstance(names, Unknown):
        yield top, names or Unknown("error", "%s: no such folder" % tree.root)
        return 0
    yield top + "/root", tree.root
    values: Dict[str, Any] = {}
    large: List[Tuple[str, int]] = []
    left = budget
    for path, stat in host.walk(tree.root, SKIP):
        if path.endswith((".pyc", "/.git")) or path == ".git":
            continue
        if isinstance(stat, Stat) and stat.kind == "file" and LARGE < stat.size <= left:
            large.append((path, stat.size))
            left -= stat.size
            continue
        value = stat if isinstance(stat, Unknown) else _value(host, tree.root + "/" + path, stat, left)
        left -= value.size if isinstance(value, Digest) else 0
        yield from _told(top, path, value, values)
    digests = host.sha256_each([(tree.root + "/" + path, size) for path, size in large])
    for path, _ in large:
        yield from _told(top, path, digests[tree.root + "/" + path], values)
    yield top + "/count", len(values)
    yield top + "/tree", digest_of_all(values)
    return budget - left


def _value(host: Host, path: str, stat: Stat, left: int) -> Any:
    """Return the Digest of a small file, the text of a link, or Unknown; None if it vanished."""
    if stat.kind == "link":
        return host.attempt(host.link, path)
    if stat.kind != "file":
        return Unknown("error", "%s: not a regular file" % path)
    return host.attempt(host.sha256, path, left)


def _told(top: str, path: str, value: Any, values: Dict[str, Any]) -> Iterator[Fact]:
    """Yield what is told of one file, and note it for the digest of all."""
    if isinstance(value, Digest):
        values[path] = "sha256:%s %d" % (value.sha256, value.size)
    elif isinstance(value, Unknown):
        values[path] = value
    else:
        values[path] = Unknown("error", "%s: vanished while the tree was read" % path) if value is None else "link:" + value
    yield top + "/" + fact_path("files", path), values[path]
    if isinstance(value, Digest) and value.mtime_ns is not None:
        yield top + "/" + fact_path("times", path), [value.mtime_ns, value.ctime_ns]


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
