"""``poetry show``: name, version and a description a row. The versions are those that the lock file pins for packages that are installed under that name.

| path | what |
|---|---|
| packages/NAME/version | as printed; known to be absent where ``(!)`` says that it is not installed |
| packages/NAME/locked_commit | of a package that is locked to a commit |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.rows import NAME, VERSION, add_version, command_of, commands_above, package, version_path
from driftwatch.model import Unknown

COMMANDS = ("poetry show",)
_ROW = re.compile(
    rf"\s*(?P<name>{NAME})\s{{1,80}}(?P<missing>\(!\)\s{{1,20}})?(?P<version>{VERSION})(?: (?P<commit>[0-9a-f]{{7,40}})(?=\s|\Z))?(?:\s.{{0,400}})?\Z")
_TREE = re.compile(r"\s*[\u2502\u251c\u2514|`]")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the rows below the command, with a fence or a blank line between at most."""
    at = 0
    while at < len(lines):
        first = after = _first_row(lines, at) if COMMANDS[0] in lines[at] else at + 1
        while after < len(lines) and COMMANDS[0] in lines[at] and _is_row(lines[after]):
            after += 1
        if after > first:
            is_next = first == at + 1 and bool(command_of(lines[at]) or lines[at].strip().startswith(COMMANDS))
            yield Stretch(at if is_next else first, after, 0.9)
        at = after


def _first_row(lines: Sequence[str], at: int) -> int:
    """Return where the output of a command begins: at the next line that says something, of the three below."""
    return next((one for one in range(at + 1, min(at + 4, len(lines))) if lines[one] not in ("", FENCE)), at + 1)


def _is_row(line: str) -> bool:
    return line != FENCE and not command_of(line) and (_ROW.match(line) is not None or _TREE.match(line) is not None)


def parse(text: str) -> Parsed:
    """Return the versions. What is installed without being in the lock file is not listed, so nothing else is known to be absent."""
    lines = text.split("\n")
    facts: dict[str, Any] = {}
    for at, line in enumerate(lines):
        found = _ROW.match(line) if not commands_above([line], 1, COMMANDS) else None
        if found and found["missing"]:
            facts[version_path(found["name"])] = None
        elif found:
            is_at_end = at == len(lines) - 1 and found.end("version") == len(line)
            add_version(facts, found["name"], Unknown("error", f"the text ends in its row, at {line[-40:]!r}") if is_at_end else found["version"])
            facts.update({package(found["name"], "locked_commit"): found["commit"]} if found["commit"] else {})
    return Parsed(facts, notes=("poetry show prints the versions of the lock file; it tells of the environment only whether a name is installed",))


FORMAT = Format(
    name="poetry-show", find=find, parse=parse, knows_cuts=True, looks_like="poetry show", marks=COMMANDS,
    never_prints=("driver/*", "gpus/*", "env/*", "os/*", "kernel/*", "servers/*", "packages/*/record", "packages/*/imported_version"),
)
