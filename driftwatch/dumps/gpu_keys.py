"""One GPU under one key: what a table of nvidia-smi tells by index goes below the UUID that ``-L`` or ``-q`` of the same paste tells for it. Pure.

Only where both are nvidia-smi's own numbers, the paste knows one UUID for the index, and neither name nor address speaks against it. Where it knows two for
an index though the tool counts fewer GPUs than that makes, somebody changed one of them: what is told of both goes below ``gpus/index-N``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from driftwatch.dumps.merge import UNKNOWN

_INDEX = re.compile(r"gpus/(?P<uuid>GPU-[^/]{1,80})/index\Z")
_OF_UUID = re.compile(r"gpus/(?P<uuid>GPU-[^/]{1,80})(?P<rest>/.*)?\Z")
_KEYED = re.compile(r"gpus/index-(?P<index>\d{1,4})(?P<rest>/.*)?\Z")


def under_uuids(parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what the parts of one tool's output tell, with ``gpus/index-N`` as ``gpus/UUID`` where that is known."""
    uuids: dict[str, set[str]] = {}
    for path, value in ((path, value) for facts in parts for path, value in facts.items()):
        found = _INDEX.match(path)
        if found:
            uuids.setdefault(str(value), set()).add(found["uuid"])
    told = {path: value for facts in parts for path, value in facts.items()}
    count = told.get("gpus/count")
    if isinstance(count, int) and count < sum(map(len, uuids.values())):
        spelt = {uuid: index for index, those in uuids.items() for uuid in those if _agree(told, f"gpus/{min(those)}", f"gpus/{uuid}")}
        return [{_by_index(path, spelt): value for path, value in facts.items()} for facts in parts]
    known = {index: next(iter(those)) for index, those in uuids.items() if len(those) == 1}
    known = {index: uuid for index, uuid in known.items() if _agree(told, f"gpus/index-{index}", f"gpus/{uuid}")}
    return [dict(_renamed(facts, known)) for facts in parts]


def _by_index(path: str, spelt: Mapping[str, str]) -> str:
    """Return a path below a GPU's number, where its UUID is one of several spellings."""
    found = _OF_UUID.match(path)
    return f"gpus/index-{spelt[found['uuid']]}{found['rest'] or ''}" if found and found["uuid"] in spelt else path


def _agree(told: Mapping[str, Any], one: str, other: str) -> bool:
    """Tell whether two GPUs may be one: the names are one or a cut one of the other, the addresses are one, as far as both are told."""
    names = sorted((value for value in (told.get(f"{one}/name"), told.get(f"{other}/name")) if isinstance(value, str)), key=len)
    places = [value for value in (told.get(f"{one}/pci"), told.get(f"{other}/pci")) if isinstance(value, str)]
    is_one = not names or names[-1].startswith(names[0].removesuffix("..."))
    return is_one and len(set(places)) <= 1


def _renamed(facts: Mapping[str, Any], known: Mapping[str, str]) -> Any:
    for path, value in facts.items():
        found = _KEYED.match(path)
        if not found or found["index"] not in known:
            yield path, value
        elif found["rest"] or not isinstance(value, UNKNOWN):  # a row that was cut leaves what the UUID's own line told
            yield f"gpus/{known[found['index']]}{found['rest'] or ''}", value
