"""What both sides tell of their servers: which run, and the arguments they ran with, resolved ones before given ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.words import command, number
from driftwatch.model import Known, is_unknown

NAMED = "process"  # how the servers probe calls a process that --env-from-pid named


@dataclass(frozen=True)
class Argument:
    """An argument that moved: its server, its field name, both values, and the facts they were read from. ``is_default``: nobody gave it."""

    server: str
    name: str
    good: Any
    bad: Any
    facts: tuple[str, ...]
    is_default: bool


def framework(server: str) -> str:
    """Return ``sglang`` for ``sglang`` and ``sglang@30001``."""
    return server.split("@", 1)[0]


def runs(case: Case, side: SideName) -> list[str]:
    """Return the servers that are known to run on a side; a process that was only named for its environment is none."""
    return [server for server in case.families("servers") if server != NAMED and case.value(side, f"servers/{server}/running") is True]


def own(case: Case, side: SideName) -> list[str]:
    """Return the servers that run on a side and that the case is about: where another one failed to start, a server beside it only takes its room."""
    running = runs(case, side)
    about = {framework(server) for server in case.families("servers") if case.value("bad", f"servers/{server}/log/error")}
    if not about and case.klass in ("oom", "startup-crash"):
        about = {framework(server) for server in runs(case, "good")}
    return [server for server in running if framework(server) in about] if about else running


def is_set_by_server(case: Case, path: str) -> bool:
    """Tell whether a variable of a server differs only because one side's was read before the server set it: of its launch process, from which it is absent.

    The other side's was read of what the launch process gave its children, and its snapshot names the variables that the server set in between. What a
    server sets for one kind of its processes (``servers/NAME/ROLE``) is on no side where none of that kind runs.
    """
    top, _, name = path.rpartition("/env/")
    if top.startswith("servers/") and top.count("/") == 2:
        return not all(case.under(side, top) for side in SIDES)
    if top.count("/") != 1:
        return False
    for side, other in (SIDES, tuple(reversed(SIDES))):
        own = case.value(side, f"{top}/env_set_at_run_time")
        is_launch = str(case.value(other, f"{top}/env_from") or "").startswith("the launch process")
        if is_launch and isinstance(own, list) and name in own and case.side(other).get(path) == Known(None):
            return True
    return False


def flag(name: str) -> str:
    """Return a field name as it stands on a command line."""
    return "--" + name.replace("_", "-")


def with_argument(name: str, value: Any) -> str:
    """Return how a server is started with a value of an argument, as a shell reads it: ``with --tp-size 8``, ``without --enable-torch-compile``."""
    if value is None or value is False:
        return f"without {flag(name)}"
    if value is True:
        return f"with {flag(name)}"
    words = value if isinstance(value, list) and all(isinstance(one, str) for one in value) else [value]
    return f"with {flag(name)} {command([one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, sort_keys=True) for one in words])}"


def same_argument(one: Any, other: Any) -> bool:
    """Tell whether two argument values are one, as text or as number."""
    if one == other:
        return True
    first, second = number(one), number(other)
    return first is not None and first == second


def effective(case: Case, side: SideName, server: str, name: str) -> tuple[Any, str] | None:
    """Return an argument's value on a side and the fact it was read from, None where it is not known.

    The resolved value counts. Where only the command line is known, an argument that was not given has an unknown default.
    """
    for source in ("args", "given"):
        path = f"servers/{server}/{source}/{name}"
        found = case.side(side).get(path)
        if isinstance(found, Known) and (path in case.side(side).facts or (source == "args" and case.under(side, f"servers/{server}/args"))):
            return found.value, path
    return None


def moved_arguments(case: Case) -> Iterator[Argument]:
    """Yield every argument whose values are known on both sides and differ, in the order of their names.

    Both are of one source where they can be: resolved, else as given; of two command lines, an argument that only one of them gives is a difference.
    """
    for server in case.families("servers"):
        given = f"servers/{server}/given"
        are_given = all(_is_told(case, side, given) for side in SIDES) and not all(_are_resolved(case, side, server) for side in SIDES)
        for name in _names(case, server):
            good, bad = (
                (case.value(side, path), path) if are_given and (path := f"{given}/{name}") else effective(case, side, server, name) for side in SIDES
            )
            if good is None or bad is None or same_argument(good[0], bad[0]):
                continue
            facts = tuple(dict.fromkeys((good[1], bad[1])))
            if not any((change := case.by_path.get(path)) is not None and change.is_folded and change.follows is None for path in facts):
                yield Argument(server, name, good[0], bad[0], facts, _is_default(case, server, name))


def _are_resolved(case: Case, side: SideName, server: str) -> bool:
    """Tell whether a side knows more arguments than were given: those that the server resolved, and no mere copy of a command line."""
    told, given = ({path.rsplit("/", 1)[1] for path, value in case.under(side, f"servers/{server}/{source}") if not is_unknown(value)}
                   for source in ("args", "given"))
    return bool(told - given)


def _is_told(case: Case, side: SideName, prefix: str) -> bool:
    return any(not is_unknown(value) for _, value in case.under(side, prefix))


def _names(case: Case, server: str) -> list[str]:
    return sorted({path.rsplit("/", 1)[1] for side in SIDES for source in ("args", "given") for path, _ in case.under(side, f"servers/{server}/{source}")})


def _is_default(case: Case, server: str, name: str) -> bool:
    both = case.known(f"servers/{server}/given/{name}")
    has_given = all(case.under(side, f"servers/{server}/given") for side in SIDES)
    return has_given and both == (None, None)
