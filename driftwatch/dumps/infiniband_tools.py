"""What ``ibv_devinfo``, ``ibstat`` and ``ibstatus`` print of InfiniBand and RoCE adapters, in the kernel's words.

The paths are those of agent/collectors/infiniband.py. ``ibstat`` gives the rate as a bare number, which the kernel does not: it is not told.

| path | what |
|---|---|
| infiniband/DEV/{firmware, hca_type, board_id} | as far as the tool prints them |
| infiniband/DEV/ports/N/{state, phys_state, link_layer, rate} | such as ACTIVE, LinkUp, InfiniBand, 400 Gb/sec (4X NDR) |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from driftwatch.agent.probe import fact_path
from driftwatch.dumps.format import FENCE, Format, Parsed, Stretch

_ADAPTER = re.compile(
    r"\s{0,8}(?:hca_id:\s+(?P<verbs>[A-Za-z]\w{1,40})|CA '(?P<stat>\w{2,40})'"
    r"|Infiniband device '(?P<status>\w{2,40})' port (?P<port>\d{1,3}) status:)\s*\Z")
_PORT = re.compile(r"\s*(?:port:\s*(\d{1,3})|Port (\d{1,3}):)\s*\Z")
_ROW = re.compile(r"\s+(?P<key>[A-Za-z][\w -]{0,40}):\s*(?P<value>.{0,200}?)\s*\Z")
_OF_ADAPTER: Mapping[str, str] = MappingProxyType(
    {"fw_ver": "firmware", "board_id": "board_id", "ca type": "hca_type", "firmware version": "firmware"})
_OF_PORT: Mapping[str, str] = MappingProxyType({
    "state": "state", "phys_state": "phys_state", "physical state": "phys_state", "phys state": "phys_state", "link_layer": "link_layer",
    "link layer": "link_layer"})
_STATES: Mapping[str, str] = MappingProxyType({"initializing": "INIT", "initialize": "INIT", "active": "ACTIVE", "down": "DOWN", "armed": "ARMED"})
_PHYSICAL: Mapping[str, str] = MappingProxyType({"LINK_UP": "LinkUp", "DISABLED": "Disabled", "POLLING": "Polling", "SLEEP": "Sleep"})
_RATE = re.compile(r"[\d.]+ Gb/sec \(\S+ \S+\)")


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each adapter with the rows below it."""
    at = 0
    while at < len(lines):
        after = at + 1
        if _ADAPTER.match(lines[at]):
            while after < len(lines) and _is_below(lines[after]):
                after += 1
            yield Stretch(at, after, 0.9)
        at = after


def _is_below(line: str) -> bool:
    return line != FENCE and line[:1].isspace() and line.strip() != "" and not _ADAPTER.match(line)


def parse(text: str) -> Parsed:
    """Return what is told of one adapter."""
    head, *rows = text.split("\n")
    adapter = _ADAPTER.match(head)
    return Parsed(dict(_facts(adapter, rows)) if adapter else {})


def _facts(adapter: re.Match[str], rows: Sequence[str]) -> Iterator[tuple[str, Any]]:
    top = ["infiniband", adapter["verbs"] or adapter["stat"] or adapter["status"]]
    port = adapter["port"] or ""
    for line in rows:
        begun, row = _PORT.match(line), _ROW.match(line)
        if begun:
            port = begun[1] or begun[2]
        elif row and row["value"]:
            key, value = row["key"].lower(), row["value"]
            if not port and key in _OF_ADAPTER:
                yield fact_path(*top, _OF_ADAPTER[key]), value
            elif port and key in _OF_PORT:
                yield fact_path(*top, "ports", port, _OF_PORT[key]), _in_kernels_words(_OF_PORT[key], value)
            elif port and key == "rate" and _RATE.fullmatch(value):
                yield fact_path(*top, "ports", port, "rate"), value


def _in_kernels_words(name: str, value: str) -> str:
    """Return a state as the kernel writes it: ``PORT_ACTIVE (4)``, ``Active`` and ``4: ACTIVE`` are ACTIVE, ``LINK_UP (5)`` is LinkUp."""
    bare = re.sub(r"^\d+: | \(\d+\)\Z", "", value).removeprefix("PORT_")
    return _STATES.get(bare.lower(), bare) if name == "state" else _PHYSICAL.get(bare, bare)


FORMAT = Format(
    name="transcript", find=find, parse=parse, looks_like="ibv_devinfo, ibstat or ibstatus", is_nested=True, marks=("hca_id:", "CA '", "Infiniband device '"),
    never_prints=("packages/*", "driver/*", "gpus/*", "env/*", "servers/*", "torch/*"),
)
