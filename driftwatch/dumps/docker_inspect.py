"""``docker inspect`` and ``podman inspect``: how containers were made, and which image a tag stands for. The facts of containers are the collector's own.

| path | what |
|---|---|
| containers/NAME/… | as agent/collectors/containers.py tells them |
| images/TAG/{id, digest, created_at, architecture} | of an inspected image; digest is the registry's |
| servers/FRAMEWORK/given/ARG | where a container runs a server that is known; also servers/FRAMEWORK/args/ARG where no log in the paste tells arguments |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from driftwatch.agent.collectors.containers import PROBES
from driftwatch.agent.container_texts import parse_inspect
from driftwatch.agent.launch_args import parse_given, recognise
from driftwatch.agent.probe import Refusal, fact_path
from driftwatch.agent.redact import Redactor
from driftwatch.dumps.format import Format, NoDump, Parsed, Stretch
from driftwatch.dumps.json_text import json_stretches, salvage

VOLATILE = tuple(glob for probe in PROBES for glob in probe.volatile)
_CONTAINER = re.compile(r'"(?:HostConfig|NetworkSettings|GraphDriver|RepoTags|RootFS|OOMKilled|ResolvConfPath)"')
_IMAGE = ('"RepoTags"', '"RepoDigests"')  # of an image, of which somebody left other keys out
_MARKS = ('"Id"', _IMAGE[0])
_PROBABLY = 200
_MOST = 40


def find(lines: Sequence[str]) -> Iterator[Stretch]:
    """Yield each JSON list, also a cut one, that holds what only inspect prints."""
    for first, after in json_stretches(lines) if any(mark in line for line in lines for mark in _MARKS) else ():
        head = "\n".join(lines[first:min(after, first + _PROBABLY)])
        if ('"Id"' in head and _CONTAINER.search(head)) or all(mark in head for mark in _IMAGE):
            yield Stretch(first, after, 0.98)


def parse(text: str) -> Parsed:
    """Return what each whole object tells; of a list that was cut, those before the cut, or what was whole in the only one."""
    try:
        objects, is_whole = salvage(text)
        if not objects:
            objects = [_mended(text)]
    except NoDump as wrong:
        return Parsed({}, notes=(str(wrong),))
    facts: dict[str, Any] = {}
    tells: list[str] = []
    for one in objects[:_MOST]:
        facts.update(_image(one) if "RepoTags" in one or "RepoDigests" in one else container(one))
        tells += [f"{fact_path('containers', _name(one))}/env/*"] if is_whole and _lists_variables(one) else []
    return Parsed(facts, tells=tuple(tells), notes=() if is_whole else ("docker inspect: the text was cut",), volatile=VOLATILE)


def _name(one: Mapping[str, Any]) -> str:
    return str(one.get("Name") or one.get("Id") or "").lstrip("/")[:80]


def _lists_variables(one: Mapping[str, Any]) -> bool:
    config = one.get("Config")
    return isinstance(config, Mapping) and isinstance(config.get("Env"), list) and bool(_name(one))


def _mended(text: str) -> dict[str, Any]:
    """Return the object that a cut text begins, as far as its last whole value; empty where nothing was whole."""
    start = text.find("{")
    closers: list[str] = []
    best, is_text, at = "", False, max(start, 0)
    while at < len(text):
        sign = text[at]
        if is_text:
            at += 1 if sign == "\\" else 0
            is_text = sign != '"'
        elif sign == '"':
            is_text = True
        elif sign in "[{":
            closers.append("]" if sign == "[" else "}")
        elif sign in "]}":
            closers = closers[:-1]
        elif sign == ",":
            best = text[start:at] + "".join(reversed(closers)) if len(closers) == 1 else best
        at += 1
    found = salvage(best)[0] if best else []
    return found[0] if found else {}


def container(one: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the facts of one container from its object, or from a part of it that holds its name."""
    name = _name(one)
    if not name:
        return
    mask = Redactor()
    try:
        told = parse_inspect(json.dumps([one]), mask)
    except Refusal:
        return
    top = fact_path("containers", name)
    env = told.pop("env", {})
    yield from ((f"{top}/{key}", value) for key, value in told.items())
    yield from ((f"{top}/{fact_path('env', key)}", value) for key, value in env.items())
    yield from _server([str(one.get("Path") or ""), *map(str, one.get("Args") or ())])


def _server(argv: list[str]) -> Iterator[tuple[str, Any]]:
    launch = recognise(argv)
    if launch is not None and launch.arguments is not None and launch.framework in ("sglang", "vllm"):
        mask = Redactor()
        for name, value in parse_given(launch.framework, launch.arguments).items():
            yield fact_path("servers", launch.framework, "given", name), mask.argument(name, value)


def _image(one: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    tags = one.get("RepoTags") or [one.get("Id")]
    digests = one.get("RepoDigests") or [""]
    told = {"id": one.get("Id"), "digest": str(digests[0]).partition("@")[2] or None, "created_at": one.get("Created"), "architecture": one.get("Architecture")}
    for tag in tags[:10]:
        yield from ((f"{fact_path('images', str(tag))}/{key}", value) for key, value in told.items() if isinstance(value, str))


FORMAT = Format(
    name="docker-inspect", find=find, parse=parse, knows_cuts=True, looks_like="docker inspect", marks=_MARKS,
    never_prints=("packages/*", "driver/*", "gpus/*", "kernel/*", "git/*", "sources/*", "servers/*/log/*"),
)
