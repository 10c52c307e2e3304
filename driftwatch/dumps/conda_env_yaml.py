"""``conda env export`` and ``environment.yml``: what is installed in one environment, or what somebody asked for, which is no proof of it.

| path | what |
|---|---|
| packages/NAME/version | of an export, also of the packages below ``pip:``; of a file that somebody wrote unknown, with what it asks for as the reason |
| packages/NAME/channel, conda_build | where a row of an export has them |
| conda/environment | the folder of the environment, of the ``prefix:`` line |

An export is known by its build strings, by ``prefix:``, or by a package that nobody asks for by name (``_libgcc_mutex``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.conda_rows import BUILD, NAME, add_row
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.rows import ALL_VERSIONS, VERSION, command_of
from driftwatch.model import Unknown

_HEAD = re.compile(r"\s*(?:name: \S|channels:|channel_priority: |#|- [\w./:-]{1,200}\Z|---\Z)")
_DEPENDENCIES = re.compile(r"\s*dependencies:\s*\Z")
_ITEM = re.compile(
    rf"\s*- [\"']?(?:(?P<channel>[\w./-]{{1,80}})::)?(?P<name>{NAME})(?:\[[\w,.-]{{1,80}}\])?"
    r"(?P<asked>(?:\s?[<>=!~]=?|\s\d)[^\n\"'#]{0,120}?)?[\"']?\s*(?:#.*)?\Z")
_EXACT = re.compile(rf"=(?P<version>{VERSION})=(?P<build>{BUILD})\Z")
_PLAIN = re.compile(rf"={{1,2}}(?P<version>{VERSION})\Z")
_PIP = re.compile(r"\s*- pip:\s*\Z")
_TAIL = re.compile(r"\s*(?:variables:|prefix: \S|[A-Za-z_]\w*: )|\s*- (?:git\+|https?://|-e |--|\./|\.\Z|\S+ @ )")
_PREFIX = re.compile(r"\s*prefix: (?P<folder>\S.{0,400})\Z")
_NEVER_ASKED_FOR = ("_libgcc_mutex", "_openmp_mutex")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each file that has rows below ``dependencies:``, from its name to its prefix."""
    at = 0
    while at < len(lines):
        if not _DEPENDENCIES.match(lines[at]):
            at += 1
            continue
        after = at + 1
        while after < len(lines) and lines[after] != FENCE and not command_of(lines[after]) and _is_mine(lines[after]):
            after += 1
        rows = [found for line in lines[at + 1:after] if (found := _ITEM.match(line))]
        if len(rows) > 1 and any(row["asked"] for row in rows):
            yield Stretch(_first(lines, at), after, 0.96)
        at = after


def _first(lines: Sequence[str], at: int) -> int:
    while at > 0 and lines[at - 1] != FENCE and _HEAD.match(lines[at - 1]) and not command_of(lines[at - 1]):
        at -= 1
    return at


def _is_mine(line: str) -> bool:
    return any(one.match(line) for one in (_ITEM, _PIP, _TAIL)) or line.lstrip().startswith("#")


def parse(text: str) -> Parsed:
    """Return what an export tells, all packages of it where it has its last line; of another file what it asks for, as unknown."""
    lines = text.split("\n")
    start = next((at for at, line in enumerate(lines) if _DEPENDENCIES.match(line)), -1) + 1
    rows = [(at, found) for at, line in enumerate(lines) if at >= start and (found := _ITEM.match(line)) and not _PIP.match(line)]
    prefix = next((found["folder"] for line in lines[start:-1] if (found := _PREFIX.match(line))), None)
    has_builds = any(_EXACT.match(row["asked"] or "") for _, row in rows)
    is_export = has_builds or prefix is not None or any(row["name"] in _NEVER_ASKED_FOR for _, row in rows)
    facts: dict[str, Any] = {"conda/environment": prefix} if prefix else {}
    for at, row in rows:
        if is_export:
            _add(facts, row, has_builds=has_builds, is_cut=at == len(lines) - 1)
        else:
            add_row(facts, row["name"], _asked(row))
    notes = () if is_export else ("environment.yml names what was asked for, not what is installed: conda list tells that",)
    return Parsed(facts, tells=(ALL_VERSIONS,) if prefix else (), notes=notes)


def _add(facts: dict[str, Any], row: re.Match[str], *, has_builds: bool, is_cut: bool) -> None:
    """Add a row of an export; one without a build among rows that have one may be a piece."""
    asked = row["asked"] or ""
    exact, plain = _EXACT.match(asked), _PLAIN.match(asked)
    if exact:
        add_row(facts, row["name"], exact["version"], channel=row["channel"], conda_build=None if is_cut else exact["build"])
    elif plain and (asked.startswith("==") or not has_builds):
        cut = Unknown("error", f"the text ends in its row, at {row.group()[-40:]!r}")
        add_row(facts, row["name"], cut if is_cut else plain["version"], channel=row["channel"])
    elif plain:
        add_row(facts, row["name"], Unknown("error", f"its row {row.group().strip()[:60]!r} has no build as the others have, so it may be cut"))
    elif asked:
        add_row(facts, row["name"], _asked(row))


def _asked(row: re.Match[str]) -> Unknown:
    return Unknown("not_recorded", f"environment.yml asks for {row.group().strip().removeprefix('- ')[:60]!r}, which does not tell what is installed")


FORMAT = Format(
    name="conda-env-export", find=find, parse=parse, knows_cuts=True, looks_like="conda env export (environment.yml)", marks=("dependencies:",),
    never_prints=("driver/*", "gpus/*", "env/*", "os/*", "kernel/*", "servers/*", "packages/*/record", "packages/*/imported_version"),
)
