"""``pip list``: its table, also without the heading, and its JSON. Prints every distribution of one interpreter and nothing else.

| path | what |
|---|---|
| packages/NAME/version | as pip prints it: a local part such as ``+cu128`` only where the wheel's own metadata has one |
| packages/NAME/location, editable | of an editable project |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.json_text import json_stretches, salvage
from driftwatch.dumps.rows import ALL_VERSIONS, add_version, commands_above, is_version, package
from driftwatch.dumps.tables import headless, is_filtered, is_row, parse_table, tables

COMMANDS = ("pip list", "pip3 list")
FEWEST_ROWS = 4
_OBJECT = re.compile(r'\s*\[?\s*\{\s*"name"\s*:\s*"')


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield tables with their heading and command, then rows without them, then JSON lists."""
    for table in tables(lines):
        yield Stretch(_first(lines, table.first), table.after, 0.9)
    yield from _loose(lines)
    for first, after in json_stretches(lines):
        if _OBJECT.match(" ".join(lines[first:first + 4])) and '"base_url"' not in " ".join(lines[first:first + 12]):
            yield Stretch(first, after, 0.9)


def _first(lines: Sequence[str], at: int) -> int:
    """Return where a table begins: at the command above it, if it is shown."""
    return at - 1 if commands_above(lines, at, COMMANDS, 1) else at


def _loose(lines: Sequence[str]) -> Iterator[Stretch]:
    at = 0
    while at < len(lines):
        table = headless(lines, at) if is_row(lines[at]) else None
        if table is None:
            at += 1
            continue
        count = sum(is_row(line) for line in lines[at:table.after])
        is_named = bool(commands_above(lines, at, COMMANDS, 2))
        if count >= FEWEST_ROWS or is_named:
            yield Stretch(_first(lines, at), table.after, 0.6 if is_named else 0.4)
        at = table.after


def parse(text: str) -> Parsed:
    """Return the versions of a table or of a JSON list."""
    if _OBJECT.match(text[:400]):
        return parse_json(text)
    head, _, rest = text.partition("\n")
    return parse_table(rest, is_filtered=is_filtered(head)) if any(word in head for word in COMMANDS) else parse_table(text)


def parse_json(text: str) -> Parsed:
    """Return the versions of a JSON list of objects with name and version; of one that was cut, those of its whole objects."""
    entries, is_whole = salvage(text)
    facts: dict[str, Any] = {}
    for one in entries:
        name, version = one.get("name"), one.get("version")
        if isinstance(name, str) and isinstance(version, str) and is_version(version):
            add_version(facts, name, version)
            if isinstance(one.get("editable_project_location"), str):
                facts.update({package(name, "location"): one["editable_project_location"], package(name, "editable"): True})
    return Parsed(facts, tells=(ALL_VERSIONS,) if is_whole else ())


FORMAT = Format(
    name="pip-list", find=find, parse=parse, knows_cuts=True, looks_like="pip list (table or JSON)",
    never_prints=("driver/*", "gpus/*", "env/*", "os/*", "kernel/*", "python/*", "servers/*", "packages/*/record", "packages/*/imported_version"),
)
