"""Files that an earlier snapshot of this host read, and how to tell that they are as they were, without their digests coming here again.

A tree is told of in units: the files of one folder together, each file of more than 1 MiB by itself. The controller, which keeps the digests, sends
one key a unit along; where it is the same here, "as before" is all that need be said. A key holds name, size, mtime, ctime and inode of each file.
Nothing is kept on the host. Names are escaped as one part of a path. Pure, and used on both sides of the wire.
"""
from __future__ import annotations

from .host import MIB, sha256_of
from .typed import Any, Dict, Iterable, List, Sequence, Tuple

KEY_DIGITS = 32
Named = Tuple[str, Sequence[Any]]


def unit_of(name: str, size: int) -> str:
    """Return the unit of a file: its folder, or the file itself where it is large."""
    return name if size > MIB else name.rpartition("%2F")[0]


def key_of(files: Iterable[Named]) -> str:
    """Return the key of a unit; of each file its name and [size, mtime_ns, ctime_ns, inode] are given."""
    lines = sorted(["%s %d %d %d %d" % (name, *state) for name, state in files])
    return sha256_of("\n".join(lines).encode("utf-8", "surrogatepass"))[:KEY_DIGITS]


def units(tree: Dict[str, List[Any]]) -> Dict[str, List[str]]:
    """Return the names of each unit of a tree, which is given as {name: [size, mtime_ns, ctime_ns, inode, …]}."""
    found: Dict[str, List[str]] = {}
    for name, state in tree.items():
        found.setdefault(unit_of(name, state[0]), []).append(name)
    return found
