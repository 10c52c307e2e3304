"""YAML as people paste it -> maps, lists and texts, by PyYAML. Every leaf stays a text, an empty one is None; lines that break the rest are left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

LARGEST = 16 << 10
MOST_BROKEN = 8
DEEPEST = 32
MOST_PARTS = 20_000
_MERGE, _NULL = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:null"
_NESTED = re.compile(rf"(?:[-?] ?){{{DEEPEST}}}")


@cache
def _loader() -> Any:
    """Return a safe loader of PyYAML's that reads what is no map, no list and no ``<<`` as the text that stands there."""
    import yaml  # noqa: PLC0415  # only where a paste holds YAML

    class Texts(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml's where PyYAML was built with it
        yaml_implicit_resolvers = {"<": [(_MERGE, re.compile(r"<<\Z"))], "": [(_NULL, re.compile(r"\Z"))]}  # noqa: RUF012  # as PyYAML declares it

    return Texts


def indent_of(line: str) -> int:
    """Return how many blanks a line begins with."""
    return len(line) - len(line.lstrip(" "))


def load(lines: Sequence[str]) -> Any:
    """Return the map, list or text that lines hold; None where they hold nothing, too much, or too little that can be read."""
    left = [line.expandtabs(2) for line in lines]
    if sum(map(len, left)) > LARGEST or _NESTED.search("\n".join(left)) or _brackets(left) > DEEPEST:
        return None
    for _ in range(MOST_BROKEN):
        found, broken = _read(left)
        if broken is None:
            return found if _parts(found, MOST_PARTS) >= 0 else None
        del left[broken]
    return None


def _read(lines: Sequence[str]) -> tuple[Any, int | None]:
    """Return what lines hold, and None, or None and the line at which they break."""
    import yaml  # noqa: PLC0415

    try:
        return yaml.load("\n".join(lines), Loader=_loader()), None  # noqa: S506  # a safe loader, with fewer types still
    except yaml.MarkedYAMLError as broken:
        mark = broken.context_mark or broken.problem_mark
        return None, min(mark.line, len(lines) - 1) if mark is not None else 0
    except (yaml.YAMLError, ValueError, RecursionError):
        return None, None


def _brackets(lines: Sequence[str]) -> int:
    """Return how deep brackets open."""
    depth = deepest = 0
    for sign in re.findall(r"[\[\]{}]", "\n".join(lines)):
        depth = depth + 1 if sign in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _parts(value: Any, left: int) -> int:
    """Return how many more parts there may be; below 0 where there are too many, as where a short text repeats itself by anchors."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    for one in inner:
        left = _parts(one, left - 1) if left >= 0 else left
    return left
