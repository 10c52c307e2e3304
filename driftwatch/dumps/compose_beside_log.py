"""Services of a Docker Compose file, in a paste whose log tells the arguments that count. See docker_compose.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from driftwatch.dumps.docker_compose import FORMAT as ALONE
from driftwatch.dumps.docker_compose import MARKS, find_services, told
from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.launch_lines import has_log, parse_given_only


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the services, where a log tells arguments."""
    yield from find_services(lines) if has_log(lines) else ()


def parse(text: str) -> Parsed:
    """Return what a service's settings tell, its arguments as given only."""
    return told(text, parse_given_only)


FORMAT = Format(
    name=ALONE.name, find=find, parse=parse, looks_like=ALONE.looks_like, marks=MARKS, knows_cuts=True, never_prints=ALONE.never_prints)
