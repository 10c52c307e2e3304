"""The table of mounts as text, and which of them matter to serving. Touches none of them: a mount that hangs cannot be met here.

Paths are followed link by link and only as far as the first mount that may hang.
"""
from __future__ import annotations

import re

from .host import Host
from .probe import Unreadable
from .serving_places import Place
from .typed import Any, Dict, List, NamedTuple, Regex

PSEUDO = Regex(
    r"(proc|sysfs|devtmpfs|devpts|cgroup2?|mqueue|debugfs|tracefs|securityfs|pstore|bpf|configfs|fusectl|hugetlbfs|autofs|binfmt_misc|rpc_pipefs|nsfs|nfsd"
    r"|efivarfs|selinuxfs|fuse\.(lxcfs|portal|gvfsd-fuse))\Z")
NETWORK = Regex(
    r"(fuse.*|nfs[34]?|cifs|smb3|smbfs|lustre|ceph|gpfs|beegfs.*|wekafs|panfs|glusterfs|9p|virtiofs|afs|gfs2|ocfs2|orangefs|davfs|autofs)\Z")
ASIDE = Regex(r"/(proc|sys|dev|etc|run|snap|usr|boot|var/snap|var/lib/(docker|containerd|kubelet))/|.*(/kubelet/pods/|\.so)")
SYSTEM = ("/dev", "/run", "/boot")
OWN_TO_A_CONTAINER = Regex(r"(?:lowerdir|upperdir|workdir)[^,]*")
LINKS = 40


class Mount(NamedTuple):
    """One mount: where, the device's numbers, type, source, options (of the mount, then those of the file system that differ), and what lies on it."""

    path: str
    device: str
    kind: str
    source: str
    options: str
    holds: Any = ()

    @property
    def may_hang(self) -> bool:
        """Tell whether an answer depends on another machine or another process."""
        return NETWORK.match(self.kind) is not None


def parse_mountinfo(text: str) -> Dict[str, Mount]:
    """Return the mounts of /proc/self/mountinfo by path; where one lies over another, the upper one."""
    found: Dict[str, Mount] = {}
    for line in text.splitlines():
        before, sign, after = line.partition(" - ")
        own, rest = before.split(" "), after.split(" ")
        if not sign or len(own) < 6 or len(rest) < 2:
            raise Unreadable("/proc/self/mountinfo: no mount in %r" % line[:80])
        options = own[5].split(",") + [one for one in (rest[2] if len(rest) > 2 else "").split(",") if one and one not in own[5].split(",")]
        told = ",".join(one for one in options if not OWN_TO_A_CONTAINER.match(one))
        found[_plain(own[4])] = Mount(_plain(own[4]), own[2], rest[0], _plain(rest[1]), told)
    if not found:
        raise Unreadable("/proc/self/mountinfo: it is empty")
    return found


def _plain(text: str) -> str:
    r"""Return a name with its blanks: the kernel writes them ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code.group(1), 8)), text)


def that_matter(mounts: Dict[str, Mount], host: Host, places: List[Place]) -> List[Mount]:
    """Return the mounts of real file systems outside the system's own folders, and those that a place lies on, with what they hold."""
    holds: Dict[str, List[str]] = {}
    for place in places:
        on = lies_on(host, mounts, place.path)
        if on and place.what not in holds.setdefault(on, []):
            holds[on].append(place.what)
    return [mount._replace(holds=sorted(holds.get(path, ()))) for path, mount in mounts.items() if path in holds or _is_real(mount)]


def _is_real(mount: Mount) -> bool:
    return not (PSEUDO.match(mount.kind) or ASIDE.match(mount.path) or mount.path in SYSTEM)


def lies_on(host: Host, mounts: Dict[str, Mount], path: str) -> str:
    """Return the mount on which a path lies, its links followed as far as no mount that may hang has to be touched; "" where there is none."""
    waiting = [part for part in path.split("/") if part]
    done, links = "", 0
    on = "/" if "/" in mounts else ""
    while waiting:
        done += "/" + waiting.pop(0)
        if done in mounts:
            on = done
            if mounts[done].may_hang:
                return _deepest(mounts, done, waiting)
            continue
        target = host.attempt(host.link, done) if links < LINKS else None
        if isinstance(target, str):
            links += 1
            above = "" if target.startswith("/") else done.rpartition("/")[0]
            waiting = [part for part in (above + "/" + target).split("/") if part not in ("", ".")] + waiting
            waiting = _without_dots(waiting)
            done, on = "", "/" if "/" in mounts else ""
    return on


def _deepest(mounts: Dict[str, Mount], done: str, waiting: List[str]) -> str:
    """Return the innermost mount below one that may hang, by the text of the path alone."""
    on = done
    for part in waiting:
        done += "/" + part
        on = done if done in mounts else on
    return on


def _without_dots(parts: List[str]) -> List[str]:
    kept: List[str] = []
    for part in parts:
        kept = kept[:-1] if part == ".." else [*kept, part]
    return kept
