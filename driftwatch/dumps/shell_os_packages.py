"""Output of the system's package managers: ``dpkg -l``, ``dpkg-query -W``, ``apt list --installed``, ``rpm -qa``, also cut to names and versions.

Tells of the rows that are shown and of no other.

| path | what |
|---|---|
| os_packages/NAME/version | as the collector of the same name tells it |
| os_packages_listed/{to, like} (volatile) | the last name of a list in order, and the words of which each ``grep`` asked for one: others are absent |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.shell import Simple, Told

_DPKG = re.compile(r"(?P<state>[uihrp][a-zA-Z]R?)\s+(?P<name>[a-z0-9][\w.+-]{1,100})(?::\w+)?\s+(?P<version>\d\S*)\s+(?:amd64|arm64|all|i386)\b")
_DPKG_HEAD = re.compile(r"Desired=|\| Status=|\|/ Err|\|\|/ Name|\+\+\+-")
_APT = re.compile(r"(?P<name>[a-z0-9][\w.+-]{1,100})/\S+\s+(?P<version>\d\S*)\s+\w+\s+\[(?P<state>i)nstalled")
_APT_HEAD = re.compile(r"Listing\.\.\.|WARNING: apt|\s*\Z")
_RPM = re.compile(r"(?P<state>)(?P<name>[A-Za-z0-9][\w.+-]{1,100}?)-(?P<version>(?:\d+:)?\d[^-\s]*-[^-\s]+?)\.(?:x86_64|aarch64|noarch)\s*\Z")
_PAIR = re.compile(r"(?P<state>)(?P<name>[a-z0-9][\w.+-]{1,100})(?::\w+|/[\w.,-]+)?\s+(?P<version>(?:\d+:)?\d\S*)\s*\Z")
FILTERS = frozenset(("awk", "cut"))
_MOST = 4000
_LEAST_ROWS = 2
_AFTER_ALL = "~"
VOLATILE = ("os_packages_listed/*",)


def _reader(rows: Sequence[re.Pattern[str]], other: re.Pattern[str]) -> Callable[[Simple, Sequence[str]], Told]:
    def read(command: Simple, lines: Sequence[str]) -> Told:
        facts: dict[str, Any] = {}
        names: list[str] = []
        used = 0
        for line in lines[:_MOST]:
            found = next((found for row in rows if (found := row.match(line))), None)
            if found is None and not other.match(line):
                break
            used += 1
            names += [found["name"]] if found else []
            if found and found["state"][:1] in ("", "i") and not found["state"].startswith("iU"):
                facts[fact_path("os_packages", found["name"], "version")] = found["version"]
        told = _range(command, names) if facts else {}
        return Told(used if facts else 0, {**facts, **told}, if_whole={"os_packages_listed/to": _AFTER_ALL} if told else {}, minds_filters=bool(told))

    return read


def _range(command: Simple, names: Sequence[str]) -> dict[str, Any]:
    """Return how far a list of all packages, perhaps of those that hold certain words, shows every name."""
    asked = [word for word in command.operands if word not in ("-l", "list", "-qa")]
    formats = [word for word in asked if "$" in word or "%" in word]
    like = [_words(stage) for stage in command.pipes]
    if command.program in ("rpm", "dpkg") and not any(stage[0] == "sort" or command.program == "dpkg" for stage in command.pipes):
        return {}  # rpm lists in no order, dpkg cuts names for a terminal
    if len(asked) > len(formats) or None in like or list(names) != sorted(names) or len(names) < _LEAST_ROWS:
        return {}
    return {"os_packages_listed/to": names[-1], "os_packages_listed/like": [words for words in like if words]}


def _words(stage: Sequence[str]) -> list[str] | None:
    """Return the words of which a filter leaves rows that hold one, none where it leaves all; None for a filter that cuts otherwise."""
    options = [word for word in stage[1:] if word.startswith("-")]
    patterns = [word for word in stage[1:] if not word.startswith("-")]
    if stage[0] in ("sort", "cat", "less", "awk", "cut", "column"):
        return []
    if stage[0] not in ("grep", "egrep") or any(set(one) - set("-Ei") for one in options) or len(patterns) != 1:
        return None
    words = re.sub(r"\\([+.|-])", r"\1", patterns[0]).split("|")
    if not all(re.fullmatch(r"[\w+.-]+", word) for word in words):  # a dot that means any sign asks for more
        return None
    return [word.lower() for word in words] if any("i" in option for option in options) else words


READERS: Mapping[str, Callable[[Simple, Sequence[str]], Told]] = MappingProxyType({
    "dpkg": _reader((_DPKG, _PAIR), _DPKG_HEAD), "dpkg-query": _reader((_PAIR,), re.compile(r"\s*\Z")),
    "apt": _reader((_APT, _PAIR), _APT_HEAD), "rpm": _reader((_RPM,), re.compile(r"package \S+ is not installed")),
})
