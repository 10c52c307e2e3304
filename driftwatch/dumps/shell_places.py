"""Output of ``which``, ``command -v`` and ``type -p``: where programs lie. One that was asked for and has no line is not there.

| path | what |
|---|---|
| programs/NAME/path | the file that a shell would run |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.shell import Simple, Told

_PLACE = re.compile(r"(?:\S+ is )?(/\S{1,400})\s*\Z")
_MISSING = re.compile(r"(?:\S*which: )?no (\S+) in \(|(\S+) not found\s*\Z|\S+: type: (\S+): not found\s*\Z")


def read_places(command: Simple, lines: Sequence[str]) -> Told:
    """Return where each program that was asked for lies, one line each, in the order in which they were asked for."""
    if command.program == "command" and not command.has("-v", "-V"):
        return Told(0, {})
    open_names = list(command.operands)
    facts: dict[str, str] = {}
    missing: list[str] = []
    used = 0
    for line in lines[: len(open_names)]:
        place, gone = _PLACE.match(line), _MISSING.match(line)
        name = place[1].rpartition("/")[2] if place else next(filter(None, gone.groups()), "") if gone else ""
        if name not in open_names:
            break
        open_names.remove(name)
        used += 1
        if place:
            facts[_path(name)] = place[1]
        else:
            missing.append(_path(name))
    silent = tuple(map(_path, open_names))
    has_ended = any(line.strip() for line in lines[used:])  # something else was printed behind it
    return Told(used, facts, tells=(*missing, *(silent if has_ended else ())), tells_if_whole=silent)


def _path(name: str) -> str:
    return fact_path("programs", name, "path")


READERS: Mapping[str, Callable[[Simple, Sequence[str]], Told]] = MappingProxyType({"which": read_places, "command": read_places, "type": read_places})
