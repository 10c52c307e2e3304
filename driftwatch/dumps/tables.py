"""The table that pip and uv print: a heading, a rule of dashes, one distribution a row. Finds tables and reads rows; knows neither tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from driftwatch.dumps.format import Parsed
from driftwatch.dumps.rows import ALL_VERSIONS, NAME, NAMED, VERSION, add_version, is_version, package, told_at_end

FEWEST_ROWS_OF_ALL = 5
_HEADING = re.compile(r"\s*Package\s+Version(?:\s+(?:Editable project location|Location|Installer|Latest|Type|Build))*\s*\Z")
_RULE = re.compile(r"\s*-{3,}(?:\s+-{2,})+\s*\Z|\s*-{20,}\s*\Z")
_ROW = re.compile(rf"\s*(?P<name>{NAME})\s+(?P<version>{VERSION})(?:\s+(?P<rest>\S.*))?\Z")
_NOISE = re.compile(r"\s*(?:WARNING|DEPRECATION|\[notice\]|Using Python|Using CPython)\b.*\Z|\s*-{3,}[\s-]*\Z")
INTERPRETER = re.compile(r"^\s*Using Python (\d+\.\d+\.\w{1,12}) environment", re.MULTILINE)
_ABRIDGED = re.compile(r"\s*(?:\.{3,}|…|\[\.\.\.\]|<snip>).*\Z")
_GREP = re.compile(r"\||\bgrep\b|--(?:outdated|uptodate|editable|user|local|not-required|exclude)|\s-[oueli]\b")


@dataclass(frozen=True)
class Table:
    """Where a table stands: ``rows`` is where its rows begin; without a heading that is also its first line."""

    first: int
    rows: int
    after: int

    @property
    def has_heading(self) -> bool:
        """Tell whether its heading was seen."""
        return self.rows > self.first


def tables(lines: Sequence[str]) -> Iterator[Table]:
    """Yield the tables that have a heading or a rule."""
    at = 0
    while at < len(lines):
        start = _rows_start(lines, at)
        if start == at:
            at += 1
            continue
        end = _rows_end(lines, start)
        yield Table(at, start, end)
        at = max(end, at + 1)


def headless(lines: Sequence[str], first: int) -> Table | None:
    """Return the table whose rows begin at a line; None where there is none."""
    end = _rows_end(lines, first)
    return Table(first, first, end) if end > first else None


def is_row(line: str) -> bool:
    """Tell whether a line is a row with a name and a version that has a dot."""
    found = _ROW.match(line)
    return found is not None and "." in found["version"] and len(line.split()) in (2, 3)


def _rows_start(lines: Sequence[str], at: int) -> int:
    """Return where the rows begin below a heading or rule at a line; the line itself where there is none."""
    if not _HEADING.match(lines[at]):
        return at
    below = at + 1
    return below + 1 if below < len(lines) and _RULE.match(lines[below]) else below


def _rows_end(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and (_ROW.match(lines[at]) or _NOISE.match(lines[at]) or _ABRIDGED.match(lines[at]) or _is_loose_name(lines, at)):
        at += 1
    return at


def _is_loose_name(lines: Sequence[str], at: int) -> bool:
    """Tell whether a line is a name alone, where the paste ends or the fence closes: a row that was cut."""
    return at + 1 == len(lines) and NAMED.match(lines[at].strip()) is not None


def parse_table(text: str, *, is_filtered: bool = False) -> Parsed:
    """Return what a table tells. It tells of all packages if its heading stands there, no row was cut or left out, and no filter was named."""
    lines = text.split("\n")
    is_cut = not text.endswith("\n")
    facts: dict[str, Any] = {}
    for at, line in enumerate(lines):
        found = _ROW.match(line)
        if found and not _HEADING.match(line) and is_version(found["version"]):
            add_version(facts, found["name"], told_at_end(found["version"], is_cut=is_cut and at == len(lines) - 1))
            facts.update(_location(found["name"], found["rest"]))
    has_heading = any(_HEADING.match(line) for line in lines[:3])
    is_abridged = any(_ABRIDGED.match(line) for line in lines)
    is_all = has_heading and not (is_cut or is_abridged or is_filtered) and len(facts) >= FEWEST_ROWS_OF_ALL
    return Parsed(facts, tells=(ALL_VERSIONS,) if is_all else (), notes=() if is_all else ("the list may not be whole",))


def _location(name: str, rest: str | None) -> dict[str, Any]:
    """Return where an editable project lies, if the row tells it."""
    where = (rest or "").split(" ")[0]
    return {package(name, "location"): where, package(name, "editable"): True} if where.startswith(("/", "~")) or where[1:3] == ":\\" else {}


def interpreter(text: str) -> dict[str, str]:
    """Return the Python whose packages are listed, as uv says it above a list."""
    found = INTERPRETER.search(text)
    return {"python/version": found[1]} if found else {}


def is_filtered(command: str) -> bool:
    """Tell whether a command line shows only some of the packages."""
    return _GREP.search(command) is not None
