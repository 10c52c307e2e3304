"""Which files a distribution's RECORD names, and what stands at each: the reading that all who compare RECORD with the disk have in common.

Looks through the door only, hashes nothing, and decides nothing.
"""
from __future__ import annotations

from binascii import b2a_base64

from .dist_metadata import RECORD_BYTES, Entry, Folder, folders, joined, natural, parse_record
from .host import Host, Stat
from .probe import Unknown
from .typed import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

KERNELS = ("sgl-", "sglang-", "flashinfer", "flash-attn", "flash-mla", "deep-gemm", "deep-ep", "vllm")
FEW = 3
Sight = Tuple[str, Entry, Any]


class Followed(NamedTuple):
    """What a link leads to."""

    path: str
    stat: Stat


def latest(host: Host, sites: List[Tuple[str, List[str]]]) -> List[Folder]:
    """Return the distributions, of each name in one folder only that which was installed last."""
    found: List[Folder] = []
    for site, names in sites:
        groups: Dict[str, List[Folder]] = {}
        for one in folders(site, names):
            groups.setdefault(one.name, []).append(one)
        found += [max(group, key=lambda one: (written(host, one) or 0, natural(one.version or ""))) if group[1:] else group[0] for group in groups.values()]
    return found


def written(host: Host, folder: Folder) -> Optional[int]:
    """Return the mtime of a RECORD in ns, None where it cannot be told."""
    stat = host.attempt(host.stat, folder.path + "/RECORD")
    return stat.mtime_ns if isinstance(stat, Stat) else None


def recorded_entries(host: Host, folder: Folder) -> Any:
    """Return the lines of a distribution's RECORD without its ``.pyc`` files, or Unknown where there is none that can be read."""
    text = host.try_read(folder.path + "/RECORD", RECORD_BYTES) if folder.kind == "dist-info" else None
    return host.attempt(_entries, text) if isinstance(text, str) else text or Unknown("not_recorded", "%s: it has no RECORD to compare with" % folder.path)


def _entries(text: str) -> List[Entry]:
    return [entry for entry in parse_record(text) if not entry.path.endswith(".pyc")]


def sights(host: Host, site: str, entries: List[Entry]) -> Iterator[Sight]:
    """Yield each listed file as (where it lies, its line, its Stat, None where it is not there, or Unknown); links are followed.

    One listing is asked for each folder that holds more than a few of them, else one lstat for each.
    """
    for where, group in _by_folder(site, entries).items():
        stats = _stats(host, where, group)
        for name, entry in group:
            path, stat = where + "/" + name, stats if isinstance(stats, Unknown) else stats.get(name)
            if isinstance(stat, Stat) and stat.kind == "link":
                found = host.attempt(_followed, host, path)
                path, stat = found if isinstance(found, Followed) else (path, found)
            yield path, entry, stat


def _by_folder(site: str, entries: List[Entry]) -> Dict[str, List[Tuple[str, Entry]]]:
    """Return the entries by the folder that they lie in, each with its name there."""
    groups: Dict[str, List[Tuple[str, Entry]]] = {}
    places: Dict[str, str] = {}
    for entry in entries:
        above, _, name = entry.path.rpartition("/")
        if entry.path.startswith("/"):
            above = above or "/"
        if above not in places:
            places[above] = joined(site, above)
        groups.setdefault(places[above], []).append((name, entry))
    return groups


def _stats(host: Host, where: str, group: List[Tuple[str, Entry]]) -> Any:
    """Return {name: Stat or Unknown} of the files of one folder; Unknown if it cannot be listed."""
    if len(group) > FEW:
        entries = host.attempt(host.entries, where)
        return entries if isinstance(entries, Unknown) else dict(entries or ())
    return {name: host.attempt(host.stat, where + "/" + name) for name, _ in group}


def _followed(host: Host, path: str) -> Followed:
    real = host.real(path)
    return Followed(real, host.stat(real))


def recorded_digest(sha256: str) -> str:
    """Return a hexadecimal SHA-256 as RECORD writes it."""
    return "sha256=" + b2a_base64(bytes.fromhex(sha256), newline=False).rstrip(b"=").translate(bytes.maketrans(b"+/", b"-_")).decode("ascii")
