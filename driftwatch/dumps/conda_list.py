"""``conda list`` as text, ``--json`` and ``--explicit``. Prints what conda and pip installed into one environment.

| path | what |
|---|---|
| packages/NAME/version | as printed; a leading underscore of conda's own names stays |
| packages/NAME/channel, conda_build | from where, and the build string, where the row has them |
| conda/environment | the folder of the environment |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from driftwatch.agent.dist_metadata import canonical
from driftwatch.agent.probe import fact_path
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch
from driftwatch.dumps.json_text import json_stretches, salvage
from driftwatch.dumps.rows import ALL_VERSIONS, VERSION, command_of, commands_above, told_at_end
from driftwatch.dumps.tables import is_filtered
from driftwatch.model import Unknown

COMMANDS = ("conda list", "mamba list")
FEWEST_ROWS = 3
_NAME = r"_?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_])?"
_TITLE = re.compile(r"\s*# packages in environment at (?P<folder>[^\n]{1,400}?):?\s*\Z")
_PLACE = re.compile(r'\s*List of packages in environment: "(?P<folder>[^"\n]{1,400})"\s*\Z')
_RULE = re.compile(r"\s*[\u2500\u2501-]{20,}\s*\Z")
_CHANNELS = frozenset((
    "conda-forge", "defaults", "main", "pkgs/main", "pytorch", "pytorch-nightly", "nvidia", "pypi", "bioconda", "rapidsai", "anaconda", "intel"))
_HEADING = re.compile(r"\s*(?:#\s*)?Name\s+Version\s+Build(?:\s+Channel)?\s*\Z")
_BUILD = re.compile(r"(?:\w{1,60}_\d{1,4}|<pip>)\Z")
_ROW = re.compile(rf"\s*(?P<name>{_NAME})\s+(?P<version>{VERSION})(?:\s+(?P<build>\S{{1,80}})(?:\s+(?P<channel>\S{{1,200}}))?)?\s*\Z")
_URL = re.compile(
    rf"\s*(?:https?|file)://\S{{1,300}}?/(?:linux|osx|win|noarch)[\w-]{{0,20}}/(?P<name>{_NAME})-(?P<version>[^-/\s]{{1,80}})-(?P<build>[^-/\s]{{1,80}})\.(?:conda|tar\.bz2)(?:#\w+)?\s*\Z")
_THREE_PARTS = re.compile(r"\d+\.\d+\.\d+\Z")  # taken for whole where the text ends in it: most of conda's builds have no more


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield lists below their title or heading, runs of rows that only conda prints, explicit lists, and conda's JSON."""
    at = 0
    while at < len(lines):
        after = _end(lines, at)
        if after > at:
            yield Stretch(at - 1 if commands_above(lines, at, COMMANDS, 1) else at, after, 0.97)
        at = max(after, at + 1)
    for first, after in json_stretches(lines):
        head = " ".join(lines[first:first + 12])
        if lines[first].lstrip().startswith("[") and '"base_url"' in head and '"build_string"' in head:
            yield Stretch(first, after, 0.95)


def _end(lines: Sequence[str], at: int) -> int:
    """Return where a list that begins at a line ends; the line itself where none does."""
    first = lines[at]
    if _TITLE.match(first) or _HEADING.match(first) or _PLACE.match(first):
        after = _run(lines, at + 1, is_row=_is_listed)
        is_apart = _PLACE.match(first) and after == at + 1 and after < len(lines) and not lines[after].strip()
        return _run(lines, after + 1, is_row=_is_listed) if is_apart else after
    if _ROW.match(first) and commands_above(lines, at, COMMANDS, 1):
        return _run(lines, at, is_row=_is_listed)
    if first.strip() == "@EXPLICIT" or _URL.match(first):
        after = _run(lines, at, is_row=lambda line: bool(_URL.match(line)) or line.lstrip().startswith(("#", "@EXPLICIT")))
        return after if after - at >= FEWEST_ROWS else at
    if _is_full_row(first):
        after = _run(lines, at, is_row=_is_full_row)
        return after + _is_begun(lines, after) if after - at >= FEWEST_ROWS else at
    return at


