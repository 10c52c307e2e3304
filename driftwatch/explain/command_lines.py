"""The command lines of servers that no reader knows: of containers and of units. What they give is compared word by word, as options and their values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from driftwatch.explain.case import Case
from driftwatch.explain.pairs import values
from driftwatch.explain.servers import Argument

COMMAND_LINES = ("services/*/unit/ExecStart*", "containers/*/command")
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")


def moved_options(case: Case) -> Iterator[Argument]:
    """Yield each option that two command lines of one container or unit give differently, None standing for not given."""
    for change in case.moved(*COMMAND_LINES):
        good, bad = (options(words(side)) for side in values(change))
        if change.kind == "changed":
            for name in sorted({*good, *bad}):
                if good.get(name) != bad.get(name):
                    yield Argument(change.path.split("/")[1], name, good.get(name), bad.get(name), (change.path,), is_default=False)


def words(told: Any) -> list[str]:
    """Return the words of a command line, told as a list or as a text; none where its quotes do not pair."""
    if isinstance(told, list):
        return [str(one) for one in told]
    try:
        return shlex.split(told) if isinstance(told, str) else []
    except ValueError:
        return []


def options(line: Sequence[str]) -> Mapping[str, Any]:
    """Return the options of a command line by their field names; one without a value is True."""
    found: dict[str, Any] = {}
    for word, following in zip(line, [*line[1:], "-"], strict=True):
        name, sign, value = word.partition("=")
        if _OPTION.fullmatch(name):
            found[name.lstrip("-").replace("-", "_")] = value if sign else True if following.startswith("-") else following
    return found
