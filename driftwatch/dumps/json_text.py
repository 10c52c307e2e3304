"""JSON inside a paste: where it stands, and what can be read of it, also when it was cut. Bounded: what would be costly to build is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from driftwatch.dumps.format import FENCE, NoDump

LARGEST = 8 << 20
MOST_BRACKETS = 400_000
DEEPEST = 64


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def json_stretches(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where a JSON text may stand: from a line that begins with a bracket to the line where brackets balance, a fence or the end."""
    at = 0
    while at < len(lines):
        if not lines[at].lstrip().startswith(("[{", "{", "[")) or lines[at].lstrip()[1:2].isalpha():
            at += 1
            continue
        after = _balanced(lines, at)
        yield at, after
        at = after


def _balanced(lines: Sequence[str], at: int) -> int:
    depth = 0
    while at < len(lines) and lines[at] != FENCE:
        bare = lines[at].replace('\\"', "")
        outside = "".join(bare.split('"')[::2]) if '"' in bare else bare
        depth += sum(map(outside.count, "[{")) - sum(map(outside.count, "]}"))
        at += 1
        if depth <= 0:
            break
    return at


def load(text: str) -> Any:
    """Return the value that a JSON text holds. Raises NoDump where it holds none within the limits."""
    _admit(text)
    try:
        return _DECODER.decode(text.strip())
    except (ValueError, RecursionError) as wrong:
        raise NoDump(f"JSON that cannot be read: {str(wrong)[:100]}") from None


def salvage(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the objects of a JSON list, and whether the list was whole; of one that was cut, the objects before the cut."""
    _admit(text)
    found: list[dict[str, Any]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found, False
        if isinstance(value, dict):
            found.append(value)
        rest = text[end:end + 200].lstrip()
        if not rest.startswith(","):
            return found, rest.startswith("]")
        at = text.find("{", end)
    return found, False


def _admit(text: str) -> None:
    if len(text) > LARGEST or text.count("[") + text.count("{") > MOST_BRACKETS:
        raise NoDump("JSON that is too large")
    depth = deepest = 0
    for sign in text:
        if sign in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "]}":
            depth -= 1
    if deepest > DEEPEST:
        raise NoDump(f"JSON that is nested deeper than {DEEPEST}")