def _is_begun(lines: Sequence[str], at: int) -> bool:
    """Tell whether a line is the paste's last and a row that was cut behind its version."""
    found = _ROW.match(lines[at]) if at == len(lines) - 1 else None
    return found is not None and found["build"] is None


def _run(lines: Sequence[str], at: int, is_row: Any) -> int:
    while at < len(lines) and lines[at] != FENCE and is_row(lines[at]) and not command_of(lines[at]):
        at += 1
    return at


def _is_listed(line: str) -> bool:
    """Tell whether a line can stand in a list whose command or title was seen."""
    return any(one.match(line) for one in (_ROW, _RULE, _HEADING)) or line.lstrip().startswith("#")


def _is_full_row(line: str) -> bool:
    """Tell whether a line has a build that only conda gives, or the name of a channel behind its build."""
    found = _ROW.match(line)
    if found is None or found["build"] is None or "." not in found["version"]:
        return False
    return _BUILD.match(found["build"]) is not None or found["channel"] in _CHANNELS


def parse(text: str) -> Parsed:
    """Return the versions with build and channel. A list under its title, without a cut or a filter, tells of all packages."""
    if text.lstrip().startswith("["):
        return _parse_json(text)
    lines = text.split("\n")
    is_cut = not text.endswith("\n")
    facts: dict[str, Any] = {}
    for at, line in enumerate(lines):
        if (title := _TITLE.match(line) or _PLACE.match(line)) and not (is_cut and at == len(lines) - 1):
            facts["conda/environment"] = title["folder"]
        elif (found := _ROW.match(line) or _URL.match(line)) and not _HEADING.match(line):
            _add(facts, found.groupdict(), is_cut=is_cut and at == len(lines) - 1)
    told = _without_cut_build(facts, [found for found in map(_ROW.match, lines) if found])
    is_whole = not is_cut and told == facts and any(path.startswith("packages/") for path in facts)
    is_all = is_whole and not is_filtered(lines[0]) and any(_TITLE.match(line) or _PLACE.match(line) or line.strip() == "@EXPLICIT" for line in lines[:5])
    return Parsed(told, tells=(ALL_VERSIONS,) if is_all else ())


def _without_cut_build(facts: dict[str, Any], found: Sequence[re.Match[str]]) -> dict[str, Any]:
    """Return the facts without the build of the last row where it has no channel though the rows above have: it may be a piece of one."""
    if len(found) <= FEWEST_ROWS or found[-1]["channel"] or not all(row["channel"] for row in found[:-1]):
        return facts
    return {path: value for path, value in facts.items() if path != fact_path("packages", _key(found[-1]["name"]), "conda_build")}


def _key(name: str) -> str:
    """Return a name as it stands in paths."""
    return "_" * name.startswith("_") + canonical(name.lstrip("_"))


def _parse_json(text: str) -> Parsed:
    entries, is_whole = salvage(text)
    facts: dict[str, Any] = {}
    for one in entries:
        if isinstance(one.get("name"), str) and isinstance(one.get("version"), str):
            _add(facts, {"build": one.get("build_string"), **one}, is_cut=False)
    return Parsed(facts, tells=(ALL_VERSIONS,) if is_whole else ())


def _add(facts: dict[str, Any], row: Mapping[str, Any], *, is_cut: bool) -> None:
    name = row["name"]
    key = _key(name)
    path = fact_path("packages", key, "version")
    version = told_at_end(row["version"], is_cut=is_cut and not row.get("build") and not _THREE_PARTS.match(row["version"]))
    if facts.get(path, version) != version:
        version = Unknown("error", f"the list names two versions: {facts[path]} and {version}")
    facts[path] = version
    for kind, value in (("channel", row.get("channel")), ("conda_build", row.get("build"))):
        if isinstance(value, str) and value and not is_cut:
            facts[fact_path("packages", key, kind)] = value


FORMAT = Format(
    name="conda-list", find=find, parse=parse, knows_cuts=True, looks_like="conda list (text, --json, --explicit)",
    never_prints=("driver/*", "gpus/*", "env/*", "os/*", "kernel/*", "servers/*", "packages/*/record", "packages/*/imported_version"),
)
