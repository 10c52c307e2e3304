"""Containers of a Kubernetes manifest, in a paste whose log tells the arguments that count. See kubernetes_manifest.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.kubernetes_manifest import FORMAT as ALONE
from driftwatch.dumps.kubernetes_manifest import MARKS, find_containers, told
from driftwatch.dumps.launch_lines import has_log, parse_given_only


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield the containers, where a log tells arguments."""
    yield from find_containers(lines) if has_log(lines) else ()


def parse(text: str) -> Parsed:
    """Return what the settings of the containers tell, their arguments as given only."""
    return told(text, parse_given_only)


FORMAT = Format(
    name=ALONE.name, find=find, parse=parse, looks_like=ALONE.looks_like, marks=MARKS, knows_cuts=True, never_prints=ALONE.never_prints)
