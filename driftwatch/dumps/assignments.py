"""Lines ``NAME=value`` and ``export NAME=value`` right above a command in the same fence: what its ``$NAME`` stands for. Pure text; runs nothing.

A value counts as it stands; one that a shell would have made up itself stays open, and so does what stands within single quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from driftwatch.dumps.format import FENCE
from driftwatch.dumps.shell import Prompted, Simple, prompted, simple_commands

_MOST_LINES = 60
_LINE = re.compile(r"\s{0,8}(?:export )?[A-Za-z_]\w{0,120}=")
_ASIDE = re.compile(r"\s*(?:#.*)?\Z")
_LITERAL = re.compile(r"[\w./:@,+=-]{1,400}\Z")
_NAMED = re.compile(r"(?<!\\)\$(?:\{(\w{1,120})\}|(\w{1,120}))")
_QUOTED = re.compile(r"'[^'$]*\$[^']*'")


def first_above(lines: Sequence[str], at: int) -> int:
    """Return where the assignments begin that stand above a line; the line itself where none do, or where they are what a prompted command printed."""
    first = here = at
    while here > max(0, at - _MOST_LINES) and lines[here - 1] != FENCE and (_ASIDE.match(lines[here - 1]) or _commands(lines[here - 1])):
        here -= 1
        first = first if _ASIDE.match(lines[here]) else here
    return at if here and lines[here - 1] != FENCE and prompted(lines[here - 1]) else first


def _commands(line: str) -> tuple[Simple, ...]:
    """Return the commands of a line that does nothing but assign; nothing for any other."""
    found = simple_commands(Prompted(line, "bare")) if _LINE.match(line) and prompted(line) is None else ()
    return found if all(not one.words or one.program == "export" for one in found) else ()


def pairs(line: str) -> Iterator[tuple[str, str, bool]]:
    """Yield name, value and whether it was exported for each variable that a line assigns, where it does nothing else."""
    for one in _commands(line):
        yield from ((name, value, False) for name, value in one.variables)
        yield from ((name, value, True) for name, sign, value in (word.partition("=") for word in one.words[1:]) if sign)


def expanded(command: str, known: Mapping[str, str]) -> str:
    """Return a command line with the variables put in whose values are known and are one plain word."""
    if "$" not in command or _QUOTED.search(command):
        return command
    return _NAMED.sub(lambda found: _plain(known.get(found[1] or found[2], "")) or found[0], command)


def _plain(value: str) -> str:
    return value if _LITERAL.match(value) else ""
