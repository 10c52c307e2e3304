"""Who owns what in the package folders of the serving interpreter, beyond what each RECORD says of its own files. Imports nothing, runs no .pth line.

| path | what |
|---|---|
| python/owned_twice/PATH | a file that RECORDs name with different digests: {"by": [distributions], "bytes_of": those whose digest it has, null: not read} |
| python/overlaps/A+B | such distributions: {"files": named by both, "differing", "bytes_of": {"A": n, "B": n, "neither": n}, "unread": n} |
| python/hollow/NAME | a dist-info of which nothing is there: what its RECORD would have put into the folder |
| python/unowned/NAME | a module that no RECORD names: "package", "module", "extension module", "folder without __init__.py", "empty folder" or "link to …" |
| python/pth/FILE | {"location", "size_bytes", "paths": [lines added to sys.path], "code": [lines that run at each start]} (20 lines of 300 characters) |
| python/user_site/NAME | a distribution in the user's own folder: {"version", "hides": [{"location", "version"}] of later folders} |
| python/editable/NAME | {"source": where its files really lie, "is_there", "how": "direct_url.json" or "egg-link"} |

PATH, NAME and FILE are below the package folder; what a later folder has again is told with the whole path. Files that RECORDs name with the same digest are
no finding. What cannot be said, because a recording left files out or distributions have no RECORD, is unknown.
"""
from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from urllib.parse import unquote

from ..dist_metadata import (
    HEAD_BYTES,
    RECORD_BYTES,
    Entry,
    Folder,
    canonical,
    folders,
    joined,
    listed,
    natural,
    parse_direct_url,
    parse_record,
)
from ..hashing import sha256_each
from ..host import Digest, Host, Stat
from ..interpreters import exists
from ..probe import Fact, NotRecorded, Probe, Unknown, fact_path, refusal
from ..typed import Any, Dict, Iterator, List, NamedTuple, Optional, Regex, Sequence, Set, Tuple

NAMED = 40
HASHED = 400
LARGEST = 64 << 20
LINES, WIDTH = 20, 300
SELECTION = Unknown("not_recorded", "a recording holds a selection of files, so that a missing one says nothing")
_IGNORED = Regex(r"__pycache__\Z|\.|~|.*\.(dist-info|egg-info|egg-link|egg|pth|txt|md|rst)\Z", re.IGNORECASE)
_CODE = Regex(r"import[ \t]")


class Shelf(NamedTuple):
    """One package folder: the names in it, its distributions, and by the folder of each that has a RECORD the RECORD's lines and the names they begin with."""

    site: str
    names: List[str]
    found: List[Folder]
    records: Dict[str, List[str]]
    tops: Dict[str, Set[str]]


def collect(host: Host) -> Iterator[Fact]:
    """Yield what the folders' names tell, then the .pth files, and at last what needs hashing."""
    if not host.targets:
        raise NotRecorded("no interpreter was found to look at")
    sites, refused = listed(host, [site for site in host.targets[0].site_packages if site.endswith("-packages")])
    shelves = [_shelf(host, site, names) for site, names in sites]
    for shelf in shelves:
        yield from _editable(host, shelf)
        yield from _hollow(host, shelf)
    yield from _user_site(shelves)
    yield from _pth(host, shelves)
    yield from _unowned(host, shelves)
    for shelf in shelves:
        yield from _twice(host, shelf)
    if refused or not sites:
        raise refusal(refused[0]) if refused else NotRecorded("no site-packages folder was found")


def _shelf(host: Host, site: str, names: List[str]) -> Shelf:
    found = folders(site, names)
    texts = {one.path: host.try_read(one.path + "/RECORD", RECORD_BYTES) for one in found if one.kind == "dist-info"}
    records = {path: text.splitlines() for path, text in texts.items() if isinstance(text, str)}
    return Shelf(site, names, found, records, {path: _tops(lines) for path, lines in records.items()})


def _tops(lines: List[str]) -> Set[str]:
    """Return the names in the package folder that a RECORD speaks of, its own dist-info left out."""
    tops = {line.partition(",")[0].partition("/")[0].lstrip('"') for line in lines}
    return {top for top in tops if top not in ("", "..", "__pycache__") and not top.endswith(".dist-info")}


