"""The agent as bytes: a deterministic zip of our own sources and the pure-Python pynvml beside them, compressed with an order for the wire.

Our sources travel without docstrings, comments and types, which are a quarter of them on the wire; every line keeps its number.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import re
import threading
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import driftwatch

_ONE_AT_A_TIME = threading.Lock()
EPOCH = (1980, 1, 1, 0, 0, 0)
COMPRESSION = 7  # 9 costs seven times as much for a third of a percent
_DOCSTRING = re.compile(rb'(\A|:[ \t]*(?:#[^\n]*)?\n)([ \t]*)r?"""((?:[^\\]|\\.)*?)"""[ \t]*$', re.MULTILINE | re.DOTALL)
_RETURNS = re.compile(rb"\) -> [^\n]*:$", re.MULTILINE)
_DEFINITION = re.compile(rb"^[ \t]*def \w+\(.*$", re.MULTILINE)
_TYPE = rb"[\w.]+(?:\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\])?|\"[^\"]*\""
_PARAMETER = re.compile(rb"([(,] ?\*{0,2}\w+): (?:%b)(?=[,)]| =)" % _TYPE)
_FUNCTION = re.compile(rb"^( *)def .*\n(?:(?:\1[ \t].*)?\n)*", re.MULTILINE)
_VARIABLE = re.compile(rb"\n( +[\w.]+): (?:%b) = " % _TYPE)
_INDENT = re.compile(rb"^(?: {4})+", re.MULTILINE)
_TEXT = re.compile(rb'("""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')', re.DOTALL)
_BLANKS = re.compile(rb"(?<=[^ \n]) ([-=<>!+*/%|&]{1,2}) |([,:]) (?=[^ \n])")
_WORD = re.compile(rb"[A-Z]\w+")
_TYPES = re.compile(rb"^(from \.\.?typed import )(.*)$", re.MULTILINE)
_FROM_MODULE = re.compile(r"^\s*from \.\.?(\w+) import ", re.MULTILINE)
_FROM_PACKAGE = re.compile(r"^\s*from \.\.? import ([\w, ]+)", re.MULTILINE)
_WORDS = re.compile(rb'\b(reads|root_shows)="[^"\n]*"')
_COMMENT = re.compile(rb"(?:^[ \t]*#.*|  #[^\"'\n]*)$", re.MULTILINE)


def bundle(collectors: tuple[str, ...], *, is_replay: bool = False) -> bytes:
    """Return the zip for these collectors, stored, so that the same sources give the same bytes everywhere; made once for however many hosts."""
    with _ONE_AT_A_TIME:
        return _bundle(collectors, is_replay=is_replay)


@lru_cache(maxsize=8)
def _bundle(collectors: tuple[str, ...], *, is_replay: bool) -> bytes:
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_STORED) as archive:
        for name, source in _sources(collectors, is_replay=is_replay):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), lean(source) if name.startswith("driftwatch/agent/") else source)
    return room.getvalue()


@lru_cache(maxsize=8)
def sha256_of_sources(collectors: tuple[str, ...], *, is_replay: bool = False) -> str:
    """Return the SHA-256 over the names and sources of the agent for these collectors, as they stand before they are made lean."""
    digest = hashlib.sha256()
    for name, source in _sources(collectors, is_replay=is_replay):
        digest.update(b"%s %d\n%s" % (name.encode("ascii"), len(source), source))
    return digest.hexdigest()


def collectors_of(plan: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the collectors of a plan as it goes over the wire, sorted, each once."""
    return tuple(sorted({str(entry["module"]) for entry in plan}))


@lru_cache(maxsize=8)
def _sources(collectors: tuple[str, ...], *, is_replay: bool) -> list[tuple[str, bytes]]:
    """Return the name in the zip and the source of all that these collectors import, sorted: a plan of a few probes is a small agent.

    Only a replay holds the recorded root, only ``nvml`` pynvml, only ``ask_server`` the sockets.
    """
    package = Path(driftwatch.__file__).parent
    found = {"driftwatch/__init__.py": (package / "__init__.py").read_bytes()}
    missing = ["main", "real", *(["recorded"] if is_replay else []), "__init__", "collectors/__init__", *(f"collectors/{name}" for name in collectors)]
    seen = {*missing, *(() if is_replay else ("recorded",)), *(() if "ask_server" in collectors else ("loopback",))}
    while missing:
        name = missing.pop()
        source = found[f"driftwatch/agent/{name}.py"] = (package / f"agent/{name}.py").read_bytes()
        needed = _imported(source.decode("utf-8")) - seen
        seen |= needed
        missing += needed
    pynvml = importlib.util.find_spec("pynvml") if "nvml" in collectors else None
    if pynvml is not None and pynvml.origin is not None:
        found["pynvml.py"] = Path(pynvml.origin).read_bytes()
    return sorted(found.items())


def _imported(source: str) -> set[str]:
    """Return the modules of the agent that a source imports: ``from .x import y``, ``from ..x import y``, ``from . import x``."""
    found = {match[1] for match in _FROM_MODULE.finditer(source)}
    return found | {name.strip() for match in _FROM_PACKAGE.finditer(source) for name in match[1].split(",")}


def lean(source: bytes) -> bytes:
    """Return a source without docstrings, comments, the types of what functions take, hold and give, and what a probe says of itself to people.

    A bare ``0`` and empty lines stand in, so that line numbers hold. Outside texts one space indents as well as four, and none stands around signs.
    """
    bare = _DOCSTRING.sub(lambda found: found[1] + (found[2] and found[2] + b"0") + b"\n" * found[3].count(b"\n"), source)
    untyped = _DEFINITION.sub(lambda found: _PARAMETER.sub(rb"\1", found[0]), _WORDS.sub(rb'\1=""', bare))
    untyped = _FUNCTION.sub(lambda found: _VARIABLE.sub(rb"\n\1 = ", found[0]), untyped)
    untyped = _RETURNS.sub(b"):", _COMMENT.sub(b"", untyped))
    parts = _TEXT.split(untyped)
    parts[::2] = [_BLANKS.sub(rb"\1\2", _INDENT.sub(lambda found: b" " * (len(found[0]) >> 2), part)) for part in parts[::2]]
    untyped = b"".join(parts)
    words = set(_WORD.findall(_TYPES.sub(b"", untyped)))
    return _TYPES.sub(lambda found: found[1] + (b",".join(name for name in found[2].split(b",") if name in words) or b"Any"), untyped)


def payload(order: Mapping[str, Any]) -> bytes:
    """Return what stage 0 reads from the wire: compressed, ten digits of the order's length, the order as JSON, the zip."""
    return _packed(order, bundle(collectors_of(order["plan"]), is_replay=order["recorded"] is not None), COMPRESSION)


def payload_here(order: Mapping[str, Any]) -> bytes:
    """Return what stage 0 reads on this machine: the order, and for the zip the folder that holds our own package, compiled as it lies there."""
    return _packed(order, bytes(Path(driftwatch.__file__).resolve().parent.parent), 1)


def _packed(order: Mapping[str, Any], code: bytes, compression: int) -> bytes:
    head = json.dumps(order, separators=(",", ":")).encode("ascii")
    return zlib.compress(b"%010d" % len(head) + head + code, compression)
