"""A systemd unit beside the log of the server that it starts: what was given; what counts is in the log. See unit_file.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from driftwatch.dumps.format import Parsed, Stretch
from driftwatch.dumps.launch_lines import has_log, parse_given_only
from driftwatch.dumps.unit_file import FORMAT as ALONE
from driftwatch.dumps.unit_file import find_units, told


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield units, where a log tells the arguments of a server."""
    yield from find_units(lines) if has_log(lines) else ()


def parse(text: str) -> Parsed:
    """Return what a unit orders, the arguments of its server as given."""
    return told(text, parse_given_only)


FORMAT = replace(ALONE, find=find, parse=parse)
