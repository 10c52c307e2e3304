"""From the facts of one host, as lines, to what can be counted over many: what is each host's own left out, devices of one kind put together.

A line is ``"PATH": VALUE`` of a stored snapshot, one blank before it. GPUs and PCI devices of a host are peers of each other: their facts stand under
one path (``gpus/*/link/width``, ``pci/[gpu]/link/width``) whose value is that of all of them, or how many have which. So do those of its containers,
whose names are often made up anew. Nothing is decided here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from driftwatch.compare.peers_roles import Role, without_identity
from driftwatch.model import Snapshot, is_unknown

_Kind = Literal["plain", "text", "device", "own"]
BETWEEN = b'": '
DEVICES = "devices"  # the one key of a value that tells how many devices have which
_BY_UUID = (b' "gpus/', b' "nvlink/')
_CONTAINERS = b' "containers/'
_BY_ADDRESS = (b' "pci/', b' "acs/', _CONTAINERS)
_SECRET = b"hmac-sha256:"
_MOST_REMEMBERED = 256  # hosts whose devices are told in other words
_Device = tuple[bytes, bytes, bytes]  # the first part of its path, the rest of the path, the value


class Telling(NamedTuple):
    """What one host tells: lines that others may share as they are, lines that were made here, and (path, status) of what it could not tell."""

    plain: list[bytes]
    made: tuple[bytes, ...]
    unknown: tuple[tuple[str, str], ...]


class _Put(NamedTuple):
    """Lines of devices, made: (path, values) of one kind told as one, and paths of which one device did not tell, with the status."""

    made: tuple[bytes, ...]
    unknown: tuple[tuple[str, str], ...]


class Sorter:
    """Sorts the lines of one host after another by a role. It remembers the lines that are plain, since most hosts tell the same ones."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self._plain: set[bytes] = set()
        self._kinds: dict[tuple[str, ...], dict[bytes, _Kind]] = {}
        self._put: dict[object, _Put] = {}
        self._dropped: set[bytes] = set()
        self._key_id: Any = None

    def drop(self, paths: Iterable[bytes]) -> None:
        """Sort no line of these paths (as they stand in a line) any more: no two hosts agree there."""
        self._dropped.update(paths)
        self._plain = {line for line in self._plain if parts_of(line)[0] not in self._dropped}
        for kinds in self._kinds.values():
            kinds.update(dict.fromkeys(self._dropped, "own"))

    def sort(self, head: Snapshot, lines: Sequence[bytes]) -> Telling:
        """Return what a host tells; ``head`` is its snapshot without facts."""
        known = self._plain
        self._key_id = self._key_id if self._key_id is not None else head.redaction.get("key_id")
        plain = [line for line in lines if line in known]
        kinds = self._kinds.setdefault(head.volatile, {})
        made: list[bytes] = []
        unknown: list[tuple[str, str]] = []
        gpus: list[tuple[bytes, _Device]] = []
        others: list[bytes] = []
        for line in lines:
            if line in known:
                continue
            kind = kinds.get(line.partition(BETWEEN)[0])
            if kind == "own":
                continue
            path, value = parts_of(line)
            if kind is None and path.startswith(_BY_UUID) and path.count(b"/") > 1:
                top, name, rest = path.split(b"/", 2)
                shared = top + b"/*/" + rest
                if (kinds.get(shared) or self._kind(kinds, shared, head)) != "own":
                    gpus.append((name, (top, rest, value)))
                continue
            kind = kind or self._kind(kinds, path, head)
            if kind == "device":
                others.append(path + BETWEEN + without_identity(value, head.host) if line.startswith(_CONTAINERS) else line)
            elif kind != "own":
                self._sort_one(head, line, kind, (plain, made, unknown))
        self._add(gpus, others, made, unknown)
        return Telling(plain, tuple(made), tuple(dict.fromkeys(unknown)))

    def _sort_one(self, head: Snapshot, line: bytes, kind: _Kind, into: tuple[list[bytes], list[bytes], list[tuple[str, str]]]) -> None:
        """Put one line to the plain ones, the made ones or what is unknown."""
        plain, made, unknown = into
        path, value = parts_of(line)
        status = self._unanswered(value, head)
        if status:
            unknown.append((text_of(path), status))
        elif kind == "text" and (told := without_identity(value, head.host)) != value:
            made.append(path + BETWEEN + told)
        else:
            self._plain.add(line)
            plain.append(line)

    def _kind(self, kinds: dict[bytes, _Kind], path: bytes, head: Snapshot) -> _Kind:
        """Return what to do with the lines of a path."""
        name = text_of(path)
        shared = device_path(name, {})
        found: _Kind = "plain"
        if path in self._dropped or self.role.is_own(shared) or head.is_volatile(shared):
            found = "own"
        elif path.startswith(_BY_ADDRESS):
            found = "device"
        elif self.role.has_text(name):
            found = "text"
        kinds[path] = found
        return found

    def _unanswered(self, value: bytes, head: Snapshot) -> str:
        """Return the status of a value that tells nothing that can be compared, else an empty text."""
        if value[:1] == b"{":
            told = json.loads(value)
            if is_unknown(told):
                return str(told["unknown"])
            if "masked" in told:
                return "not_recorded"
        return "not_recorded" if _SECRET in value and head.redaction.get("key_id") != self._key_id else ""

    def _add(self, gpus: list[tuple[bytes, _Device]], others: list[bytes], made: list[bytes], unknown: list[tuple[str, str]]) -> None:
        """Add one line for each fact of each kind of device. Most hosts tell the same of their devices, so what comes of that is remembered."""
        every: dict[bytes, set[bytes]] = {}
        for name, (top, _, _) in gpus:
            every.setdefault(top, set()).add(name)
        counts = tuple((top, len(names)) for top, names in every.items())
        for key, make in (((counts, tuple(device for _, device in gpus)), _of_gpus), (tuple(others), _of_addresses)):
            if key not in self._put:
                if len(self._put) >= _MOST_REMEMBERED:
                    self._put.clear()
                self._put[key] = make(key)
            made.extend(self._put[key].made)
            unknown.extend(self._put[key].unknown)