def _is_recording(host: Host, shelf: Shelf) -> bool:
    """Tell whether this is a recorded host: it has no file times."""
    stat = host.attempt(host.stat, shelf.site)
    return not isinstance(stat, Stat) or stat.mtime_ns is None


def _editable(host: Host, shelf: Shelf) -> Iterator[Fact]:
    for one in shelf.found:
        how, source = "egg-link", ""
        if one.kind == "egg-link":
            text = host.try_read(one.path, HEAD_BYTES)
            source = text.partition("\n")[0].strip() if isinstance(text, str) else ""
        elif any(".dist-info/direct_url.json," in line for line in shelf.records.get(one.path, ())):
            how = "direct_url.json"
            text = host.try_read(one.path + "/direct_url.json", HEAD_BYTES)
            told = host.attempt(parse_direct_url, text) if isinstance(text, str) else None
            is_editable = isinstance(told, dict) and isinstance(told.get("dir_info"), dict) and told["dir_info"].get("editable")
            source = unquote(str(told.get("url", ""))).partition("://")[2] if is_editable and isinstance(told, dict) else ""
        if source.startswith("/"):
            yield fact_path("python", "editable", one.name), {"source": source, "is_there": exists(host, source), "how": how}


def _hollow(host: Host, shelf: Shelf) -> Iterator[Fact]:
    names = set(shelf.names)
    hollow = {one.name: tops for one in shelf.found for tops in [shelf.tops.get(one.path)] if tops and not tops & names}
    if hollow and _is_recording(host, shelf):
        yield "python/hollow", SELECTION
        return
    for name, tops in hollow.items():
        yield fact_path("python", "hollow", name), sorted(tops)[:LINES]


def _user_site(shelves: Sequence[Shelf]) -> Iterator[Fact]:
    for at, shelf in enumerate(shelves):
        if "/.local/lib/" in shelf.site:
            for one in shelf.found:
                hidden = [{"location": later.site, "version": other.version} for later in shelves[at + 1:] for other in later.found if other.name == one.name]
                yield fact_path("python", "user_site", one.name), {"version": one.version, "hides": hidden}


def _pth(host: Host, shelves: Sequence[Shelf]) -> Iterator[Fact]:
    told: Set[str] = set()
    for shelf in shelves:
        for name in shelf.names:
            if name.endswith(".pth"):
                path = shelf.site + "/" + name
                text = host.attempt(host.head, path, HEAD_BYTES)
                said = dict(_lines(host, text), location=shelf.site) if isinstance(text, str) else text
                if said is not None:
                    yield fact_path("python", "pth", path if name in told else name), said
                told.add(name)


