"""The hosts that the user's ssh_config names: each word of a ``Host`` line that is no pattern. ``Include`` is followed, values are left to ssh."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from glob import glob
from pathlib import Path

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.listed import Listed
from driftwatch.fleet.sources.reading import read_text
from driftwatch.places import user_path
from driftwatch.transports.destination import HOST

USUAL = "~/.ssh/config"
DEEPEST = 16
_LINE = re.compile(r"\s*(Host|Include)(?:\s*=\s*|\s+)(.*?)(?:\s#.*)?\Z", re.IGNORECASE)


def read(place: str) -> tuple[Listed, ...]:
    """Return the hosts of an ssh_config, ``~/.ssh/config`` where none is named. Raises FleetError where it cannot be read."""
    path = user_path(place or USUAL, FleetError)
    return tuple(Listed(name, name) for name in dict.fromkeys(_names(path, path.parent, DEEPEST)))


def _names(path: Path, top: Path, depth: int) -> Iterator[str]:
    """Yield the names of a file and of those that it includes; a relative one stands in the folder of the user's own config, as ssh has it."""
    if depth == 0:
        raise FleetError(f"Include goes deeper than {DEEPEST} files", str(path), "break the circle")
    for number, line in enumerate(read_text(str(path)).splitlines(), 1):
        found = _LINE.match(line)
        words = _words(found[2], f"{path}, line {number}") if found else []
        if found and found[1].lower() == "host":
            yield from (word for word in words if HOST.fullmatch(word))
        elif found:
            for one in (one for pattern in words for one in sorted(glob(str(top / user_path(pattern, FleetError))))):  # noqa: PTH207  # a star as ssh has it
                yield from _names(Path(one), top, depth - 1) if Path(one).is_file() else ()


def _words(text: str, where: str) -> list[str]:
    """Return the words of a line, without their quotes."""
    try:
        return shlex.split(text)
    except ValueError:
        raise FleetError("a quote is not closed", where, "close it") from None
