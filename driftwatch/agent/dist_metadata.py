"""What the folders of installed distributions say: names, versions, requirements, RECORDs, and which distribution owns a module.

Read as text, straight from site-packages: nothing is imported, no .pth line runs, and a folder that makes no sense keeps its name.
"""
from __future__ import annotations

import json
import re

from .host import Host
from .probe import Unknown, Unreadable
from .redact import USERINFO
from .typed import Any, Dict, Iterator, List, NamedTuple, Optional, Regex, Sequence, Tuple

HEAD_BYTES = 1 << 16
RECORD_BYTES = 64 << 20
KINDS = ("dist-info", "egg-info", "egg-link", "egg")
_FOLDER = Regex(r"(?P<name>[^-]+(?:-(?!\d)[^-]+)*)(?:-(?P<version>\d[^-]*))?")
_NAME = Regex(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")
_FIELDS = [Regex(r"\n%s:[ \t]*(.*)" % "".join("[%s%s]" % (one, one.upper()) if one.isalpha() else one for one in name))
           for name in ("name", "version", "requires-dist")]  # a plain first character and no IGNORECASE: a third of the time


class Metadata(NamedTuple):
    """The head of a METADATA or PKG-INFO file. ``trouble`` says what else in it is broken, "" if nothing."""

    name: str
    version: str
    requires: Tuple[str, ...]
    trouble: str = ""

    @property
    def canonical(self) -> str:
        """Return the name as PEP 503 writes it."""
        return canonical(self.name)


class Folder(NamedTuple):
    """One entry of site-packages that stands for a distribution, and what its own name says of it."""

    path: str
    kind: str
    name: str
    version: Optional[str]


class Entry(NamedTuple):
    """One line of a RECORD: a path below site-packages, its digest as written (``sha256=…`` or ""), its size in bytes."""

    path: str
    digest: str
    size: Optional[int]


def canonical(name: str) -> str:
    """Return a distribution's name as PEP 503 writes it."""
    plain = name.lower().replace("_", "-").replace(".", "-")
    return re.sub("-+", "-", plain) if "--" in plain else plain


def base_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def folders(site: str, names: Sequence[str]) -> List[Folder]:
    """Return the distributions among the names in a site-packages folder; leftovers of pip (``~…``) are none."""
    found = []
    for name in names:
        stem, _, kind = name.rpartition(".")
        said = _FOLDER.match(stem) if kind in KINDS and not name.startswith("~") else None
        if said:
            found.append(Folder(site + "/" + name, kind, canonical(said.group("name")), said.group("version")))
    return found


def natural(version: str) -> Tuple[Tuple[int, str], ...]:
    """Return a key that sorts 0.3.9 before 0.3.21."""
    return tuple((int(piece), "") if piece.isdigit() else (-1, piece) for piece in version.replace("+", ".").split("."))


def metadata_paths(folder: Folder) -> Tuple[str, ...]:
    """Return where a distribution's metadata can stand: an egg-info may be a folder or one file."""
    if folder.kind == "dist-info":
        return (folder.path + "/METADATA",)
    if folder.kind == "egg":
        return (folder.path + "/EGG-INFO/PKG-INFO",)
    return (folder.path + "/PKG-INFO", folder.path)


def metadata_head(host: Host, path: str) -> str:
    """Return the fields of a metadata file, up to the blank line that ends them, at most 64 KiB: few have more than the first 8 KiB of them."""
    head, end, _ = host.head_bytes(path, HEAD_BYTES >> 3).partition(b"\n\n")
    if not end:
        head, end, _ = host.head_bytes(path, HEAD_BYTES).partition(b"\n\n")
    return (head + end[:1]).decode("utf-8", "surrogateescape")  # what follows is long, and need not be decoded


def parse_metadata(text: str) -> Metadata:
    """Return name, version and requirements from the head of a metadata file; Unreadable where it names none."""
    if not text:
        raise Unreadable("it is empty")
    head = "\n" + (text.replace("\r\n", "\n").partition("\n\n")[0] + "\n" if "\r" in text else text)
    if "\0" in head:
        raise Unreadable("it holds NUL bytes")
    name, version = (found.group(1).strip() if found else "" for found in [field.search(head) for field in _FIELDS[:2]])
    if not _NAME.match(name) or not version:
        raise Unreadable("it has no %s" % ("name" if not version and not name else "version" if not version else "valid name: %r" % name[:80]))
    requires = tuple([value.strip() for value in _FIELDS[2].findall(head)])
    return Metadata(name, version, requires, "" if head.isascii() else _foreign(head[1:]))


def _foreign(head: str) -> str:
    """Return a sentence on the first byte that is no UTF-8, or "". The last line may have been cut within a letter."""
    whole = head.rpartition("\n")[0]
    try:
        whole.encode()
    except UnicodeEncodeError as foreign:
        return "byte 0x%02x on line %d is no UTF-8" % (ord(whole[foreign.start]) - 0xDC00, whole.count("\n", 0, foreign.start) + 1)
    return ""


def parse_direct_url(text: str) -> Dict[str, Any]:
    """Return a direct_url.json with the user and password taken out of its URL."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as broken:
        raise Unreadable("direct_url.json: %s" % broken) from None
    if not isinstance(told, dict):
        raise Unreadable("direct_url.json: no object")
    return dict(told, url=without_userinfo(told["url"])) if isinstance(told.get("url"), str) else told


def without_userinfo(url: str) -> str:
    """Return a URL without the user and password before its host."""
    return re.sub(USERINFO, r"\1", url)


def parse_record(text: str) -> Iterator[Entry]:
    """Yield the lines of a RECORD; a size that is no number counts as not given."""
    from csv import Error, reader  # noqa: PLC0415  # who reads no RECORD need not load it

    try:
        for row in reader(text.replace("\r\n", "\n").split("\n")):
            if row and row[0]:
                yield Entry(row[0], row[1] if len(row) > 1 else "", int(row[2]) if len(row) > 2 and row[2].isdigit() else None)
    except Error as broken:
        raise Unreadable("RECORD: %s" % broken) from None


def joined(folder: str, path: str) -> str:
    """Return a path below a folder with ``..`` and ``.`` worked out by name."""
    parts: List[str] = []
    for part in (path if path.startswith("/") else folder + "/" + path).split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/" + "/".join(parts)


def owners(host: Host, found: Sequence[Folder], modules: Sequence[str]) -> Dict[str, List[str]]:
    """Return for each module the canonical names of the distributions whose RECORD names its files; two may claim one module.

    Where no RECORD names it (an editable install, a conda one) it is the distribution of the same name, whether installed or not.
    """
    claims: Dict[str, List[str]] = {module: [] for module in modules}
    for one in found:
        record = host.attempt(host.read_bytes, one.path + "/RECORD", RECORD_BYTES) if one.kind == "dist-info" else None
        if isinstance(record, bytes):
            for module in _modules_of(b"\n" + record, modules):
                if one.name not in claims[module]:
                    claims[module].append(one.name)
    return {module: names or [canonical(module)] for module, names in claims.items()}


def _modules_of(record: bytes, modules: Sequence[str]) -> List[str]:
    """Return those of some modules whose own files a RECORD names."""
    starts = {module: b"\n" + module.encode() for module in modules}
    near = [module for module in modules if starts[module] in record]
    return [module for module in near if any(starts[module] + end in record for end in (b"/__init__.py,", b"/version.py,", b".py,"))]


def listed(host: Host, sites: Sequence[str]) -> Tuple[List[Tuple[str, List[str]]], List[Unknown]]:
    """Return the names in each site-packages folder that there is, links to one folder counted once, and what could not be listed."""
    seen: List[Any] = []
    names: List[Tuple[str, List[str]]] = []
    refused: List[Unknown] = []
    for site in sites:
        real = host.attempt(host.real, site)
        told = host.try_list(site) if real not in seen else None
        seen.append(real)
        if isinstance(told, Unknown):
            refused.append(told)
        elif told is not None:
            names.append((site, told))
    return names, refused
