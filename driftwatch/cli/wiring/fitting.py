"""Globs that a user typed and that fit no fact: refused, with the one that may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from driftwatch.cli.wiring.faults import SeveralFaults, UsageFault
from driftwatch.model import matches

ALL = "driftwatch show REF --all"


def refuse_misfits(globs: Iterable[str], paths: Collection[str], whose: str) -> None:
    """Raise the faults of the globs that fit no path, each with its nearest one."""
    misfits = [glob for glob in globs if not any(matches(path, (glob, f"{glob}/*")) for path in paths)]
    if misfits:
        raise SeveralFaults([UsageFault(f"no fact of {whose} fits {glob}", do=_advice(glob, paths)) for glob in misfits])


def _advice(glob: str, paths: Collection[str]) -> str:
    """Return the glob with its first part that fits nothing put right; where none is near, how to see what there is."""
    parts = glob.split("/")
    for place, part in enumerate(parts):
        below = {path.split("/")[place] for path in paths if path.count("/") >= place and _fits(path.split("/")[:place], parts[:place])}
        if not any(_fits([one], [part]) for one in below):
            near = difflib.get_close_matches(part, below, 1)
            return f"did you mean {_mended([*parts[:place], *near], parts[place + 1:], paths)}?" if near else ALL
    return ALL


def _mended(head: list[str], rest: list[str], paths: Collection[str]) -> str:
    """Return the glob with its rest, or without it where there is nothing below its head."""
    whole = "/".join([*head, *rest])
    return whole if any(matches(path, (whole,)) for path in paths) else "/".join(head)


def _fits(path: list[str], glob: list[str]) -> bool:
    return matches("/".join(path), ("/".join(glob),))
