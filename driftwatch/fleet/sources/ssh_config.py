"""The hosts that the user's ssh_config names: each word of a ``Host`` line that is no pattern. ``Include`` is followed, values are left to ssh."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.listed import Listed
from driftwatch.fleet.sources.reading import read_text
from driftwatch.transports.destination import HOST

USUAL = "~/.ssh/config"
DEEPEST = 16


def read(place: str) -> tuple[Listed, ...]:
    """Return the hosts of an ssh_config, ``~/.ssh/config`` where none is named. Raises FleetError where it cannot be read."""
    return tuple(Listed(name, name) for name in dict.fromkeys(_names(Path(place or USUAL).expanduser(), DEEPEST)))


def _names(path: Path, depth: int) -> Iterator[str]:
    if depth == 0:
        raise FleetError(f"Include goes deeper than {DEEPEST} files", str(path), "break the circle")
    for line in read_text(str(path)).splitlines():
        words = line.replace("=", " ", 1).split()
        keyword = words[0].lower() if words else ""
        if keyword == "host":
            yield from (word for word in words[1:] if HOST.fullmatch(word))
        elif keyword == "include":
            for pattern in words[1:]:
                yield from _included(pattern, path, depth)


def _included(pattern: str, path: Path, depth: int) -> Iterator[str]:
    """Yield the names of included files; a relative one stands in the folder of the user's own config, as ssh has it."""
    plain = Path(pattern).expanduser()
    folder, rest = (Path(plain.anchor), str(plain.relative_to(plain.anchor))) if plain.is_absolute() else (path.parent, str(plain))
    for one in sorted(folder.glob(rest)):
        if one.is_file():
            yield from _names(one, depth - 1)
