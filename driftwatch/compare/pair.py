"""Two snapshots become changes: changed, added, removed or unknown, fact by fact. Never takes an open question for an answer.

What is unknown is told once, at the place that did not answer: a whole probe as ``probes/NAME``, a part that could not be read at its own path.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from driftwatch.compare import equal
from driftwatch.compare.aligned import aligned
from driftwatch.compare.change import Change, Kind
from driftwatch.compare.fold import folded
from driftwatch.compare.nested import difference
from driftwatch.compare.profiles import sides_asked
from driftwatch.model import ANSWERED, Answer, Known, Snapshot, Unknown, is_unknown
from driftwatch.other_names import asker_of

_COMPANIONS = {"text_file": "text_version", "imported_file": "imported_version"}  # told together with the other one, or not at all
_NEVER_TRUE = frozenset({str, list, type(None)})
_OF_ANY_SERVER = frozenset({"log", "args", "running", "leftovers"})  # what is known of a server that does not run


@dataclass
class _Sides:
    """The pair while it is compared: what holds for both, and the open questions by the place that did not answer."""

    good: Snapshot
    bad: Snapshot
    is_first_hand: bool
    is_lenient: bool
    has_one_key: bool
    unknown: dict[str, tuple[Answer, Answer]] = field(default_factory=dict)
    covered: dict[str, int] = field(default_factory=dict)


def compare(good: Snapshot, bad: Snapshot) -> tuple[Change, ...]:
    """Return every fact that is not the same on both sides, sorted by path; volatile and following ones are folded, not left out."""
    good, bad = aligned(good, bad)
    first_hand = {good.source, bad.source} <= equal.FIRST_HAND
    sides = _Sides(good, bad, first_hand, equal.are_two_sources(good, bad), equal.have_one_key(good, bad))
    unequal = _unequal(good.facts, bad.facts)
    nowhere = _servers_nowhere(good, bad) if any(path[:8] == "servers/" for path in unequal) else ()
    changes = [change for path in unequal if not path.startswith(nowhere) and (change := _changed(sides, path)) is not None]
    _add_probes(sides)
    changes += [_open(sides, path) for path in sides.unknown]
    done = folded(sorted(changes, key=lambda change: change.path), good, bad)
    return tuple(_with_detail(change) for change in done)


def _unequal(good: Any, bad: Any) -> list[str]:
    """Return the paths whose stored values are not plainly equal. This loop sees every fact, so it does as little as it can: lists hold no yes and no."""
    missing = object()
    found = [path for path, value in good.items()
             if (other := bad.get(path, missing)) != value or (value.__class__ not in _NEVER_TRUE and not equal.is_equal(value, other))]
    if len(bad) > len(good) - sum(path not in bad for path in found):
        found += [path for path in bad if path not in good]
    return found


def _servers_nowhere(good: Snapshot, bad: Snapshot) -> tuple[str, ...]:
    """Return the tops of the servers that run on neither side and of which nothing is known: where one side does not even name them, nothing differs."""
    known: dict[str, bool] = {}
    told = [one for side in (good, bad) for one in side.facts.items() if one[0][:8] == "servers/"]
    for path, value in told:
        _, name, *rest = path.split("/")
        is_nothing = is_unknown(value) or (rest == ["running"] and value is False)
        known[name] = known.get(name, False) or not is_nothing or (rest == ["running"] and is_unknown(value))
    return tuple(f"servers/{name}/" for name, is_known in known.items() if not is_known)


def _changed(sides: _Sides, path: str) -> Change | None:
    good, bad = _answer(sides.good, sides.bad, path, sides=sides), _answer(sides.bad, sides.good, path, sides=sides)
    if isinstance(good, Unknown) or isinstance(bad, Unknown):
        if not equal.is_asked_in_vain(good, bad):
            _note_unknown(sides, path, good, bad)
        return None
    if equal.is_equal(good.value, bad.value) or equal.is_shortened(path, good.value, bad.value):
        return None
    if sides.is_lenient and equal.is_same_thing(path, good.value, bad.value):
        return None
    incomparable = _incomparable(sides, path, good, bad)
    if incomparable is not None:
        sides.unknown[path] = incomparable
        return None
    kind: Kind = "added" if good.value is None else "removed" if bad.value is None else "changed"
    return Change(path, kind, good, bad)


def _incomparable(sides: _Sides, path: str, good: Known, bad: Known) -> tuple[Answer, Answer] | None:
    """Return what stands for two unequal values that tell of no change: asked on one side only, masked, or kept under two keys."""
    if _is_told_in_vain(good.value, bad.value):
        return good, equal.MASKED
    if not sides.has_one_key and equal.differ_in_secrets_only(good.value, bad.value):
        return good, equal.OTHER_KEY
    return sides_asked(sides.good, sides.bad, path)


def _is_told_in_vain(good: Any, bad: Any) -> bool:
    """Tell whether a thing is there on both sides, but masked on one of them."""
    return None not in (good, bad) and (equal.is_masked(good) or equal.is_masked(bad))


def _answer(side: Snapshot, other: Snapshot, path: str, *, sides: _Sides) -> Answer:
    """Return what a side knows of a fact that the other may have told.

    Beyond ``Snapshot.get``: a probe that was never planned here answers nothing, even where a broader probe has a glob that covers its paths; and where
    no server runs, the environment and the processes of one are not absent but unknowable.
    """
    if path in side.facts:
        return side.get(path)
    found = side.get(path)
    if isinstance(found, Unknown):
        return found
    teller = other.owner(path)
    if sides.is_first_hand and teller is not None and teller not in side.probes:
        return Unknown("not_recorded", f"{teller}: was not asked")
    return _of_main(side, path) or _of_no_server(side, path) or found


def _of_main(side: Snapshot, path: str) -> Unknown | None:
    """Return why a companion fact is unknown: the fact that it belongs to was not read."""
    top, _, last = path.rpartition("/")
    main = _COMPANIONS.get(last)
    found = side.get(f"{top}/{main}") if main is not None else None
    return found if isinstance(found, Unknown) else None


def _of_no_server(side: Snapshot, path: str) -> Unknown | None:
    parts = path.split("/")
    if parts[0] != "servers" or len(parts) < 3 or parts[2] in _OF_ANY_SERVER:
        return None
    running = side.get(f"servers/{parts[1]}/running")
    if isinstance(running, Known) and running.value is True:
        return None
    return Unknown("not_recorded", f"no {parts[1]} server runs there")


def _note_unknown(sides: _Sides, path: str, good: Answer, bad: Answer) -> None:
    if isinstance(good, Unknown) and isinstance(bad, Unknown) and good.status == bad.status:
        return
    side, other = (sides.good, sides.bad) if isinstance(good, Unknown) else (sides.bad, sides.good)
    place = _place_of_no_server(sides, path) or _place(side, other, path)
    if place == path:
        sides.unknown[path] = (good, bad)
        return
    sides.unknown.setdefault(place, (good, bad))
    sides.covered[place] = sides.covered.get(place, 0) + 1


def _place_of_no_server(sides: _Sides, path: str) -> str:
    """Return the one place that stands for all processes of a server that does not run on a side; empty where it is not about one."""
    idle = any(path not in side.facts and isinstance(side.get(path), Known) and _of_no_server(side, path) is not None for side in (sides.good, sides.bad))
    return "/".join([*path.split("/")[:2], "given"]) if idle else ""


def _place(side: Snapshot, other: Snapshot, path: str) -> str:
    """Return the place at which a side did not answer: the fact itself, the part above it, the server, or the probe."""
    if path in side.facts:
        return path
    if _of_main(side, path) is not None:
        return f"{path.rpartition('/')[0]}/{_COMPANIONS[path.rpartition('/')[2]]}"
    cut = path.rfind("/")
    while cut > 0:
        if is_unknown(side.facts.get(path[:cut])):
            return path[:cut]
        cut = path.rfind("/", 0, cut)
    owner = side.owner(path)
    if owner is None or side.probes[owner].status in ANSWERED:
        owner = other.owner(path)
    if owner is None:
        return path
    return f"probes/{asker_of(owner, path)}"


def _add_probes(sides: _Sides) -> None:
    """Add the probes that answered on one side only, or failed in two ways, even if no single fact shows it."""
    for name in sides.good.probes.keys() & sides.bad.probes.keys():
        one, other = sides.good.probes[name].status, sides.bad.probes[name].status
        if one != other and not (one in ANSWERED and other in ANSWERED):
            sides.unknown.setdefault(f"probes/{name}", (Known(None), Known(None)))


def _open(sides: _Sides, path: str) -> Change:
    good, bad = sides.unknown[path]
    if path.startswith("probes/"):
        name = path.removeprefix("probes/")
        one, other = _of_probe(sides.good, name), _of_probe(sides.bad, name)
        is_asked = name in sides.good.probes or name in sides.bad.probes
        if is_asked and (isinstance(one, Unknown) or isinstance(other, Unknown)):
            good, bad = one, other
    elif path in sides.covered:
        told = Known(f"{sides.covered[path]} facts")
        good, bad = good if isinstance(good, Unknown) else told, bad if isinstance(bad, Unknown) else told
    return Change(path, "unknown", good, bad)


def _of_probe(side: Snapshot, name: str) -> Answer:
    result = side.probes.get(name)
    if result is None:
        return Unknown("not_recorded", f"{name}: was not asked")
    return Known(result.status) if result.status in ANSWERED else Unknown(result.status, result.reason)


def _with_detail(change: Change) -> Change:
    if change.is_folded or not isinstance(change.good, Known) or not isinstance(change.bad, Known):
        return change
    detail = difference(change.good.value, change.bad.value)
    return replace(change, detail=detail) if detail else change
