"""``conda list --export``: one ``name=version=build`` a row. Prints what conda and pip installed into one environment.

| path | what |
|---|---|
| packages/NAME/version, conda_build | as printed |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.conda_rows import BUILD, NAME, add_row
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.rows import ALL_VERSIONS, VERSION, commands_above
from driftwatch.dumps.tables import is_filtered
from driftwatch.model import Unknown

COMMANDS = ("conda list", "mamba list")
FEWEST_ROWS = 3
_HEADING = re.compile(r"\s*# (?:This file may be used to create an environment using:|\$ (?:conda|mamba|micromamba) create --name <env> --file <this file>)")
_COMMENT = re.compile(r"\s*# (?:\$ |platform: |created-by: |This file )")
_ROW = re.compile(rf"\s*(?P<name>{NAME})=(?P<version>{VERSION})=(?P<build>{BUILD})\s*\Z")
_PIECE = re.compile(rf"\s*(?P<name>{NAME})(?:=(?P<version>[\w.+!-]{{0,80}})=?)?\s*\Z")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield runs of rows, with their heading, the command above, and a piece of a row that ends them."""
    at = 0
    while at < len(lines):
        after, count = _run(lines, at)
        is_headed = _HEADING.match(lines[at]) is not None
        if count >= FEWEST_ROWS or (count and is_headed):
            is_named = bool(commands_above(lines, at, COMMANDS, 1))
            is_piece = after < len(lines) and lines[after] != FENCE and lines[after].strip() and _PIECE.match(lines[after]) is not None
            yield Stretch(at - is_named, after + bool(is_piece), 0.97)
        at = max(after, at + 1)


def _run(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return where a run of rows and comments ends, and how many rows it has."""
    count = 0
    while at < len(lines) and lines[at] != FENCE:
        is_row = "=" in lines[at] and _ROW.match(lines[at]) is not None
        if not is_row and not _COMMENT.match(lines[at]):
            break
        at, count = at + 1, count + is_row
    return at, count


def parse(text: str) -> Parsed:
    """Return the versions with their builds. A list under its heading, without a cut or a filter, tells of all packages."""
    lines = text.split("\n")
    facts: dict[str, Any] = {}
    is_cut = not text.endswith("\n")
    for at, line in enumerate(lines):
        if found := _ROW.match(line):
            add_row(facts, found["name"], found["version"], conda_build=None if is_cut and at == len(lines) - 1 else found["build"])
        elif (piece := _PIECE.match(line)) and line.strip() and at:
            is_cut = True
            if piece["version"]:
                add_row(facts, piece["name"], Unknown("error", f"the text ends in its row, at {line.strip()[:60]!r}"))
    is_all = not is_cut and not is_filtered(lines[0]) and any(_HEADING.match(line) for line in lines[:5])
    return Parsed(facts, tells=(ALL_VERSIONS,) if is_all else (), notes=() if is_all else ("the list may not be whole",))


FORMAT = Format(
    name="conda-list", find=find, parse=parse, knows_cuts=True, looks_like="conda list --export (name=version=build)", marks=("=",),
    never_prints=("driver/*", "gpus/*", "env/*", "os/*", "kernel/*", "servers/*", "packages/*/record", "packages/*/imported_version"),
)
