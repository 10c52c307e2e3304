"""``env``, ``printenv`` and ``export -p``: variables of one shell, not of a server. Values of names that are not listed are left out by read.py.

| path | what |
|---|---|
| env/NAME | the value |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.rows import command_of, commands_above
from driftwatch.dumps.tables import is_filtered

COMMANDS = ("env", "printenv", "export -p")
FEWEST_ROWS = 3
FEWEST_OF_ALL = 10
MOST_OTHER_LINES = 2
ROW = re.compile(r"\s{0,8}(?:declare -x |export )?(?P<name>[A-Za-z_][A-Za-z0-9_]{0,120})=(?!=)(?P<value>.*)\Z")
_COMMAND = re.compile(r"(?:^|[\s;&|$#>])(?:env|printenv|export -p)\s*(?:$|\||;|&)")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield runs of variables; other lines may stand among them, as pieces of a value of several lines."""
    at = 0
    while at < len(lines):
        if not ROW.match(lines[at]):
            at += 1
            continue
        after, count = _run(lines, at)
        is_named = _COMMAND.search(commands_above(lines, at, COMMANDS, 1)) is not None
        if count >= FEWEST_ROWS or is_named:
            yield Stretch(at - is_named, after, 0.7 if is_named else 0.5)
        at = after


def _run(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return where a run ends, and how many variables it has."""
    after, others, count = at, 0, 0
    while at < len(lines) and lines[at] != FENCE and others <= MOST_OTHER_LINES and not command_of(lines[at]):
        if ROW.match(lines[at]):
            after, others, count = at + 1, 0, count + 1
        else:
            others += 1
        at += 1
    return after, count


def parse(text: str) -> Parsed:
    """Return the variables. A long list with a PATH and without a cut or a filter tells of all."""
    facts = variables(text)
    is_all = text.endswith("\n") and len(facts) >= FEWEST_OF_ALL and "env/PATH" in facts and not is_filtered(text.partition("\n")[0].partition("=")[0])
    return Parsed(facts, tells=("env/*",) if is_all else ())


def variables(text: str) -> dict[str, Any]:
    """Return the variables that lines ``NAME=VALUE`` tell, by path; a last one that may have been cut is left out."""
    facts: dict[str, Any] = {}
    lines = text.split("\n")
    for at, line in enumerate(lines):
        found = ROW.match(line)
        if found and (at < len(lines) - 1):
            facts[f"env/{found['name']}"] = _unquoted(found["value"])
    return facts


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


FORMAT = Format(
    name="env", find=find, parse=parse, knows_cuts=True, looks_like="env (NAME=VALUE lines)",
    never_prints=("packages/*", "driver/*", "gpus/*", "os/*", "kernel/*", "python/*", "servers/*", "torch/*"),
)
