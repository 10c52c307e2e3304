"""The line with which Ollama's server begins its log: ``server config env="map[NAME:value NAME:value]"``, later ``msg="server config" env=…``.

It holds the settings that count, defaults among them. A value is whole where the next name or the end of the map stands behind it in the same line. What
is empty is not set. The version in the line that says where the server listens is the server's own; the distribution called ollama is its client.

| path | what |
|---|---|
| servers/ollama/env/NAME | as the server took it: ``OLLAMA_DEBUG=1`` is true |
| servers/ollama/version | |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch

_BEGIN = re.compile(r'server config"? env="map\[')
_MARK = 'env="map['
_END = ']"'
_NAME = re.compile(r"(?:(?<=\[)| )((?:[A-Z][A-Z0-9_]{1,80}|https?_proxy|no_proxy):)")
_LISTENS = re.compile(r'msg="Listening on \S{1,120} \(version (?P<version>\d[\w.+-]{0,60})\)"')
_MOST_LINES = 8


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the line with the settings, with those that a terminal broke it into, and the line with the version."""
    for at, line in enumerate(lines):
        if _MARK in line and _BEGIN.search(line):
            yield Stretch(at, _after(lines, at), 0.9)
        elif "(version " in line and _LISTENS.search(line[:2000]):
            yield Stretch(at, at + 1, 0.9)


def _after(lines: Sequence[str], at: int) -> int:
    """Return where the map ends that begins in a line; behind that line where its end does not stand near."""
    for after in range(at, min(at + _MOST_LINES, len(lines))):
        if lines[after] == FENCE:
            break
        if _END in (_BEGIN.split(lines[after], maxsplit=1)[-1] if after == at else lines[after]):
            return after + 1
    return at + 1


def parse(text: str) -> Parsed:
    """Return the settings, or the version."""
    listens = _LISTENS.search(text)
    facts: dict[str, Any] = {"servers/ollama/version": listens["version"]} if listens else {}
    begun = _BEGIN.search(text)
    inside, end, _ = text[begun.end():].partition(_END) if begun else ("", "", "")
    pieces = ("[" + inside).split("\n") if begun else []
    for at, piece in enumerate(pieces):
        settings = _settings(piece, is_last=bool(end) and at == len(pieces) - 1)
        facts.update((fact_path("servers", "ollama", "env", name), value) for name, value in settings)
    return Parsed(facts)


def _settings(piece: str, *, is_last: bool) -> Iterator[tuple[str, str]]:
    """Yield the settings of a line of the map, but for what stands at its start: that may be the rest of a name.

    Go prints the names in order: a word that breaks it is a part of the value before.
    """
    found: list[re.Match[str]] = []
    for one in _NAME.finditer(piece):
        if not found or one[1] > found[-1][1]:
            found.append(one)
    ends = [*(one.start() for one in found), len(piece) if is_last else None]
    for one, end in zip(found, ends[1:], strict=True):
        value = piece[one.end():end] if end is not None else ""
        if value:
            yield one[1][:-1], value


FORMAT = Format(
    name="server-log", find=find, parse=parse, knows_cuts=True, looks_like="a log of Ollama's server", marks=(_MARK, "(version "),
    never_prints=("packages/*", "torch/*", "python/*", "os/*", "kernel/*", "git/*", "sources/*"),
)
