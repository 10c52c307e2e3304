"""A plain list: one host a line, or several with blanks between; ``#`` begins a comment, ``[gpu]`` a group, ranges are expanded."""

from __future__ import annotations

import re

from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.listed import Listed
from driftwatch.fleet.nodes import expand, split_names
from driftwatch.fleet.sources.reading import read_text
from driftwatch.transports.destination import BadDestination, parse_destination

_BLANKS = re.compile(r"\s+")
_GROUP = re.compile(r"\[([A-Za-z_][\w.-]*)\]\Z")


def read(place: str) -> tuple[Listed, ...]:
    """Return the hosts of a file. Raises FleetError with the file and the line of what is none."""
    return parse(read_text(place), place)


def parse(text: str, where: str) -> tuple[Listed, ...]:
    """Return the hosts of a text. Raises FleetError with the place and the line of what is none."""
    found: list[Listed] = []
    groups: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        told = line.partition("#")[0].strip()
        if named := _GROUP.match(told):
            groups = (named[1],)
            continue
        for word in split_names(_BLANKS.sub(",", told)):
            found += [Listed(host_of(dest), dest, groups) for dest in _expanded(word, f"{where}, line {number}")]
    return tuple(found)


def host_of(dest: str) -> str:
    """Return the name of the host that a destination reaches. Raises BadDestination for a text that is none."""
    return parse_destination(dest).host


def _expanded(word: str, where: str) -> tuple[str, ...]:
    try:
        names = expand(word)
        for one in names:
            parse_destination(one)
    except (FleetError, BadDestination) as wrong:
        raise FleetError(str(wrong), where, "a line holds HOST, USER@HOST, ssh://USER@HOST:PORT or gpu[01-16]") from None
    return names
