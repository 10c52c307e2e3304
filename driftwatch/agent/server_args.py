"""Reads the arguments that a server wrote into its log as Python text: ``ServerArgs(a='x', b=[1])``, ``{'a': 'x'}``. Evaluates nothing."""
from __future__ import annotations

import ast
import re

from .typed import Any, Dict, Iterator, Regex, Tuple

_OPEN = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ENUM = Regex(r"<[\w.]+: (.*)>\Z", re.DOTALL)
_FIELD = Regex(r"\s*(?:(\w+)\s*=|(['\"])(\w+)\2\s*:)\s*(.*)\Z", re.DOTALL)
_CALL = Regex(r"[\w.]+(?=\()")
LONGEST = 4000


def parse_server_args(text: str) -> Dict[str, Any]:
    """Return the fields of ``Name(a=…, b=…)`` or ``{'a': …}`` at the start of a text, as JSON values; what a cut end makes unreadable is left out."""
    call = _CALL.match(text)
    start = call.end() if call else 0
    if text[start:start + 1] not in ("(", "{"):
        return {}
    fields: Dict[str, Any] = {}
    for piece, is_whole in _pieces(text, start):
        found = _FIELD.match(piece)
        if found and is_whole:
            fields[found.group(1) or found.group(3)] = literal(found.group(4).strip())
    return fields


def _pieces(text: str, start: int) -> Iterator[Tuple[str, bool]]:
    """Yield the parts between the commas of the outermost bracket that opens at ``start``, and whether each is known to be whole."""
    expected = [_OPEN[text[start]]]
    begin = at = start + 1
    while at < len(text):
        char = text[at]
        if char in "'\"":
            at = _after_string(text, at)
            continue
        if char == expected[-1]:
            expected.pop()
            if not expected:
                yield text[begin:at], True
                return
        elif char in _OPEN:
            expected.append(_OPEN[char])
        elif char == "," and len(expected) == 1:
            yield text[begin:at], True
            begin = at + 1
        at += 1
    yield text[begin:], False


def _after_string(text: str, at: int) -> int:
    """Return the place behind the string literal that starts at ``at``; the end of the text if it never ends."""
    quote = text[at]
    at += 1
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at + 1


def literal(text: str) -> Any:
    """Return a Python literal as a JSON value, an enum member as its value, and anything else as its own text."""
    enum = _ENUM.match(text)
    try:
        value = ast.literal_eval(enum.group(1) if enum else text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text[:LONGEST]
    return as_json(value)


def as_json(value: Any) -> Any:
    """Return a literal in JSON's own kinds; a number with more than three decimals as its text, so that no digit is lost."""
    if isinstance(value, dict):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [as_json(one) for one in value]
    if isinstance(value, float):
        return value if abs(value) < 1e15 and round(value, 3) == value else repr(value)  # not so for NaN and infinity
    return value if isinstance(value, (str, bool, int)) or value is None else repr(value)
