"""The agent as bytes: a deterministic zip of our own sources and the pure-Python pynvml beside them, compressed with an order for the wire.

Our sources travel without docstrings and comment lines, which are a quarter of them on the wire; every line keeps its number.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import driftwatch

EPOCH = (1980, 1, 1, 0, 0, 0)
COMPRESSION = 6  # 9 costs three times as much for one percent
_DOCSTRING = re.compile(rb'(\A|:[ \t]*(?:#[^\n]*)?\n)([ \t]*)r?"""((?:[^\\]|\\.)*?)"""[ \t]*$', re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)


@lru_cache(maxsize=2)
def bundle(*, is_replay: bool = False) -> tuple[bytes, str]:
    """Return the zip (stored, so that the same sources give the same bytes everywhere) and its SHA-256. Only a replay holds the recorded root."""
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_STORED) as archive:
        for name, source in sorted(_sources()):
            if is_replay or not name.endswith("agent/recorded.py"):
                archive.writestr(zipfile.ZipInfo(name, EPOCH), source)
    return room.getvalue(), hashlib.sha256(room.getvalue()).hexdigest()


def _sources() -> Iterator[tuple[str, bytes]]:
    package = Path(driftwatch.__file__).parent
    yield "driftwatch/__init__.py", (package / "__init__.py").read_bytes()
    for path in (package / "agent").rglob("*.py"):
        yield f"driftwatch/{path.relative_to(package).as_posix()}", lean(path.read_bytes())
    found = importlib.util.find_spec("pynvml")
    if found is not None and found.origin is not None:
        yield "pynvml.py", Path(found.origin).read_bytes()


def lean(source: bytes) -> bytes:
    """Return a source without its docstrings and comment lines. Below the top ``pass`` stands in for them, and empty lines keep the line numbers."""
    return _COMMENT.sub(b"", _DOCSTRING.sub(lambda found: found[1] + (found[2] and found[2] + b"pass") + b"\n" * found[3].count(b"\n"), source))


def payload(order: Mapping[str, Any]) -> bytes:
    """Return what stage 0 reads from the wire: compressed, ten digits of the order's length, the order as JSON, the zip."""
    head = json.dumps(order, separators=(",", ":")).encode("ascii")
    return zlib.compress(b"%010d" % len(head) + head + bundle(is_replay=order["recorded"] is not None)[0], COMPRESSION)
