"""How a fact is written on its way from a probe's child: one line of ASCII JSON. Pure."""
from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii as quoted

from .probe import Unknown
from .typed import Any

ENCODE = json.JSONEncoder(separators=(",", ":")).encode  # json.dumps would make one for each fact
LISTED: Any = {frozenset((int,)): str, frozenset((str,)): quoted}


def fact_line(path: str, value: Any) -> str:
    """Return a fact as ``[PATH,VALUE]``; an Unknown is told as an object that says so."""
    if type(value) is str:  # most are, and this costs a quarter
        return "[%s,%s]" % (quoted(path), quoted(value))
    told = LISTED.get(frozenset(map(type, value))) if type(value) is list else None  # times, requirements
    if told:
        return "[%s,[%s]]" % (quoted(path), ",".join(map(told, value)))
    return ENCODE([path, {"unknown": value.status, "reason": value.reason} if isinstance(value, Unknown) else value])
