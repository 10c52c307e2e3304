"""``pip freeze``: ``name==version``, ``name @ URL`` and ``-e`` lines. Leaves out pip itself and, before Python 3.12, setuptools and wheel.

| path | what |
|---|---|
| packages/NAME/version | as printed; unknown where a URL stands in its place, unless that names a wheel |
| packages/NAME/direct_url | {"url", "commit"} of a line with a URL |
| packages/NAME/location, editable | of an editable project |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from driftwatch.dumps.format import Format, Parsed, Stretch
from driftwatch.dumps.rows import ALL_VERSIONS, NAME, VERSION, add_version, commands_above, package, told_at_end, version_path
from driftwatch.dumps.tables import interpreter, is_filtered
from driftwatch.model import Unknown

COMMANDS = ("pip freeze", "pip3 freeze")
FEWEST_ROWS = 3
FEWEST_OF_ALL = 20
LEFT_OUT = ("pip", "setuptools", "wheel", "distribute")
_VERSION = re.compile(rf"\s*(?P<name>{NAME})(?:\[[\w,.-]{{1,80}}\])?===?\s?(?P<version>{VERSION})\s*(?:;.*)?\Z")
_URL = re.compile(rf"\s*(?P<name>{NAME})(?:\[[\w,.-]{{1,80}}\])? @ (?P<url>[a-z+]{{2,12}}:\S+)\s*(?:;.*)?\Z")
_EDITABLE = re.compile(r"\s*-e\s(?P<url>\S+)\s*\Z")
_COMMENT = re.compile(
    rf"\s*#+ (?:Editable|!!) .*?(?:\((?P<name>{NAME})==(?P<version>{VERSION})\))?\)?\s*\Z|\s*--?(?:extra-index-url|index-url|find-links|f|i)\s.*\Z")
_CUT = re.compile(rf"\s*{NAME}(?:={{1,3}}[\w.+]*| @ \S*)?\Z")
_WHEEL = re.compile(rf"/(?P<name>[A-Za-z0-9_.]+)-(?P<version>{VERSION})(?:-\d\w*)?-[a-z0-9_.]+-[a-z0-9_.]+-\w[\w.]*\.whl")
_EGG = re.compile(rf"[#&]egg=({NAME})")
_COMMIT = re.compile(r"@([0-9a-f]{7,64})(?:[#&?]|\Z)")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield runs of three and more rows, shorter ones where the command stands above, and a whole text of rows."""
    at = 0
    filled = sum(bool(line.strip()) for line in lines)
    while at < len(lines):
        if not _is_row(lines[at]):
            at += 1
            continue
        after = at
        while after < len(lines) and (_is_row(lines[after]) or (after + 1 == len(lines) and _CUT.match(lines[after]))):
            after += 1
        is_named = bool(commands_above(lines, at, COMMANDS, 2))
        begins = at - 1 if is_named and (commands_above(lines, at, COMMANDS, 1) or interpreter(lines[at - 1])) else at
        if after - at >= FEWEST_ROWS or is_named or after - at == filled:
            yield Stretch(begins, after, 0.85 if is_named else 0.8)
        at = after


def _is_row(line: str) -> bool:
    return any(pattern.match(line) for pattern in (_VERSION, _URL, _EDITABLE, _COMMENT))


def parse(text: str) -> Parsed:
    """Return versions and URLs, and whether the list holds all packages: its command without a filter stands above, or it is long and sorted."""
    lines = text.split("\n")
    is_cut = not text.endswith("\n")
    facts: dict[str, Any] = {**interpreter(text)}
    for at in range(len(lines)):
        _add(facts, lines, at, is_cut=is_cut and at == len(lines) - 1)
    if is_cut or not _is_all(lines):
        return Parsed(facts, notes=("the list may not be whole",))
    for name in LEFT_OUT:
        facts.setdefault(version_path(name), Unknown("not_recorded", "pip freeze leaves it out"))
    return Parsed(facts, tells=(ALL_VERSIONS, "packages/*/direct_url"))  # a URL is printed wherever one was noted (PEP 610)


def _is_all(lines: Sequence[str]) -> bool:
    command = next((line for line in lines[:1] if any(word in line for word in COMMANDS)), "")
    names = [found["name"].lower().replace("_", "-").replace(".", "-") for line in lines if (found := _VERSION.match(line))]
    is_long = len(names) >= FEWEST_OF_ALL and sum(one <= other for one, other in pairwise(names)) >= 0.95 * (len(names) - 1)
    return not is_filtered(command) and (is_long or (bool(command) and len(names) >= FEWEST_ROWS))


def _add(facts: dict[str, Any], lines: Sequence[str], at: int, *, is_cut: bool) -> None:
    line = lines[at]
    if found := _VERSION.match(line):
        add_version(facts, found["name"], told_at_end(found["version"], is_cut=is_cut))
    elif (found := _URL.match(line)) and is_cut:
        add_version(facts, found["name"], Unknown("error", "the text ends in its row"))
    elif found:
        _add_url(facts, found["name"], found["url"])
    elif (found := _EDITABLE.match(line)) and not is_cut:
        said = _COMMENT.match(lines[at - 1]) if at else None
        egg = _EGG.search(found["url"])
        name = egg[1] if egg else said["name"] if said else None
        if name:
            _add_editable(facts, name, found["url"], said["version"] if said else None)


def _add_url(facts: dict[str, Any], name: str, url: str) -> None:
    wheel = _WHEEL.search(url.replace("%2B", "+").replace("%2b", "+"))
    commit = _COMMIT.search(url)
    add_version(facts, name, wheel["version"] if wheel else Unknown("not_recorded", "pip freeze prints its URL in place of a version"))
    facts[package(name, "direct_url")] = {"url": url, **({"commit": commit[1]} if commit else {})}


def _add_editable(facts: dict[str, Any], name: str, url: str, version: str | None) -> None:
    facts[package(name, "editable")] = True
    if "://" in url or url.startswith("git+"):
        _add_url(facts, name, url)
    else:
        facts[package(name, "location")] = url
        add_version(facts, name, version or Unknown("not_recorded", "pip freeze prints its folder in place of a version"))


FORMAT = Format(
    name="pip-freeze", find=find, parse=parse, knows_cuts=True, looks_like="pip freeze (name==version, name @ URL, -e lines)",
    never_prints=("driver/*", "gpus/*", "env/*", "os/*", "kernel/*", "python/*", "servers/*", "packages/pip/*", "packages/*/record"),
)
