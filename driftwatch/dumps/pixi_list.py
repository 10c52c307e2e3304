"""``pixi list``: name, version, build, size, kind and source a row. Prints what pixi installed into one environment, from conda and from PyPI.

| path | what |
|---|---|
| packages/NAME/version | as printed |
| packages/NAME/channel, conda_build | the last part of the channel's address, ``pypi`` for what is from there; the build of a conda package |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.conda_rows import NAME, add_row
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.rows import ALL_VERSIONS, VERSION, commands_above
from driftwatch.dumps.tables import is_filtered

COMMANDS = ("pixi list", "pixi ls")
FEWEST_ROWS = 2
FILTERED = "--explicit"
_HEADING = re.compile(r"\s*(?:Package|Name)\s+Version\s+Build\s+(?:Timestamp\s+)?Size\s+Kind(?:\s+\w+){0,3}\s*\Z")
_ROW = re.compile(
    rf"\s*(?P<name>{NAME})\s+(?P<version>{VERSION})(?:\s+(?P<build>[\w.+-]{{1,80}}))?\s+\d{{1,6}}(?:\.\d{{1,3}})? (?:[KMGT]i?)?B\s+(?P<kind>conda|pypi)"
    r"(?:\s+(?P<source>\S{1,400})(?:\s\(editable\))?)?\s*\Z")
_CHANNEL = re.compile(r"https?://\S{1,300}/(?P<channel>[\w.-]{1,80})/?\Z")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield runs of rows, with the heading and the command above."""
    at = 0
    while at < len(lines):
        after = at
        while after < len(lines) and lines[after] != FENCE and (_ROW.match(lines[after]) or (after == at and _HEADING.match(lines[after]))):
            after += 1
        if after - at >= FEWEST_ROWS:
            yield Stretch(at - bool(commands_above(lines, at, COMMANDS, 1)), after, 0.97)
        at = max(after, at + 1)


def parse(text: str) -> Parsed:
    """Return the versions. A list under its heading, without a cut or a filter, tells of all packages."""
    lines = text.split("\n")
    is_cut = not text.endswith("\n")
    facts: dict[str, Any] = {}
    for at, line in enumerate(lines):
        if found := _ROW.match(line):
            source = _CHANNEL.match(found["source"] or "") if not (is_cut and at == len(lines) - 1) else None
            channel = "pypi" if found["kind"] == "pypi" else source["channel"] if source else None
            add_row(facts, found["name"], found["version"], channel=channel, conda_build=found["build"])
    command = next((line for line in lines[:1] if any(word in line for word in COMMANDS)), "")
    is_all = not is_cut and any(map(_HEADING.match, lines[:3])) and not is_filtered(command) and FILTERED not in command
    return Parsed(facts, tells=(ALL_VERSIONS,) if is_all else (), notes=() if is_all else ("the list may not be whole",))


FORMAT = Format(
    name="pixi-list", find=find, parse=parse, knows_cuts=True, looks_like="pixi list", marks=("conda", "pypi"),
    never_prints=("driver/*", "gpus/*", "env/*", "os/*", "kernel/*", "servers/*", "packages/*/record", "packages/*/imported_version"),
)
