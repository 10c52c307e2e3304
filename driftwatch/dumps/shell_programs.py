"""What a shell session tells of a program itself: the version that it prints, and whether a path that a command was given is there.

| path | what |
|---|---|
| programs/NAME/version | of ``NAME --version``, ``NAME version``, ``NAME -V`` |
| files/PATH/exists | false where a command says that there is no such file, true where it shows one |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.shell import Simple, Told

_ASKS = (("--version",), ("-V",), ("version",), ("-version",))
_VERSION = re.compile(r"(?:\A|(?<=[\s(=:v]))v?(?P<version>\d{1,5}(?:\.\d{1,6}){1,4}[\w.+-]{0,40})|version:?\s+(?P<build>\d{1,8} \([0-9a-f]{7,12}\))")
_MISSING = re.compile(
    r"\S{1,40}: (?:cannot (?:access|open|stat|statx) )?['\"\u2018]?(?P<path>/[^'\"\u2019:\n]{1,200})['\"\u2019]?: No such file or directory\s*\Z")
_SHOWING = frozenset(("ls", "cat", "stat", "find", "du", "sha256sum", "md5sum", "wc", "file", "readlink"))
_WITHIN = 3


def read_version(command: Simple, lines: Sequence[str]) -> Told:
    """Return the version that a program prints of itself, in one of its first lines; nothing where something else was asked."""
    if command.words[1:] not in _ASKS or not re.fullmatch(r"[A-Za-z][\w.-]{0,60}", command.program):
        return Told(0, {})
    for at, line in enumerate(lines[:_WITHIN]):
        found = _VERSION.search(line[:200])
        if found:
            return Told(at + 1, {fact_path("programs", command.program, "version"): found["version"] or found["build"]})
    return Told(0, {})


def existence(commands: Sequence[Simple], lines: Sequence[str]) -> dict[str, Any]:
    """Return which absolute paths that were looked at are there."""
    found: dict[str, Any] = {fact_path("files", path["path"], "exists"): False for line in lines[:_WITHIN] if (path := _MISSING.match(line[:300]))}
    for command in commands[:1] if any(line.strip() for line in lines) and not found else ():
        paths = [word for word in command.operands if word.startswith("/") and not re.search(r"[*?$]", word)]
        if command.program in _SHOWING and len(paths) == 1:
            found[fact_path("files", paths[0].rstrip("/") or "/", "exists")] = True
    return found
