"""Output of commands that answer in one line, of the loader's list, of a process's environment, of what a library needs: whoami, ldconfig -p, tr, readelf -d …

| path | what |
|---|---|
| transcript/COMMAND/answer | the line |
| env/NAME | of ``tr … < /proc/PID/environ`` |
| servers/FRAMEWORK/… | of ``tr … < /proc/PID/cmdline``, as launch_lines.py tells them |
| files/PATH/needs | the libraries that ``readelf -d`` names as NEEDED, as far as it was shown them |
| loader/picks/NAME, loader/also/NAME | the file of a library's first entry in the loader's cache, and those of its further ones |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps import env, launch_lines
from driftwatch.dumps.shell import Simple, Told
from driftwatch.dumps.shell_other import name_of

_CACHED = re.compile(r"\s*(\S+\.so[\w.]*) \(([^)]*)\) => (/\S+)\s*\Z")
_CACHE_HEAD = re.compile(r"\s*\d+ libs found in cache")
_WORD = re.compile(r"\S{1,200}\Z")
_NEEDED = re.compile(r"\s*(?:0x[0-9a-f]+\s+)?\(?NEEDED\)?\s+(?:Shared library: \[)?([\w.+-]+)\]?\s*\Z")
_PROCESS = r"/proc/(?:\d+|self|\$\w+|\$\{\w+\})"
_ENVIRON = re.compile(rf"{_PROCESS}/environ\Z")
_CMDLINE = re.compile(rf"{_PROCESS}/cmdline\Z")
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


def read_process(command: Simple, lines: Sequence[str]) -> Told:
    """Return what ``tr`` shows of a process: its variables, a line each, all that were asked for where other lines follow; or how it was started."""
    if _CMDLINE.match(command.reads) and lines:
        return Told(1, launch_lines.parse_alone(lines[0] + "\n").facts)
    return read_environment(command, lines) if _ENVIRON.match(command.reads) else Told(0, {})


def read_environment(command: Simple, lines: Sequence[str]) -> Told:
    """Return the variables of a list, all that its filters ask for where other lines follow."""
    used = next((at for at, line in enumerate(lines[:_MOST]) if not env.ROW.match(line)), min(len(lines), _MOST))
    is_whole = used < len(lines) and used > 0
    told = env.variables("".join(f"{line}\n" for line in lines[:used]))
    return Told(used, told, tells=env.shown_through(command.pipes) if is_whole else (), minds_filters=True)


def read_needs(command: Simple, lines: Sequence[str]) -> Told:
    """Return the libraries that an object needs."""
    rows = [row.group(1) for line in lines[:_MOST] if (row := _NEEDED.match(line))]
    used = next((at for at, line in enumerate(lines) if not _NEEDED.match(line)), len(lines))
    path = next((word for word in command.operands if ".so" in word or "/" in word), "")
    return Told(used, {f"{fact_path('files', path)}/needs": sorted(rows)}) if path and rows and used else Told(0, {})


READERS: Mapping[str, Callable[[Simple, Sequence[str]], Told]] = MappingProxyType({
    "whoami": read_word, "id": read_word, "pwd": read_word, "hostname": read_word, "ldconfig": read_loader,
    "tr": read_process, "readelf": read_needs, "objdump": read_needs,
})
