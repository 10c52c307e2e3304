"""One paste -> one Snapshot: cleaned, cut into the stretches of the formats that know them, parsed, merged, masked. Pure, and deaf to what it cannot read.

A path that no stretch told is not recorded. It is absent only where a stretch says that it printed everything of that kind.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import driftwatch.dumps
from driftwatch.agent.redact import Redactor
from driftwatch.dumps.clean import Lines, clean
from driftwatch.dumps.format import FENCE, Format, NoDump, NoFacts, Parsed, Stretch
from driftwatch.dumps.given_counts import with_given
from driftwatch.dumps.gpu_keys import under_uuids
from driftwatch.dumps.hosts import told_by_some
from driftwatch.dumps.launch_lines import is_alone
from driftwatch.dumps.merge import UNKNOWN, merged
from driftwatch.dumps.placeholders import without_placeholders
from driftwatch.dumps.secrets import left_out, masked
from driftwatch.dumps.unprinted import unprinted
from driftwatch.model import ProbeResult, Snapshot, Unknown

MOST_FACTS = 25_000
_SHORT = re.compile(r"[\s=](\d{1,2}|[\w.+-]{0,60}[.+_-]|\D)\Z")
_IS_ASIDE = re.compile(r"transcript/|os_packages_listed/|folders/[^/]+/listed_to\Z")
_VERSIONS = ("version", "torch/cuda", "cuda/runtime", "cuda/nvcc")


@dataclass(frozen=True)
class Read:
    """A stretch with the format that reads it and what it told."""

    format: Format
    lines: int
    parsed: Parsed


@cache
def formats() -> tuple[Format, ...]:
    """Return the formats: every file of this folder that offers FORMAT, and perhaps BESIDE_LOG for pastes that hold a server's log too, by name."""
    names = sorted(one.name for one in pkgutil.iter_modules(driftwatch.dumps.__path__))
    found = [getattr(importlib.import_module(f"driftwatch.dumps.{name}"), offered, None) for name in names for offered in ("FORMAT", "BESIDE_LOG")]
    return tuple(one for one in found if isinstance(one, Format))


def read_dump(text: str, name: str, read_as: str | None = None, redactor: Redactor | None = None) -> Snapshot:
    """Return what a paste tells. ``name`` is how errors call it; ``read_as`` is the one kind of dump to look for.

    Raises NoDump where no format knows anything in it, NoFacts where those that know it can tell nothing of it, saying what was looked for.
    """
    wanted = tuple(one for one in formats() if read_as in (None, one.name))
    cleaned = [replace(lines, is_whole=lines.is_whole or is_alone(text)) for lines in clean(text)]
    readings = [_read(lines, wanted, is_forced=read_as is not None) for lines in cleaned]
    read = max(readings, key=_told)
    read = [one for one in read if one.parsed.facts or one.parsed.notes or one.parsed.symptom] or read  # leftovers between dumps tell nothing
    if not any(one.parsed.facts for one in read) and (read_as is not None or not read):
        raise NoDump(f"{name} was searched for " + "; ".join(sorted({one.looks_like for one in wanted})))
    count = sum(len(one.parsed.facts) for one in read)
    if count > MOST_FACTS:
        raise NoDump(f"{name} tells {count:,} facts, and at most {MOST_FACTS:,} are taken for those of one host")
    snapshot = _snapshot(read, redactor or Redactor())
    if not (snapshot.facts or snapshot.symptom or any(one.parsed.tells for one in read)):
        raise NoFacts(_says_nothing(read, name))
    return snapshot


def _says_nothing(read: Sequence[Read], name: str) -> str:
    """Return the words for a text that was recognised and of which nothing could be told: as what, why where a note tells it, and what was looked for."""
    kinds = " and ".join(sorted({one.format.name for one in read}))
    notes = "".join(f" ({note})" for note in dict.fromkeys(note for one in read for note in one.parsed.notes))
    return f"it was read as {kinds}, and no fact stands in it{notes}; {name} was searched for " + "; ".join(sorted({one.format.looks_like for one in read}))


def _read(lines: Lines, wanted: Sequence[Format], *, is_forced: bool) -> list[Read]:
    """Return what the wanted formats read in one reading of a paste; a single format that was asked for gets it whole where it finds nothing of its own."""
    stretches = _stretches(lines.lines, wanted)
    if is_forced and not stretches:
        stretches = [(one, Stretch(0, len(lines.lines), 1.0)) for one in wanted]
    return [_parse(one, stretch, lines) for one, stretch in stretches]


def _told(read: Sequence[Read]) -> int:
    """Return how many things a reading tells, and how many kinds whole; how far a list goes and lines of commands that no format knows do not count."""
    told = {path for one in read for path, value in one.parsed.facts.items() if not _IS_ASIDE.match(path) and not isinstance(value, UNKNOWN)}
    return len(told) + len({glob for one in read for glob in one.parsed.tells})


