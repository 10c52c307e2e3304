"""What fuzzing starts from: the texts that the tests keep, what recorded hosts hold, the example snapshots, and the words that parsers look for."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.properties.anything import PIECES

ROOT = Path(__file__).parent.parent
FOLDERS = ("tests/fixtures", "tests/dumps/pastes", "tests/dumps/texts", "tests/agent/texts")
HOSTS = ("s1-seed-fraction", "13-orphan-workers-after-docker-rm", "35-slurm-upgrade-visible-devices", "11-hbm-degrading-row-remap")
SNAPSHOTS = ("snapshots/good.json", "snapshots/bad.json")
LARGEST_BYTES = 32 << 10
FRAMES = b'\x05\x1eDW1 n0 {"frame": "ready"}\nMotd\n\x1eDW1 n0 {"frame": "facts", "facts": [["a/b", 1]]}\n\x1eDW1 n1 {}\n\x1eDW1 n0 {"frame": "end"}\n'
SNAPSHOT = (b'{"agent": {}, "facts": {"a/b": 1}, "format": 1, "host": "h", "partial": false, '
            b'"probes": {"a": {"elapsed_s": 0.1, "status": "ok", "tells": ["a/*"]}}, "redaction": {}, '
            b'"source": "snapshot", "symptom": null, "taken_at": "2026-03-04T03:12:00Z", "targets": [], "volatile": []}')
INVENTORIES = (
    b"[gpus]\nnode[01:12] ansible_host=192.0.2.1 ansible_user=root\n[gpus:vars]\nansible_port=2222\n[all:children]\ngpus\n",
    b"all:\n  children:\n    gpus:\n      hosts:\n        a:\n          ansible_host: 192.0.2.1\n      vars: {ansible_port: 22}\n",
    b'{"_meta": {"hostvars": {"a": {"ansible_host": "192.0.2.1"}}}, "all": {"children": ["gpus"]}, "gpus": {"hosts": ["a"]}}',
)
DESTINATIONS = (b"root@gpu-a", b"ssh://root@[fd00::1]:22", b"docker://name@host", b"kubectl://space/pod/container", b"slurm://node")


@cache
def seeds() -> tuple[bytes, ...]:
    """Return all seeds of at most 32 KiB, each once, the shortest first."""
    found = {FRAMES, SNAPSHOT, *INVENTORIES, *DESTINATIONS, *(b"\x1f".join((one, two)) for one, two in zip(INVENTORIES, DESTINATIONS, strict=False))}
    found.update(path.read_bytes() for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file())
    found.update((ROOT / name).read_bytes() for name in SNAPSHOTS)
    for name in HOSTS:
        found.update(recorded(ROOT / f"tests/hosts/{name}.tar.xz"))
    return tuple(sorted((one for one in found if len(one) <= LARGEST_BYTES), key=lambda one: (len(one), one)))


def recorded(path: Path) -> Iterator[bytes]:
    """Yield what an archive of recorded hosts holds: files, and what commands printed."""
    with tarfile.open(path) as archive:
        for member in archive:
            if not member.isreg():
                continue
            data = archive.extractfile(member).read()  # type: ignore[union-attr]  # a regular file has bytes
            if member.name.endswith("/commands.json"):
                yield from (str(one.get("stdout", "")).encode("utf-8", "surrogateescape") for one in json.loads(data))
            else:
                yield data


def dictionary() -> str:
    """Return the words that parsers look for, as libFuzzer's dictionary."""
    words = (one.encode("utf-8", "surrogatepass") for one in PIECES)
    return "".join('"' + "".join(f"\\x{byte:02x}" for byte in one) + '"\n' for one in words)
