"""JSON from strangers: text in, value out, with limits that hold before anything is built. Knows nothing of snapshots and touches no file."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

LARGEST_DEPTH = 64
LARGEST_STRING = 1 << 20
LARGEST_DIGITS = 4300
MOST_PARTS = 1_000_000
SHOWN_KEY = 60
LARGEST_WIDE_BYTES = 8 << 20
BOM = b"\xef\xbb\xbf"
_STRING = re.compile(r'"[^"]*"')
_LONG_STRING = re.compile(f'"[^"]{{{LARGEST_STRING - 1}}}')
_BRACKET = re.compile(r"[\[\]{}]")
_TOKEN = re.compile(r'("[^"]*")|([\[{])|([\]}])|,')


class JsonRefused(ValueError):
    """A text that is no JSON within the limits. The message says why and at which place."""


def parse_json(data: bytes) -> Any:
    """Return the one value that these UTF-8 bytes hold. Raises JsonRefused for anything that JSON, or one of the limits above, does not allow."""
    text = _decode(data)
    _scan(text)
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number, parse_int=_whole, parse_float=_finite)
    except json.JSONDecodeError as wrong:
        raise JsonRefused(f"it is no JSON: {wrong.msg} at line {wrong.lineno} column {wrong.colno}") from None
    except RecursionError:
        raise JsonRefused(f"it is nested deeper than {LARGEST_DEPTH}") from None


def parse_own(data: bytes) -> Any:
    """Return what a file holds that a store keeps beside its snapshots, which may be large. Raises JsonRefused where it is no JSON, or too deep for Python."""
    try:
        return json.loads(data)
    except ValueError as wrong:
        raise JsonRefused(f"it is no JSON: {wrong}") from None
    except RecursionError:
        raise JsonRefused("it is nested too deep") from None


def _decode(data: bytes) -> str:
    if not data.strip():
        raise JsonRefused("it is empty")
    if data.startswith(BOM):
        raise JsonRefused("it begins with a byte order mark, which JSON does not allow")
    if not data.isascii() and len(data) > LARGEST_WIDE_BYTES:
        raise JsonRefused(f"it has more than {LARGEST_WIDE_BYTES >> 20} MiB and is not plain ASCII")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise JsonRefused(f"it is no UTF-8: byte {data[wrong.start]:#04x} at byte {wrong.start}") from None


def _scan(text: str) -> None:
    """Refuse what would be costly to build: too deep, too many parts (strings, brackets, commas), or a string too long.

    Escapes are blanked first, so that the next quote ends a string.
    """
    bare = text.replace("\\\\", "__").replace('\\"', "__") if "\\" in text else text
    if _is_harmless(bare):
        return
    depth = 0
    for count, found in enumerate(_TOKEN.finditer(bare)):
        kind = found.lastindex
        if kind == 1:
            if found.end() - found.start() > LARGEST_STRING:
                raise JsonRefused(f"it holds a string of more than {LARGEST_STRING >> 20} MiB at character {found.start()}")
        elif kind is not None:
            depth += 1 if kind == 2 else -1
        if depth > LARGEST_DEPTH:
            raise JsonRefused(f"it is nested deeper than {LARGEST_DEPTH} at character {found.start()}")
        if count > MOST_PARTS:
            raise JsonRefused(f"it holds more than {MOST_PARTS:,} strings, brackets and commas")


def _is_harmless(bare: str) -> bool:
    """Tell at a glance whether a text is surely within all limits; where not, the long way finds the place to name."""
    structure = _STRING.sub("", bare)
    parts = bare.count('"') // 2 + sum(structure.count(one) for one in ",[]{}")
    if '"' in structure or parts > MOST_PARTS or _LONG_STRING.search(bare):
        return False
    depth = deepest = 0
    for one in _BRACKET.findall(structure):
        depth += 1 if one in "[{" else -1
        deepest = max(deepest, depth)
    return deepest <= LARGEST_DEPTH


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonRefused(f"the key {key[:SHOWN_KEY]!r} stands twice in one object")
            seen.add(key)
    return built


def _whole(digits: str) -> int:
    if len(digits) > LARGEST_DIGITS:
        raise JsonRefused(f"it holds a number of {len(digits):,} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise JsonRefused(f"it holds the number {digits[:SHOWN_KEY]}, which is too large")
    return number


def _no_number(word: str) -> NoReturn:
    raise JsonRefused(f"it holds {word}, which is no JSON number")
