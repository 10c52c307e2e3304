"""What was given on a command line counts where the log beside it does not tell an argument: because it was cut, or prints only what is no default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NUMBER = re.compile(r"-?\d{1,15}\Z|-?\d{1,9}\.\d{1,3}\Z")


def with_given(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts, with given arguments as what counts where no log tells any, or where it agrees with all that both tell and tells nothing of these."""
    found = dict(facts)
    tops = {path.partition("/given/")[0] for path in facts if path.startswith("servers/") and "/given/" in path}
    for top in tops:
        given = _below(facts, f"{top}/given/")
        args = _below(facts, f"{top}/args/")
        shared = given.keys() & args.keys()
        if not args or (shared and all(_is_same(given[name], args[name]) for name in shared)):
            found.update((f"{top}/args/{name}", typed(value)) for name, value in given.items() if name not in args)
    return dict(sorted(found.items()))


def typed(value: Any) -> Any:
    """Return a number that was given as text as one; anything else as it stands."""
    if not isinstance(value, str) or not _NUMBER.match(value):
        return value
    return float(value) if "." in value else int(value)


def _below(facts: Mapping[str, Any], start: str) -> dict[str, Any]:
    return {path[len(start):]: value for path, value in facts.items() if path.startswith(start)}


def _is_same(given: Any, told: Any) -> bool:
    return str(given).casefold() == str(told).casefold()