def _lines(host: Host, text: str) -> Dict[str, Any]:
    """Return what a .pth file's lines are to Python: paths, and code."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    shown = [(bool(_CODE.match(line)), str(host.mask.text(line[:WIDTH]))) for line in lines[:LINES]]
    return {"size_bytes": len(text.encode("utf-8", "surrogateescape")), "paths": [line for is_code, line in shown if not is_code],
            "code": [line for is_code, line in shown if is_code]}


def _unowned(host: Host, shelves: Sequence[Shelf]) -> Iterator[Fact]:
    told: Set[str] = set()
    for shelf in shelves:
        bare = [one for one in shelf.found if one.path not in shelf.records]
        owned = set().union(*shelf.tops.values(), *(_declared(host, one) for one in bare))
        guessed = {one.name for one in bare}
        for name in shelf.names:
            module = name.partition(".")[0]
            if name not in owned and not _IGNORED.match(name) and module not in owned and canonical(module) not in guessed:
                kind = _kind(host, shelf.site + "/" + name, name)
                if kind:
                    yield fact_path("python", "unowned", shelf.site + "/" + name if name in told else name), kind
                    told.add(name)
        if bare:
            yield "python/unowned", Unknown("not_recorded", "%s: %d distributions without a readable RECORD, first %s" % (shelf.site, len(bare), bare[0].name))


def _declared(host: Host, folder: Folder) -> Set[str]:
    """Return the modules that a distribution without RECORD says it has."""
    text = host.try_read(folder.path + "/top_level.txt", HEAD_BYTES) if folder.kind != "egg-link" else None
    return set(text.split()) if isinstance(text, str) else set()


def _kind(host: Host, path: str, name: str) -> Any:
    """Return what an unowned entry is to an import, "" if it is nothing to it; Unknown where it cannot be looked at."""
    stat = host.attempt(host.stat, path)
    if not isinstance(stat, Stat):
        return stat
    if stat.kind == "link":
        where = host.attempt(host.link, path)
        return "link to %s" % where if isinstance(where, str) else where
    if stat.kind != "dir":
        return "module" if name.endswith(".py") else "extension module" if name.endswith(".so") else ""
    inside = host.try_list(path)
    if inside is None or isinstance(inside, Unknown):
        return inside
    return "package" if "__init__.py" in inside else "folder without __init__.py" if set(inside) - {"__pycache__"} else "empty folder"


def _twice(host: Host, shelf: Shelf) -> Iterator[Fact]:
    """Yield the files of one folder that several RECORDs name with different digests, and by pairs of distributions how many there are."""
    claims = _claims(shelf)
    different = {path: by for path, by in claims.items() if len({entry.digest for _, entry in by}) > 1}
    order = sorted(different, key=lambda path: (different[path][0][1].size or 0, path))
    digests = sha256_each(host, [(joined(shelf.site, path), LARGEST) for path in order[:HASHED]])
    holders = {path: _holders(digests.get(joined(shelf.site, path)), by) for path, by in different.items()}
    for path in order[:NAMED]:
        yield fact_path("python", "owned_twice", path), {"by": [name for name, _ in different[path]], "bytes_of": holders[path]}
    if len(order) > NAMED:
        yield "python/owned_twice", Unknown("error", "%d files, %d of them are named" % (len(order), NAMED))
    yield from _overlaps(claims, different, holders)


def _claims(shelf: Shelf) -> Dict[str, List[Tuple[str, Entry]]]:
    """Return the files that more than one distribution's RECORD names, with each one's line. The same name twice is the packages probe's."""
    latest: Dict[str, Folder] = {}
    for one in sorted(shelf.found, key=lambda one: natural(one.version or "")):
        if one.path in shelf.records:
            latest[one.name] = one
    texts = {name: shelf.records[one.path] for name, one in latest.items()}
    seen: Set[str] = set()
    shared: Set[str] = set()
    for lines in texts.values():
        own = {line.partition(",")[0] for line in lines if ".pyc," not in line}
        shared |= seen & own
        seen |= own
    claims: Dict[str, List[Tuple[str, Entry]]] = {}
    for name, lines in texts.items() if shared else ():
        for entry in parse_record("\n".join(line for line in lines if line.partition(",")[0] in shared)):
            claims.setdefault(entry.path, []).append((name, entry))
    return claims


def _holders(digest: Any, by: Sequence[Tuple[str, Entry]]) -> Optional[List[str]]:
    """Return the distributions whose digest a file has; None where it was not read."""
    if not isinstance(digest, Digest):
        return None
    written = "sha256=" + urlsafe_b64encode(bytes.fromhex(digest.sha256)).decode("ascii").rstrip("=")
    return [name for name, entry in by if entry.digest == written]


def _overlaps(claims: Dict[str, Any], different: Dict[str, Any], holders: Dict[str, Optional[List[str]]]) -> Iterator[Fact]:
    pairs: Dict[Tuple[str, ...], List[str]] = {}
    for path, by in claims.items():
        pairs.setdefault(tuple(name for name, _ in by), []).append(path)
    for names, paths in sorted(pairs.items()):
        differing = [path for path in paths if path in different]
        read = [told for path in differing for told in [holders[path]] if told is not None]
        counts = {name: sum(name in told for told in read) for name in names}
        if differing:
            yield fact_path("python", "overlaps", "+".join(names)), {
                "files": len(paths), "differing": len(differing), "bytes_of": dict(counts, neither=sum(not told for told in read)),
                "unread": len(differing) - len(read)}


PROBES = (Probe(
    "ownership", collect, deadline_s=10.0, needs_targets=True,
    tells=tuple("python/" + name for one in ("owned_twice", "overlaps", "hollow", "unowned", "pth", "user_site", "editable") for name in (one, one + "/*")),
    reads="names in the package folders, all RECORDs against each other, .pth files, and the digests of files that two distributions name"),)