def _stretches(lines: Sequence[str], among: Sequence[Format]) -> list[tuple[Format, Stretch]]:
    """Return the stretches to read, in their order: of lines that two formats want, the surer gets them and the other what is left."""
    text = "\n".join(lines)
    wanted = [(one, stretch) for one in among if not one.marks or any(mark in text for mark in one.marks) for stretch in one.find(lines)]
    wanted.sort(key=lambda pair: (-pair[1].sure, pair[1].first, pair[1].first - pair[1].after))
    taken: dict[bool, set[int]] = {False: set(), True: set()}
    found = []
    for one, stretch in wanted:
        for left in _left(stretch, taken[one.is_nested]):
            found.append((one, left))
            taken[one.is_nested].update(range(left.first, left.after))
    return sorted(found, key=lambda pair: pair[1].first)


def _left(stretch: Stretch, taken: set[int]) -> Iterator[Stretch]:
    """Yield the parts of a stretch that nobody took; a spare one whole or not at all."""
    if stretch.is_spare:
        yield from () if any(at in taken for at in range(stretch.first + 1, stretch.after)) else (stretch,)
        return
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
    parsed = one.parse(text if is_cut else text + "\n")
    parsed = parsed if not is_cut or one.knows_cuts else _before_the_cut(one, text, parsed)
    if next((line for line in lines.lines[stretch.after:] if line.strip(" ")), "") == FENCE:
        parsed = _before_the_fence(one, text, parsed)
    return Read(one, stretch.after - stretch.first, replace(parsed, facts=without_placeholders(parsed.facts)))


def _before_the_cut(one: Format, text: str, parsed: Parsed) -> Parsed:
    """Return what a text tells whose last line was not ended: what only that line tells is unknown.

    Not so the error that a log ends in, nor arguments: their parser leaves out one that was cut.
    """
    before, _, last = text.rpartition("\n")
    if not before.strip() or not last.strip():
        return parsed
    sure = one.parse(before + "\n").facts
    open_end = Unknown("error", f"the text ends in its row, at {last.strip()[-40:]!r}")
    facts = {path: value if "/args/" in path or path.endswith("/log/error") or (path in sure and sure[path] == value) else open_end
             for path, value in parsed.facts.items() if path in sure or not path.startswith("transcript/")}
    return replace(parsed, facts=facts)


def _before_the_fence(one: Format, text: str, parsed: Parsed) -> Parsed:
    """Return what a text tells above a fence. A version of two digits, or one that ends in a dot, is a piece in its last row; then none tells all."""
    before, _, last = text.rstrip().rpartition("\n")
    short = _SHORT.search(last)
    versions = [path for path, value in parsed.facts.items() if short and value == short[1] and path.endswith(_VERSIONS)]
    sure = one.parse(before + "\n").facts if versions else {}
    pieces = [path for path in versions if sure.get(path) != parsed.facts[path]]
    open_end = Unknown("error", f"the fence closes in its row, at {last.strip()[-40:]!r}")
    return replace(parsed, facts={**parsed.facts, **dict.fromkeys(pieces, open_end)}, tells=()) if pieces else parsed


def _snapshot(read: Sequence[Read], redactor: Redactor) -> Snapshot:
    sizes = Counter[str]()
    for one in read:
        sizes[one.format.name] += one.lines
    parsed = _one_key([one for one in read if one.format.name == "nvidia-smi"]) + [one.parsed for one in read if one.format.name != "nvidia-smi"]
    facts = masked(with_given(merged(parsed)) | told_by_some([(one.format.name, one.parsed.facts) for one in read]), redactor)
    return Snapshot(
        host=_only(one.host for one in parsed), taken_at=_only(one.taken_at for one in parsed), source=max(sizes, key=lambda name: sizes[name]),
        targets=tuple(target for one in parsed for target in one.targets), probes=_probes(read, redactor), facts=facts,
        volatile=tuple(dict.fromkeys(glob for one in parsed for glob in one.volatile)), symptom=next((one.symptom for one in parsed if one.symptom), None),
    )


def _one_key(read: Sequence[Read]) -> list[Parsed]:
    """Return what the stretches of nvidia-smi tell, each GPU under one key."""
    return [replace(one.parsed, facts=facts) for one, facts in zip(read, under_uuids([one.parsed.facts for one in read]), strict=True)]


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
        hidden = sum(left_out(one.parsed.facts, redactor) for one in mine)
        notes += (f"variables left out, since their names are not among those that are shown: {hidden}",) if hidden else ()
        tells = tuple(dict.fromkeys(glob for one in mine for glob in one.parsed.tells))
        found[name] = ProbeResult("ok", tells=tells or (f"dumps/{name}",), notes=notes)
    told = tuple(dict.fromkeys(path for one in read for path in (*one.parsed.facts, *one.parsed.tells)))
    globs = (glob for one in read for glob in one.format.never_prints)
    return {**unprinted(globs, told, " and ".join(sorted(found))), **found}
