"""What is fuzzed: every ``parse_*`` of the agent, every format of a dump, a log, the frames of the wire, a stored snapshot, inventories and destinations.

An entry takes any bytes. It returns where they were understood or refused as its room declares; whatever else it raises is a finding. It needs no fuzzer:
tests/test_fuzz.py runs each on its seeds.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from driftwatch import agent
from driftwatch.agent import collectors
from driftwatch.agent.host import Ran
from driftwatch.agent.probe import Refusal
from driftwatch.agent.redact import Redactor
from driftwatch.cli.wiring.dumped import snapshot_of
from driftwatch.dumps.read import formats
from driftwatch.fleet.errors import FleetError
from driftwatch.fleet.sources.ansible import parse_list, parse_yaml
from driftwatch.fleet.sources.ansible_ini import parse_ini
from driftwatch.log_stream import condense
from driftwatch.store import document
from driftwatch.store.errors import StoreError
from driftwatch.symptom import classify
from driftwatch.transports.destination import BadDestination, parse_destination
from driftwatch.transports.wire import FrameReader, LinkLost

Entry = Callable[[bytes], None]
NONCE = "n0"
BETWEEN = b"\x1f"
FRAMEWORKS = ("sglang", "vllm")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _texts(data: bytes) -> list[str]:
    return _text(data).split("\n\n")


MADE: Mapping[str, Callable[[bytes], Any]] = {
    "text": _text, "data": bytes, "cgroup": _text, "mounts": _text, "images": _text, "ref": _text, "path": _text, "name": _text, "module": _text, "mark": _text,
    "names": lambda data: _text(data).split("\n"), "arguments": lambda data: _text(data).split("\0"), "texts": _texts,
    "ran": lambda data: Ran(len(data) % 3, _text(data), _text(data[-99:])), "count": lambda data: len(data) % 5, "mask": lambda _data: Redactor(),
    "framework": lambda data: FRAMEWORKS[len(data) % 2], "is_docker": lambda data: len(data) % 2 > 0, "is_podman": lambda data: len(data) % 3 > 0,
    "read": lambda data: lambda offset, size: data[offset : offset + size], "size": len,
}
WHOLE = ("read", "size")


def targets() -> Mapping[str, Entry]:
    """Return every entry by its name, sorted."""
    found: dict[str, Entry] = {
        "snapshot": read_snapshot, "frames": read_frames, "log": read_log, "dump": read_any, "destination": name_destination,
        **{f"inventory.{name}": partial(read_inventory, parse) for name, parse in (("ini", parse_ini), ("yaml", parse_yaml), ("list", parse_list))},
        **{f"dump.{one.name}": partial(read_any, kind=one.name) for one in formats()},
        **{f"agent.{name}": partial(parsed, function) for name, function in agent_parsers().items()},
    }
    return dict(sorted(found.items()))


def agent_parsers() -> Mapping[str, Callable[..., Any]]:
    """Return every ``parse_*`` of the agent by its module and name."""
    found = {}
    for package in (agent, collectors):
        for one in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(one.name)
            for name, function in inspect.getmembers(module, inspect.isfunction):
                if name.startswith("parse_") and function.__module__ == one.name:
                    found[f"{one.name.removeprefix('driftwatch.agent.')}.{name}"] = function
    return found


def parsed(function: Callable[..., Any], data: bytes) -> None:
    """Give bytes to a parser: all to its one parameter, the pieces between unit separators to several. A refusal or a ValueError is an answer."""
    names = tuple(inspect.signature(function).parameters)
    pieces = [data] * len(names) if len(names) == 1 or names == WHOLE else data.split(BETWEEN, len(names) - 1) + [b""] * len(names)
    try:
        _walked(function(**{name: MADE[name](piece) for name, piece in zip(names, pieces, strict=False)}))
    except (Refusal, ValueError):
        return


def read_any(data: bytes, kind: str | None = None) -> None:
    """Read bytes as a file that somebody names, or as a dump of one kind. StoreError is exit 2; what is read can be stored and read again."""
    try:
        found = snapshot_of(data, "any.txt", kind)
    except StoreError:
        return
    document.parse(document.to_bytes(found), "again.json")


def read_snapshot(data: bytes) -> None:
    """Read bytes as a stored snapshot: StoreError, or one that is the same after it was stored again."""
    try:
        found = document.parse(data, "any.json")
    except StoreError:
        return
    assert document.parse(document.to_bytes(found), "again.json") == found, "a snapshot that is another one once stored"


def read_frames(data: bytes) -> None:
    """Feed bytes to a reader of frames, cut where they say: each frame is an object, all the rest is counted as noise or still waited for."""
    reader = FrameReader(NONCE)
    step = data[0] + 1 if data else 1
    try:
        frames = [frame for at in range(0, len(data), step) for frame in reader.feed(data[at : at + step])]
    except LinkLost:
        return
    assert all(isinstance(frame, dict) for frame in frames), "a frame that is no object"
    assert reader.noise_bytes <= len(data), "more noise than there were bytes"


def read_log(data: bytes) -> None:
    """Read bytes as a server's log, and once more as one too long to be kept whole."""
    for whole in (len(data), len(data) // 2):
        found = classify(condense((data,), whole).text)
        assert found is None or found.klass or found.signature, "a symptom that says nothing"


def read_inventory(parse: Callable[[str, str], Any], data: bytes) -> None:
    """Read bytes as an inventory of hosts: hosts, or a FleetError."""
    try:
        parse(data.decode("utf-8", "replace"), "any")
    except FleetError:
        return


def name_destination(data: bytes) -> None:
    """Read bytes as what somebody typed for a host: a destination, or refused before any process starts."""
    try:
        parse_destination(_text(data))
    except BadDestination:
        return


def _walked(found: Any) -> None:
    """Ask a lazy answer for all it has."""
    if isinstance(found, Iterator):
        for _ in found:
            pass

