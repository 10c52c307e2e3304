"""Output of commands that answer in one line, and of the loader's list: whoami, id -un, pwd, hostname, ldconfig -p.

| path | what |
|---|---|
| transcript/COMMAND/answer | the line |
| loader/picks/NAME, loader/also/NAME | the file of a library's first entry in the loader's cache, and those of its further ones |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.shell import Simple, Told
from driftwatch.dumps.shell_other import name_of

_CACHED = re.compile(r"\s*(\S+\.so[\w.]*) \(([^)]*)\) => (/\S+)\s*\Z")
_CACHE_HEAD = re.compile(r"\s*\d+ libs found in cache")
_WORD = re.compile(r"\S{1,200}\Z")
_MOST = 4000


def read_word(command: Simple, lines: Sequence[str]) -> Told:
    """Return the one word that a command answers."""
    is_asked = command.program != "id" or command.has("-u", "-n", "-g", "-G")
    text = lines[0].strip() if lines and is_asked else ""
    name = " ".join(command.words) if command.program == "id" else name_of(command)
    return Told(1, {fact_path("transcript", name, "answer"): text}) if _WORD.match(text) else Told(0, {})


def read_loader(command: Simple, lines: Sequence[str]) -> Told:
    """Return what the loader's cache holds, as ``ldconfig -p`` lists it: of each name the first entry is what a process gets."""
    found: dict[str, list[str]] = {}
    used = 0
    for line in lines[:_MOST] if command.has("-p", "--print-cache") else ():
        row = _CACHED.match(line)
        if row is None and not _CACHE_HEAD.match(line):
            break
        if row is not None:
            found.setdefault(row.group(1), []).append(row.group(3))
        used += 1
    facts: dict[str, Any] = {fact_path("loader", "picks", name): paths[0] for name, paths in found.items()}
    facts.update({fact_path("loader", "also", name): paths[1:] for name, paths in found.items() if paths[1:]})
    return Told(used if facts else 0, facts)


READERS: Mapping[str, Callable[[Simple, Sequence[str]], Told]] = MappingProxyType({
    "whoami": read_word, "id": read_word, "pwd": read_word, "hostname": read_word, "ldconfig": read_loader,
})
