"""What the controller knows of a host's source files: their keys go out with the order, their facts come back in place of "as before"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftwatch import model
from driftwatch.agent.collectors.sources import digest_of_all, told_digest
from driftwatch.agent.known_files import key_of, units
from driftwatch.agent.probe import Unknown
from driftwatch.model import answer, plain

Known = Mapping[str, Mapping[str, Any]]
"""{root of a tree: {path below it, escaped as one part: [size, mtime_ns, ctime_ns, inode, sha256]}}"""


def keys_of(known: Known) -> dict[str, dict[str, str]]:
    """Return {root: {unit: key}}, as the agent takes it."""
    return {root: {unit: key_of((name, tree[name][:4]) for name in names) for unit, names in units(dict(tree)).items()} for root, tree in known.items()}


def is_of_same(path: str) -> bool:
    """Tell whether a fact stands for the facts of files that are as they were."""
    return path.startswith("sources/") and path.split("/")[2:3] == ["same"]


class Recall:
    """Gives the facts of files that are as they were."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self._units: dict[str, dict[str, list[str]]] = {}

    def facts(self, root: str, path: str) -> dict[str, Any]:
        """Return the facts of the files of a unit below a root; ``path`` is sources/KEY/same/UNIT."""
        _, key, _, unit = path.split("/")
        tree = self.known.get(root, {})
        if root not in self._units:
            self._units[root] = units(dict(tree))
        told: dict[str, Any] = {}
        for name in self._units[root].get(plain(unit), ()):
            size, mtime_ns, ctime_ns, inode, sha256 = tree[name]
            told[f"sources/{key}/files/{name}"] = told_digest(sha256, size)
            told[f"sources/{key}/times/{name}"] = [mtime_ns, ctime_ns, inode]
        return told


def tree_fact(facts: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the digest of all files of a tree, which the agent cannot tell where it did not read all; ``path`` is sources/KEY/count, told at the end."""
    top = path[: -len("count")]
    files = top + "files/"
    values = {plain(name[len(files):]): _value(one) for name, one in facts.items() if name.startswith(files)}
    tree = digest_of_all(values)
    return {top + "tree": {"unknown": tree.status, "reason": tree.reason} if isinstance(tree, Unknown) else tree}


def _value(told: Any) -> Any:
    found = answer(told)
    return Unknown(found.status, found.reason) if isinstance(found, model.Unknown) else told
