"""A systemd unit as its file or ``systemctl cat`` shows it: what it orders, the variables that it sets, and the server that it starts.

| path | what |
|---|---|
| services/NAME/unit/WORD, services/NAME/env/VARIABLE | as agent/collectors/services.py tells them; NAME is the file's own, else ``unnamed`` |
| servers/FRAMEWORK/given/ARG, args/ARG, env/NAME | where ExecStart runs a server that is known; see launch_lines.py |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.agent.unit_files import parse_unit
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.launch_lines import VOLATILE, beside_log, has_log, parse_alone

SECTION = re.compile(r"\s{0,8}\[(?:Unit|Service|Install|Socket|Timer)\]\s*\Z")
_SERVICE = re.compile(r"\s{0,8}\[Service\]\s*\Z")
_FILE = re.compile(r"# (/\S{1,200}/)(?P<name>[\w@:.\\-]{1,80})\.service(?P<dropin>\.d/\S{1,80})?\s*\Z")
_ORDER = re.compile(r"\s{0,8}[A-Z]\w{1,60}\s?=")
_PREFIX = re.compile(r"[-@:+!|]{1,4}(?=\S)")
_IN_CONTAINER = re.compile(r"(?:\S*/)?(?:docker|podman|nerdctl)\s")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield units, where no log tells the arguments of a server."""
    yield from () if has_log(lines) else find_units(lines)


def find_units(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each unit with a ``[Service]``, with the name of its file above it and the drop-ins below it."""
    at = 0
    while at < len(lines):
        if not SECTION.match(lines[at]):
            at += 1
            continue
        after = _end(lines, at)
        first = at - (at > 0 and _FILE.match(lines[at - 1]) is not None)
        if any(map(_SERVICE.match, lines[at:after])):
            yield Stretch(first, after, 0.94)
        at = after


def _end(lines: Sequence[str], at: int) -> int:
    """Return where the lines of a unit end: sections, orders with what carries them on, comments and blanks."""
    last = at
    is_open = False
    while at < len(lines) and lines[at] != FENCE:
        if lines[at].strip() and not lines[at].lstrip().startswith(("#", ";")):
            if not (is_open or SECTION.match(lines[at]) or _ORDER.match(lines[at])):
                break
            is_open = lines[at].rstrip().endswith("\\")
            last = at
        at += 1
    return last + 1


def parse(text: str) -> Parsed:
    """Return what a unit orders, the arguments of its server also as what counts."""
    return told(text, parse_alone)


def told(text: str, read_launch: Callable[[str], Parsed]) -> Parsed:
    """Return what a unit orders; ``read_launch`` reads its command line. Where the text was cut, its last order is left out."""
    lines = text.split("\n")[:-1]
    while lines and not text.endswith("\n") and lines[-1].rstrip().endswith("\\"):
        lines.pop()
    named = _FILE.match(lines[0]) if lines else None
    orders, variables = parse_unit(_files(lines))
    top = fact_path("services", named["name"] if named else "unnamed")
    facts = {f"{top}/{fact_path('unit', word)}": value for word, value in orders.items()}
    facts.update({f"{top}/{fact_path('env', name)}": value for name, value in variables.items()})
    launch = read_launch("".join(f"{one}\n" for one in _starts(orders)))
    facts.update({**launch.facts, **dict(_of_server(launch.facts, orders, variables))})
    is_whole = named is not None and text.endswith("\n")
    return Parsed(facts, tells=(f"{top}/unit/*", f"{top}/env/*") if is_whole else (), notes=launch.notes, volatile=VOLATILE)


def _files(lines: Sequence[str]) -> list[str]:
    """Return the text of the unit file and of each drop-in that is shown below it."""
    files: list[list[str]] = [[]]
    for line in lines:
        if _FILE.match(line):
            files.append([])
        files[-1].append(line)
    return ["\n".join(one) + "\n" for one in files]


def _starts(orders: Mapping[str, Any]) -> list[str]:
    found = orders.get("ExecStart", [])
    return [_PREFIX.sub("", one, count=1) if _PREFIX.match(one) else one for one in (found if isinstance(found, list) else [found])]


def _of_server(launched: Mapping[str, Any], orders: Mapping[str, Any], variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the unit's variables as those of the server that it starts itself: into a container none of them goes."""
    if not any(map(_IN_CONTAINER.match, _starts(orders))):
        for framework in dict.fromkeys(path.split("/")[1] for path in launched if path.startswith("servers/")):
            yield from ((fact_path("servers", framework, "env", name), value) for name, value in variables.items())


FORMAT = Format(
    name="systemd-unit", find=find, parse=parse, looks_like="a systemd unit ([Service] and ExecStart=)", marks=("[Service]",), knows_cuts=True,
    never_prints=("packages/*", "driver/*", "gpus/*", "os/*", "kernel/*", "python/*", "torch/*", "git/*", "sources/*", "servers/*/log/*"),
)
BESIDE_LOG = beside_log(FORMAT, find_units, told)
