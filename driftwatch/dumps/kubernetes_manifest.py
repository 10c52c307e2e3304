"""The containers of a Kubernetes manifest: what was written, by the paths of what runs. A value that comes from a secret or a field is not told.

| path | what |
|---|---|
| containers/NAME/…, servers/FRAMEWORK/… | as docker_compose.py tells them, with NAME of the container |
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from driftwatch.dumps import docker_inspect
from driftwatch.dumps.docker_compose import told_of
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.launch_lines import VOLATILE, beside_log, has_log, parse_alone
from driftwatch.dumps.yaml_text import indent_of, load

MARKS = ("containers:",)
_CONTAINERS = re.compile(r" {0,40}containers:\s*(?:#.*)?\Z")
_ITEM = re.compile(r" {0,40}- +\S")
_MADE_OF = re.compile(r" {1,44}(?:- )?image: *\S")
_SCRIPT_FOLLOWS = re.compile(r"-[a-z]{0,8}c\Z")
_KEYS = {"command": "entrypoint", "args": "command", "env": "environment"}  # Compose has other words for these


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each list of containers, where no log tells the arguments of a server."""
    yield from () if has_log(lines) else find_containers(lines)


def find_containers(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each list of containers that names an image."""
    for at, line in enumerate(lines):
        if not _CONTAINERS.match(line):
            continue
        after = at + 1
        while after < len(lines) and lines[after] != FENCE and _is_inside(lines[after], indent_of(line)):
            after += 1
        if any(map(_MADE_OF.match, lines[at + 1:after])):
            yield Stretch(at, after, 0.93)


def _is_inside(line: str, indent: int) -> bool:
    return not line.strip() or indent_of(line) > indent or (indent_of(line) == indent and _ITEM.match(line) is not None)


def parse(text: str) -> Parsed:
    """Return what the settings of the containers tell, their arguments also as what counts."""
    return told(text, parse_alone)


def told(text: str, read_launch: Callable[[str], Parsed]) -> Parsed:
    """Return what the settings of the containers tell; ``read_launch`` reads their command lines. A last line that was cut is left out."""
    found = load(text.split("\n")[:-1])
    listed = found.get("containers") if isinstance(found, Mapping) else None
    containers = [one for one in listed if isinstance(one, Mapping) and _name(one)] if isinstance(listed, list) else []
    facts: dict[str, Any] = {}
    notes: list[str] = [] if containers else ["kubernetes: the containers could not be read"]
    for number, one in enumerate(containers):
        service = {_KEYS.get(key, key): value for key, value in _settings(one)}
        is_cut = not text.endswith("\n") and number == len(containers) - 1 and bool(service)
        parsed = told_of(_name(one), service, next(reversed(service)) if is_cut else "", read_launch)
        facts.update(parsed.facts)
        notes += parsed.notes
    return Parsed(facts, notes=tuple(notes), volatile=(*docker_inspect.VOLATILE, *VOLATILE))


def _name(one: Mapping[str, Any]) -> str:
    """Return the name of a container; that of its image where a piece of a manifest does not name it, "" where it has neither."""
    return str(one.get("name") or str(one.get("image") or "").rpartition("/")[2].partition(":")[0])[:80]


def _settings(one: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what a container is made of: the image, the words of its command, the variables whose values stand there."""
    for key, value in one.items():
        if key == "image":
            yield key, value
        elif key in ("command", "args"):
            yield key, value if key == "args" and _is_shell(one.get("command")) else _words(value)
        elif key == "env":
            pairs = value if isinstance(value, list) else []
            yield key, {pair["name"]: pair["value"] for pair in pairs if isinstance(pair, Mapping) and pair.get("name") and isinstance(pair.get("value"), str)}


def _is_shell(command: Any) -> bool:
    """Tell whether a command is a shell that is given a script: what follows is the script itself, of however many lines."""
    return isinstance(command, list) and len(command) > 1 and isinstance(command[-1], str) and _SCRIPT_FOLLOWS.match(command[-1]) is not None


def _words(value: Any) -> Any:
    """Return the words of a list; those of its only one where a whole command line stands in it."""
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], str):
        return value
    try:
        return shlex.split(value[0])
    except ValueError:
        return value


FORMAT = Format(
    name="kubernetes-manifest", find=find, parse=parse, looks_like="the containers of a Kubernetes manifest", marks=MARKS, knows_cuts=True,
    never_prints=("packages/*", "driver/*", "gpus/*", "os/*", "kernel/*", "python/*", "torch/*", "git/*", "sources/*", "servers/*/log/*"),
)
BESIDE_LOG = beside_log(FORMAT, find_containers, told)
