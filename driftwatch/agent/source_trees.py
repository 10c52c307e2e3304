"""Which source trees to look at, and by what name. Knows no digest and no git."""
from __future__ import annotations

from .host import Host
from .probe import NotRecorded
from .typed import Dict, List, NamedTuple

PACKAGE = "sglang"


class Tree(NamedTuple):
    """A source tree: its name in fact paths, its top folder, and the folder that was named to us (the same, or above it)."""

    key: str
    root: str
    named: str


def trees(host: Host) -> List[Tree]:
    """Return the trees to look at, each once: the one given with --source, else those of the targets. NotRecorded where no target was found."""
    named = [host.settings.source] if host.settings.source else [target.source for target in host.targets if target.source]
    if not named and not host.targets:
        raise NotRecorded("no interpreter and no source tree was found to look at")
    found: Dict[str, Tree] = {}
    for folder in named:
        tree = tree_at(host, str(folder).rstrip("/") or "/")
        taken = any(other.key == tree.key for other in found.values())
        found.setdefault(tree.root, tree._replace(key=tree.root) if taken else tree)
    return list(found.values())


def tree_at(host: Host, folder: str) -> Tree:
    """Return the tree that a folder stands for: the SGLang package in it (also in a checkout's ``python/``) or itself, else the whole folder."""
    for top in (folder + "/python/" + PACKAGE, folder + "/" + PACKAGE, folder):
        if top.endswith("/" + PACKAGE) and host.attempt(host.exists, top + "/__init__.py") is True:
            return Tree(PACKAGE, top, folder)
    return Tree(folder.rpartition("/")[2] or "root", folder, folder)