def _of_gpus(key: Any) -> _Put:
    counts, devices = key
    told: dict[bytes, list[bytes]] = {}
    for top, rest, value in devices:
        told.setdefault(top + b"/*/" + rest, []).append(value)
    many = dict(counts)
    return _made(told, {path: many[path.partition(b"/")[0]] for path in told})


def _of_addresses(lines: Any) -> _Put:
    """Return what PCI devices tell, those of one kind together, and what containers tell."""
    parts = [parts_of(line) for line in lines]
    kinds = {path.split(b"/")[1]: value.strip(b'"') for path, value in parts if path.startswith(b' "pci/') and path.endswith(b"/kind")}
    told: dict[bytes, list[bytes]] = {}
    every: dict[bytes, set[bytes]] = {}
    for path, value in parts:
        top, name, *rest = path.split(b"/", 2)
        group = top + b"/[" + kinds.get(name, b"device") + b"]" if top == b' "pci' else top + b"/*"
        told.setdefault(b"/".join([group, *rest]), []).append(value)
        every.setdefault(group, set()).add(name)
    return _made(told, {path: len(every[b"/".join(path.split(b"/", 2)[:2])]) for path in told})


def _made(told: dict[bytes, list[bytes]], devices: dict[bytes, int]) -> _Put:
    """Return one line for each path: the value that all its devices have, or how many have which."""
    made, unknown = [], []
    for path, values in told.items():
        counts = Counter(values)
        status = next((str(one["unknown"]) for one in map(json.loads, counts) if is_unknown(one)), "")
        if status:
            unknown.append((text_of(path), status))
            continue
        counts.update({b"null": devices[path] - len(values)} if len(values) < devices[path] else {})
        if len(counts) == 1:
            made.append(path + BETWEEN + values[0])
            continue
        counted = sorted(((many, json.loads(value)) for value, many in counts.items()), key=lambda pair: (-pair[0], json.dumps(pair[1], sort_keys=True)))
        made.append(path + BETWEEN + json.dumps({DEVICES: counted}, sort_keys=True).encode())
    return _Put(tuple(made), tuple(unknown))


def parts_of(line: bytes) -> tuple[bytes, bytes]:
    """Return the path of a line as it stands there, and its value. A path with a quote in it is taken apart with care."""
    path, _, value = line.partition(BETWEEN)
    if path[-1:] == b"\\":
        end = json.JSONDecoder().raw_decode(line.decode("ascii"), 1)[1]
        return line[: end - 1], line[end + 2:]
    return path, value


def text_of(path: bytes) -> str:
    """Return the path of a line as text: without what stands before it, and with its escapes undone."""
    return str(json.loads(path[1:] + b'"')) if b"\\" in path else path[2:].decode("ascii")


def value_of(line: bytes) -> Any:
    """Return the value of a line."""
    return json.loads(parts_of(line)[1])


def device_path(path: str, kinds: dict[str, str]) -> str:
    """Return the path under which a fact of a device is counted; any other as it is. ``kinds`` are those of the PCI devices by their address."""
    top, _, below = path.partition("/")
    name, _, rest = below.partition("/")
    if top in ("gpus", "nvlink") and rest:
        return f"{top}/*/{rest}"
    if top == "pci" and rest:
        return f"pci/[{kinds.get(name, 'device')}]/{rest}"
    if top == "containers" and rest:
        return f"containers/*/{rest}"
    return "acs/*" if top == "acs" and name else path
