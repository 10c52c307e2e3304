"""``pip inspect``: one JSON object with every distribution's metadata. A text that was cut gives the distributions before the cut.

| path | what |
|---|---|
| packages/NAME/version, installer, requires, direct_url, location, requested | as the metadata tell them |
| python/version, kernel/release | of the interpreter that ran pip |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from driftwatch.dumps.format import Format, NoDump, Parsed, Stretch
from driftwatch.dumps.json_text import json_stretches, load, salvage
from driftwatch.dumps.rows import ALL_VERSIONS, add_version, package

_HEAD = re.compile(r'\s*\{\s*"version"\s*:\s*"[\d.]+"\s*,\s*"pip_version"|"installed"\s*:\s*\[')


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield JSON objects that begin as pip's do."""
    for first, after in json_stretches(lines):
        if lines[first].lstrip().startswith("{") and _HEAD.search(" ".join(lines[first:first + 5])[:2000]):
            yield Stretch(first, after, 1.0)


def parse(text: str) -> Parsed:
    """Return what pip tells of each distribution and of its interpreter."""
    try:
        told = load(text)
        is_whole = True
    except NoDump:
        told = {"installed": salvage(text[text.find('"installed"'):])[0]}
        is_whole = False
    if not isinstance(told, dict) or not isinstance(told.get("installed"), list):
        raise NoDump("it holds no list of what is installed")
    facts: dict[str, Any] = {}
    for one in told["installed"]:
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict):
            _add(facts, one, one["metadata"])
    facts.update(_interpreter(told.get("environment")))
    return Parsed(facts, tells=(ALL_VERSIONS,) if is_whole else (), notes=() if is_whole else ("the text was cut: some packages may be missing",))


def _add(facts: dict[str, Any], entry: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    name, version = metadata.get("name"), metadata.get("version")
    if not isinstance(name, str) or not isinstance(version, str):
        return
    add_version(facts, name, version)
    told = {
        "installer": entry.get("installer"), "requires": metadata.get("requires_dist"), "direct_url": entry.get("direct_url"),
        "location": entry.get("metadata_location"), "requested": entry.get("requested"),
    }
    facts.update({package(name, key): value for key, value in told.items() if value not in (None, "")})


def _interpreter(environment: Any) -> dict[str, Any]:
    if not isinstance(environment, dict):
        return {}
    told = {"python/version": environment.get("python_full_version"), "kernel/release": environment.get("platform_release")}
    return {path: value for path, value in told.items() if isinstance(value, str)}


FORMAT = Format(
    name="pip-inspect", find=find, parse=parse, knows_cuts=True, looks_like="pip inspect (JSON)",
    never_prints=("driver/*", "gpus/*", "env/*", "os/name", "servers/*", "packages/*/record", "packages/*/imported_version"),
)
