"""One paste -> one Snapshot: cleaned, cut into the stretches of the formats that know them, parsed, merged, masked. Pure, and deaf to what it cannot read.

A path that no stretch told is not recorded. It is absent only where a stretch says that it printed everything of that kind.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import driftwatch.dumps
from driftwatch.agent.redact import Redactor
from driftwatch.dumps.clean import Lines, clean
from driftwatch.dumps.format import FENCE, Format, NoDump, Parsed, Stretch
from driftwatch.dumps.hosts import told_by_some
from driftwatch.dumps.merge import merged
from driftwatch.dumps.secrets import masked
from driftwatch.dumps.unprinted import unprinted
from driftwatch.model import ProbeResult, Snapshot

MOST_FACTS = 50_000


@dataclass(frozen=True)
class Read:
    """A stretch with the format that reads it and what it told."""

    format: Format
    lines: int
    parsed: Parsed


@cache
def formats() -> tuple[Format, ...]:
    """Return the formats: every file of this folder that offers FORMAT, by name."""
    names = sorted(one.name for one in pkgutil.iter_modules(driftwatch.dumps.__path__))
    found = [getattr(importlib.import_module(f"driftwatch.dumps.{name}"), "FORMAT", None) for name in names]
    return tuple(one for one in found if isinstance(one, Format))


def read_dump(text: str, name: str, read_as: str | None = None, redactor: Redactor | None = None) -> Snapshot:
    """Return what a paste tells. ``name`` is how errors call it; ``read_as`` is the one kind of dump to look for.

    Raises NoDump where no format knows anything in it, saying what was looked for.
    """
    wanted = tuple(one for one in formats() if read_as in (None, one.name))
    variants = [(_stretches(lines.lines, wanted), lines) for lines in clean(text)]
    stretches, lines = max(variants, key=lambda one: sum((stretch.after - stretch.first) * stretch.sure for _, stretch in one[0]))
    if read_as is not None and not stretches:
        stretches = [(one, Stretch(0, len(lines.lines), 1.0)) for one in wanted]
    read = [_parse(one, stretch, lines) for one, stretch in stretches]
    if not any(one.parsed.facts for one in read) and (read_as is not None or not read):
        raise NoDump(f"{name} was searched for " + "; ".join(sorted({one.looks_like for one in wanted})))
    count = sum(len(one.parsed.facts) for one in read)
    if count > MOST_FACTS:
        raise NoDump(f"{name} tells {count:,} facts, and at most {MOST_FACTS:,} are taken for those of one host")
    return _snapshot(read, redactor or Redactor())


def _stretches(lines: Sequence[str], among: Sequence[Format]) -> list[tuple[Format, Stretch]]:
    """Return the stretches to read, in their order: of lines that two formats want, the surer gets them and the other what is left."""
    wanted = [(one, stretch) for one in among for stretch in one.find(lines)]
    wanted.sort(key=lambda pair: (-pair[1].sure, pair[1].first, pair[1].first - pair[1].after))
    taken: dict[bool, set[int]] = {False: set(), True: set()}
    found = []
    for one, stretch in wanted:
        for left in _left(stretch, taken[one.is_nested]):
            found.append((one, left))
            taken[one.is_nested].update(range(left.first, left.after))
    return sorted(found, key=lambda pair: pair[1].first)


def _left(stretch: Stretch, taken: set[int]) -> Iterator[Stretch]:
    """Yield the parts of a stretch that nobody took."""
    first = None
    for at in range(stretch.first, stretch.after + 1):
        is_free = at < stretch.after and at not in taken
        if is_free and first is None:
            first = at
        elif not is_free and first is not None:
            yield Stretch(first, at, stretch.sure)
            first = None


def _parse(one: Format, stretch: Stretch, lines: Lines) -> Read:
    is_cut = not lines.is_whole and stretch.after == len(lines.lines)
    text = "\n".join("" if line == FENCE else line for line in lines.lines[stretch.first:stretch.after])
    return Read(one, stretch.after - stretch.first, one.parse(text if is_cut else text + "\n"))


def _snapshot(read: Sequence[Read], redactor: Redactor) -> Snapshot:
    sizes = Counter[str]()
    for one in read:
        sizes[one.format.name] += one.lines
    parsed = [one.parsed for one in read]
    facts = masked(merged(parsed) | told_by_some([(one.format.name, one.parsed.facts) for one in read]), redactor)
    return Snapshot(
        host=_only(one.host for one in parsed), taken_at=_only(one.taken_at for one in parsed), source=max(sizes, key=lambda name: sizes[name]),
        targets=tuple(target for one in parsed for target in one.targets), probes=_probes(read, redactor), facts=facts,
        volatile=tuple(dict.fromkeys(glob for one in parsed for glob in one.volatile)), symptom=next((one.symptom for one in parsed if one.symptom), None),
    )


def _only(values: Iterable[Any]) -> Any:
    """Return the one value that was told; None where none or several were."""
    told = {value for value in values if value is not None}
    return told.pop() if len(told) == 1 else None


def _probes(read: Sequence[Read], redactor: Redactor) -> dict[str, ProbeResult]:
    """Return one probe for each format with what its stretches told whole, and those of which no layout of the paste ever prints a thing."""
    found: dict[str, ProbeResult] = {}
    for name in dict.fromkeys(one.format.name for one in read):
        mine = [one for one in read if one.format.name == name]
        notes = tuple(dict.fromkeys(redactor.text(note) for one in mine for note in one.parsed.notes))
        tells = tuple(dict.fromkeys(glob for one in mine for glob in one.parsed.tells))
        found[name] = ProbeResult("ok", tells=tells or (f"dumps/{name}",), notes=notes)
    told = tuple(dict.fromkeys(path for one in read for path in (*one.parsed.facts, *one.parsed.tells)))
    globs = (glob for one in read for glob in one.format.never_prints)
    return {**unprinted(globs, told, " and ".join(sorted(found))), **found}
