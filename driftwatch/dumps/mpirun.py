"""Command lines of Open MPI's ``mpirun`` that start something else than a model server: the variables that they hand to all ranks.

``-x NAME`` alone takes over what the shell has, which nobody printed. Of several commands that set other variables none is told: one may be the cure.

| path | what |
|---|---|
| env/NAME | given with ``-x NAME=VALUE`` |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.launch_lines import command_end, simples
from driftwatch.dumps.placeholders import OPEN, is_open
from driftwatch.dumps.shell import prompted

_PROGRAMS = ("mpirun", "mpiexec", "orterun")
_TYPED = re.compile(r"\s{0,8}(?:(?:sudo|time|nohup) )?(?:\S{0,200}/)?(?:mpirun|mpiexec|orterun)\s")
_PAIR = re.compile(r"(?P<name>[A-Z][A-Z0-9_]{1,120})=(?P<value>.*)\Z", re.DOTALL)
_LAST_WORD = re.compile(r"(?<!\s)\s+\S{0,400}\Z")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the commands, where all of them set the same."""
    found = [Stretch(at, command_end(lines, at), 0.8) for at, line in enumerate(lines) if "mpi" in line and _is_command(line)]
    told = [dict(_variables("\n".join(lines[one.first:one.after]))) for one in found]
    yield from found if told and told[0] and all(one == told[0] for one in told) else ()


def _is_command(line: str) -> bool:
    shown = prompted(line)
    return _TYPED.match(shown.text[:400] if shown else line[:400]) is not None


def parse(text: str) -> Parsed:
    """Return the variables; of a text that was cut not its last word, which may be a piece."""
    return Parsed(dict(_variables(text if text.endswith("\n") else _LAST_WORD.sub("", text))))


def _variables(text: str) -> Iterator[tuple[str, Any]]:
    for simple in simples(text.rstrip("\n").split("\n")):
        given = [_PAIR.match(word) for flag, word in pairwise(simple.words) if flag == "-x"] if simple.program in _PROGRAMS else []
        yield from ((f"env/{one['name']}", OPEN if is_open(one["value"]) else one["value"]) for one in given if one)


FORMAT = Format(name="transcript", find=find, parse=parse, knows_cuts=True, looks_like="mpirun -x NAME=VALUE", marks=_PROGRAMS)
