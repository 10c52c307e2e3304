"""The first line of /proc/driver/nvidia/version alone, without the command above it that a session shows.

| path | what |
|---|---|
| driver/module/{version, flavour}, driver/version | the module that is loaded is the driver, as far as such a line tells |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from driftwatch.agent.collectors.driver import parse_version
from driftwatch.agent.probe import Refusal
from driftwatch.dumps.format import Format, Parsed, Stretch

_MARK = "NVRM version: NVIDIA UNIX"
_LONGEST = 400


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each such line."""
    yield from (Stretch(at, at + 1, 0.2) for at, line in enumerate(lines) if line.lstrip()[:_LONGEST].startswith(_MARK))


def parse(text: str) -> Parsed:
    """Return the driver's version and flavour."""
    return Parsed(module_facts(text[:_LONGEST]))


def module_facts(text: str) -> dict[str, str]:
    """Return what the driver's version file tells, nothing where it tells none."""
    try:
        version, flavour = parse_version(text)
    except Refusal:
        return {}
    return {"driver/version": version, "driver/module/version": version, "driver/module/flavour": flavour}


FORMAT = Format(name="transcript", find=find, parse=parse, looks_like="/proc/driver/nvidia/version", marks=(_MARK,))
