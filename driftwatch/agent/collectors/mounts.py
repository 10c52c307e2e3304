"""The mounts that serving depends on, as the kernel's table tells them. Touches no mount: whether each answers, the disks probe asks.

Told are real file systems outside the system's own folders, and whatever a place that matters lies on: model, Hugging Face cache, virtual environment,
source tree, log, home, temporary folder, /dev/shm.

| path | what |
|---|---|
| mounts/PATH/{type, source} | the file system, and the device or server it comes from |
| mounts/PATH/options | of the mount and of the file system; without an overlay's own folders |
| mounts/PATH/read_ahead_kib | how much the kernel reads ahead, where the mount has a setting of its own |
| mounts/PATH/holds (volatile: it depends on what runs) | what lies on it: model, hf_cache, venv, source, log, home, folder, cache, temporary, shm |
| mounts/PATH/fuse_waiting (volatile) | requests that its FUSE server has not answered |
"""
from __future__ import annotations

from ..host import Host
from ..mount_table import Mount, parse_mountinfo, that_matter
from ..probe import Fact, Probe, Unknown, fact_path
from ..serving_places import places
from ..typed import Iterator

TABLE = "/proc/self/mountinfo"
CONNECTIONS = "/sys/fs/fuse/connections"


def collect(host: Host) -> Iterator[Fact]:
    """Yield what the table says of each mount that matters."""
    mounts = parse_mountinfo(host.read(TABLE, 8 << 20))
    for mount in that_matter(mounts, host, places(host)):
        top = fact_path("mounts", mount.path)
        yield top + "/type", mount.kind
        yield top + "/source", mount.source
        yield top + "/options", mount.options
        ahead = host.try_read("/sys/class/bdi/%s/read_ahead_kb" % mount.device)
        if ahead is not None:
            yield top + "/read_ahead_kib", int(ahead) if isinstance(ahead, str) and ahead.strip().isdigit() else ahead
        if mount.holds:
            yield top + "/holds", mount.holds
        if mount.kind.startswith("fuse"):
            yield top + "/fuse_waiting", _waiting(host, mount)


def _waiting(host: Host, mount: Mount) -> object:
    text = host.try_read("%s/%s/waiting" % (CONNECTIONS, mount.device.partition(":")[2]))
    if text is None:
        return Unknown("not_recorded", "%s: no such connection: the kernel's control file system for FUSE is not mounted" % CONNECTIONS)
    return int(text) if isinstance(text, str) and text.strip().isdigit() else text


PROBES = (Probe(
    "mounts", collect, deadline_s=5.0, tells=("mounts/*",), volatile=("mounts/*/fuse_waiting", "mounts/*/holds"), needs_targets=True,
    reads="/proc/self/mountinfo, /sys/class/bdi, /sys/fs/fuse/connections; links on the way to the paths that matter",
    root_shows="FUSE waiting counts, places of servers of other users"),)
