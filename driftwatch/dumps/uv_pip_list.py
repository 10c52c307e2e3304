"""``uv pip list``: pip's table, known by the command above it or by the Python that uv names there. Same facts as pip_list.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.pip_list import FORMAT as PIP_LIST
from driftwatch.dumps.rows import commands_above
from driftwatch.dumps.tables import INTERPRETER, interpreter, is_filtered, parse_table, tables

COMMAND = ("uv pip list",)


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the tables below the command, or below uv's own line."""
    for table in tables(lines):
        if commands_above(lines, table.first, COMMAND, 2) or (table.first and INTERPRETER.match(lines[table.first - 1])):
            yield Stretch(table.first - 1, table.after, 0.95)


def parse(text: str) -> Parsed:
    """Return the versions of a table."""
    head, _, rest = text.partition("\n")
    told = parse_table(rest, is_filtered=is_filtered(head))
    return replace(told, facts={**told.facts, **interpreter(text)})


FORMAT = Format(name="uv-pip-list", find=find, parse=parse, knows_cuts=True, looks_like="uv pip list", never_prints=PIP_LIST.never_prints)
