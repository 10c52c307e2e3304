"""``pip show NAME``: blocks that begin with ``Name:`` and ``Version:``. Tells of the packages that were asked for and of no other.

| path | what |
|---|---|
| packages/NAME/version, location | as printed |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.rows import NAME, VERSION, add_version, package, told_at_end

_NAME = re.compile(rf"\s*Name: (?P<name>{NAME})\s*\Z")
_VERSION = re.compile(rf"\s*Version: (?P<version>{VERSION})\s*\Z")
_FIELD = re.compile(
    r"\s*(?:Summary|Home-page|Author(?:-email)?|License(?:-Expression)?|(?:Editable project l|L)ocation|Requires|Required-by|Name|Version):(?: .*)?\Z")
_LOCATION = re.compile(r"\s*(?:Location|Editable project location): (?P<folder>\S.{0,400})\Z")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each block from its name to its last field."""
    at = 0
    while at < len(lines):
        if not (_NAME.match(lines[at]) and at + 1 < len(lines) and _VERSION.match(lines[at + 1])):
            at += 1
            continue
        after = at + 2
        while after < len(lines) and _FIELD.match(lines[after]) and not _NAME.match(lines[after]):
            after += 1
        yield Stretch(at, after, 0.85)
        at = after


def parse(text: str) -> Parsed:
    """Return the version and the place of one package."""
    facts: dict[str, Any] = {}
    lines = text.split("\n")
    name = ""
    for at, line in enumerate(lines):
        is_cut = at == len(lines) - 1
        if found := _NAME.match(line):
            name = found["name"]
        elif found := _VERSION.match(line):
            add_version(facts, name, told_at_end(found["version"], is_cut=is_cut))
        elif (found := _LOCATION.match(line)) and not is_cut:
            facts[package(name, "location")] = found["folder"]
    return Parsed(facts)


FORMAT = Format(name="transcript", find=find, parse=parse, knows_cuts=True, looks_like="pip show NAME")
