"""Output of commands that no reader knows, kept so that two pastes of it can be compared: one fact a line, under a name that the line itself gives.

Sentences, and the progress that an installer or a download tells, are no facts.

| path | what |
|---|---|
| transcript/COMMAND/KEY | KEY is what stands before ``:``, ``=`` or a gap of two blanks, below the heading that a line is indented under |
| transcript/COMMAND/LINE | true, for any other line |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.shell import Simple, Told

_WHOLE_NAME = frozenset(("python", "python3", "bash", "sh"))
_PAIRS = (
    re.compile(r"(\S.{0,118}?)(?::\s+|\s+:\s*|\s*\t\s*|\s{2,})(\S.*)\Z"),
    re.compile(r"([\w./ -]{1,120}?)\s?=\s?(.*)\Z"), re.compile(r"(\S{1,120})\s*:\s*(\S*)\Z"),
)
_HEADING = re.compile(r"(\S.{0,118}?):?\s*\Z")
_PROGRESS = frozenset(("install", "uninstall", "download", "create", "update", "upgrade", "sync", "add", "clone", "pull", "push", "build", "checkout"))
_LOADERS = frozenset((
    "pip", "pip3", "conda", "mamba", "micromamba", "uv", "poetry", "pixi", "apt", "apt-get", "yum", "dnf", "brew", "npm", "git", "docker", "podman"))
_FETCHERS = frozenset(("wget", "curl", "make", "cmake", "ninja", "rsync", "scp"))
_SENTENCE = re.compile(r"\S+(?: \S+){2,}[.:!?]\Z|[A-Z][\w'-]*(?: [A-Za-z][\w'-]*){4,},?\Z")
_MOST = 300
_LONGEST = 400


def read_any(command: Simple, lines: Sequence[str]) -> Told:
    """Return the lines of an unknown command's output as facts; a key told twice with different values has the list of them."""
    top = name_of(command)
    facts: dict[str, Any] = {}
    kept = [] if _is_progress(command) else [line[:_LONGEST].rstrip() for line in lines[:_MOST]]
    for keys, value in _pairs(kept):
        path = fact_path("transcript", top, *keys)
        before = facts.get(path)
        if before is None:
            facts[path] = value
        elif before != value:
            facts[path] = [*(before if isinstance(before, list) else [before]), value][:20]
    is_file = command.program == "cat" and not command.pipes
    return Told(len(lines), facts, tells_if_whole=(fact_path("transcript", top) + "/*",) if is_file and facts else ())


def _is_progress(command: Simple) -> bool:
    """Tell whether a command installs, fetches or builds, so that its lines say how far it came."""
    program = command.program
    return program in _FETCHERS or (program in _LOADERS and not _PROGRESS.isdisjoint(command.operands[:2]))


def name_of(command: Simple) -> str:
    """Return how a command is called in paths: its program, and what it looks at."""
    first = next((word for word in command.operands if len(word) < 100), "")
    return command.program if command.program in _WHOLE_NAME or not first else f"{command.program} {first}"


def _pairs(lines: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Any]]:
    heading = ""
    for at, line in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if not line or (_SENTENCE.match(line.strip()) and not below[:1].isspace()):
            continue
        is_inside = line[0].isspace()
        name, value = _pair(line.strip())
        if not is_inside:
            heading = ""
            title = _HEADING.match(line)
            if below[:1].isspace() and below.strip() and title:
                heading = name if value is not True else title.group(1)
                if value is True:
                    continue
        yield ((heading, name) if is_inside and heading else (name,)), value


def _pair(line: str) -> tuple[str, Any]:
    found = next(filter(None, (pattern.match(line) for pattern in _PAIRS)), None)
    return (found.group(1).strip(), found.group(2).strip()) if found else (line, True)
