"""Rows of ``ps`` whose command starts a model server, in any choice of columns before it (``ps aux``, ``ps -ef``, ``ps -o lstart=,args=``).

| path | what |
|---|---|
| servers/FRAMEWORK/{given, args}/ARG | as launch_lines.py tells them; of several rows what all of them tell |
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from driftwatch.dumps import launch_lines
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch

_STARTED = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
_COLUMNS = re.compile(
    rf"\s{{0,8}}(?:{_STARTED}|(?:[a-z_][\w.+-]{{0,31}}\s+)?\d{{1,8}}(?:\s+[\w.,:?/+<%-]{{1,24}}){{0,9}})\s+"
    r"(?=(?:\S{0,200}/)?python[\d.]*\s+(?:-\w\s+)?(?:-m\s+(?:sglang|vllm)\b|\S{0,200}/(?:vllm|sglang)\s+serve\b)|(?:\S{0,200}/)?(?:vllm|sglang)\s+serve\b)")
_CLOCK = re.compile(r"(?<![\w.])\d{1,2}:\d\d(?::\d\d)?(?!\S)")  # of a next row that was taken for the rest of this one
_LONGEST = 16_000
_MARKS = ("sglang", "vllm")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each run of such rows, where no log tells arguments."""
    at = 0
    while at < len(lines) and not launch_lines.has_log(lines):
        after = at
        while after < len(lines) and lines[after] != FENCE and _command(lines[after]):
            after += 1
        if after > at:
            yield Stretch(at, after, 0.9)
        at = max(after, at + 1)


def _command(line: str) -> str:
    """Return the command of a row that starts a server; "" of any other line."""
    found = _COLUMNS.match(line[:_LONGEST]) if any(mark in line for mark in _MARKS) else None
    command = line[found.end():_LONGEST] if found else ""
    return "" if _CLOCK.search(command) else command


def parse(text: str) -> Parsed:
    """Return what the rows tell alike. ``ps`` prints arguments as they are, so each word between blanks is one."""
    rows = filter(None, map(_command, text.split("\n")))
    told = [launch_lines.parse_alone(shlex.join(row.split()) + "\n").facts for row in rows]
    facts = {path: value for path, value in told[0].items() if all(one.get(path) == value for one in told)} if told else {}
    return Parsed(facts, volatile=launch_lines.VOLATILE)


FORMAT = Format(name="transcript", find=find, parse=parse, looks_like="rows of ps with a command that starts SGLang or vLLM", marks=_MARKS)
