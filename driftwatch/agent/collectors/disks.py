"""Room on the file systems that matter, and whether each answers at all. Each is asked in a child of its own, which is given up after two seconds.

Local ones are asked first. After three that gave no answer, the others that may hang are not asked.

| path | what |
|---|---|
| mounts/PATH/answers | true; unknown with the child's state and wait channel where it did not answer in time, or with the error |
| disks/PATH/size_bytes, used_bytes (volatile), free_bytes (volatile) | as ``df`` counts them; free is what users may take |
| disks/PATH/inodes, inodes_free (volatile) | 0 and 0 where the file system makes them as it needs |
| shm/size_bytes, used_bytes (volatile), free_bytes (volatile) | of /dev/shm |
"""
from __future__ import annotations

from ..host import Host
from ..mount_table import Mount, parse_mountinfo, that_matter
from ..probe import Fact, Probe, Unknown, fact_path
from ..serving_places import places
from ..typed import Any, Iterator

TABLE = "/proc/self/mountinfo"
SHM = "/dev/shm"  # noqa: S108  # only its room is asked
PATIENCE_S = 2.0
SILENT_LIMIT = 3
NOT_TOLD = Unknown("not_recorded", "the recorded df does not tell inodes")


def collect(host: Host) -> Iterator[Fact]:
    """Yield the room of /dev/shm, then whether each mount answers and its room, those that may hang last."""
    yield from _room("shm", host.attempt(host.statvfs_apart, SHM, PATIENCE_S), ("size_bytes", "used_bytes", "free_bytes"))
    mounts = that_matter(parse_mountinfo(host.read(TABLE, 8 << 20)), host, places(host))
    silent = 0
    for mount in sorted(mounts, key=lambda one: one.may_hang):
        if mount.kind != "autofs":  # asking would mount it
            told = _asked(host, mount, silent)
            silent += isinstance(told, Unknown) and told.status == "timeout"
            yield fact_path("mounts", mount.path) + "/answers", told if isinstance(told, Unknown) else told is not None
            yield from _room(fact_path("disks", mount.path), told, ("size_bytes", "used_bytes", "free_bytes", "inodes", "inodes_free"))


def _asked(host: Host, mount: Mount, silent: int) -> Any:
    if mount.may_hang and silent >= SILENT_LIMIT:
        return Unknown("timeout", "%s: not asked: %d others did not answer" % (mount.path, silent))
    return host.attempt(host.statvfs_apart, mount.path, PATIENCE_S)


def _room(top: str, told: Any, names: Any) -> Iterator[Fact]:
    """Yield the figures that were told, or that they are unknown as a whole; nothing where there is no such file system."""
    if isinstance(told, Unknown):
        yield top, told
    elif told is not None:
        for name in names:
            value = getattr(told, name)
            yield "%s/%s" % (top, name), NOT_TOLD if value is None else value


PROBES = (Probe(
    "disks", collect, deadline_s=10.0, needs_targets=True, tells=("mounts/*/answers", "disks", "disks/*", "shm", "shm/*"),
    volatile=("disks/*/used_bytes", "disks/*/free_bytes", "disks/*/inodes_free", "shm/used_bytes", "shm/free_bytes"),
    reads="statvfs of /dev/shm and of each mount that matters, each in a child of its own"),)
