"""What a shared object says of itself, from its headers and tables: never loaded, never run, and only the parts that are needed are read.

Understands 64-bit little-endian ELF, and the fat binaries (CUDA device code) inside it. Every question takes ``read(offset, size)``, which returns up to
that many bytes, and the file's size in bytes; what makes no sense, or ends before its own headers say so, is Unreadable.
"""
from __future__ import annotations

import struct

from .host import sha256
from .probe import Unreadable
from .typed import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Regex, Sequence, Set, Tuple

Read = Callable[[int, int], bytes]
MIB = 1 << 20
TABLE_LIMIT = 64 * MIB
SEARCH_LIMIT = 512 * MIB
ENTRY_LIMIT = 200_000
SOME = 3
DEVICE_CODE = (".nv_fatbin", "__nv_relfatbin")
_FAT = struct.pack("<I", 0xBA55ED50)
_TORCH = Regex(rb"_Z(?:T[A-Z])?N[rVK]*[RO]?(?:3c10|2at|5torch)|aoti_torch_|THP[A-Z]")
_NEEDED, _STRINGS, _SYMBOLS, _STRINGS_SIZE, _SONAME, _RPATH, _RUNPATH, _HASH, _GNU_HASH = 1, 5, 6, 10, 14, 15, 29, 4, 0x6FFFFEF5


class Segment(NamedTuple):
    """A part of the file that is loaded: its offset and size in bytes in the file, and its address in memory."""

    offset: int
    address: int
    size: int


class Section(NamedTuple):
    """A named part of the file: its kind (11: the dynamic symbols), offset and size in bytes."""

    name: str
    kind: int
    offset: int
    size: int


class Image(NamedTuple):
    """A shared object's headers: loaded segments, sections (none where they were stripped), and the dynamic table as (tag, value)."""

    segments: Tuple[Segment, ...]
    sections: Tuple[Section, ...]
    dynamic: Tuple[Tuple[int, int], ...]

    def value(self, tag: int) -> Optional[int]:
        """Return the value of a tag of the dynamic table, or None."""
        return next((value for one, value in self.dynamic if one == tag), None)

    def offset_of(self, tag: int) -> Optional[int]:
        """Return where in the file the table lies whose address a tag holds, or None."""
        address = self.value(tag)
        inside = (one for one in self.segments if address is not None and one.address <= address < one.address + one.size)
        return next((one.offset + (address or 0) - one.address for one in inside), None)


def parse_image(read: Read, size: int) -> Image:
    """Return the headers of a shared object. A file shorter than its own segments is Unreadable: it was cut."""
    head = _exactly(read, 0, 64)
    if head[:4] != b"\x7fELF" or head[4:6] != b"\x02\x01":
        raise Unreadable("no 64-bit little-endian ELF file: it begins with %r" % head[:6])
    programs, sections, entry, count, section_entry, section_count, names = struct.unpack_from("<QQ4x2xHHHHH", head, 32)
    if entry != 56 or not 0 < count < 4096:
        raise Unreadable("ELF header without program headers (%d of %d bytes)" % (count, entry))
    loaded: List[Segment] = []
    dynamic: Tuple[Tuple[int, int], ...] = ()
    for kind, _, offset, address, _, length, _, _ in struct.iter_unpack("<IIQQQQQQ", _exactly(read, programs, entry * count)):
        if offset + length > size:
            raise Unreadable("cut: its headers speak of %d bytes, %d are there" % (offset + length, size))
        if kind == 1:
            loaded.append(Segment(offset, address, length))
        elif kind == 2:
            dynamic = tuple(struct.iter_unpack("<QQ", _exactly(read, offset, min(length, MIB) // 16 * 16)))
    has_sections = section_entry == 64 and section_count and sections + 64 * section_count <= size
    return Image(tuple(loaded), _sections(read, sections, section_count, names) if has_sections else (), dynamic)


def _sections(read: Read, offset: int, count: int, names: int) -> Tuple[Section, ...]:
    rows = list(struct.iter_unpack("<IIQQQQIIQQ", _exactly(read, offset, 64 * count)))
    text = _exactly(read, rows[names][4], min(rows[names][5], MIB)) if names < count else b""
    return tuple(Section(_text(text, row[0]), row[1], row[4], row[5]) for row in rows)


def _exactly(read: Read, offset: int, size: int) -> bytes:
    if size > TABLE_LIMIT:
        raise Unreadable("a table of %d bytes: too large" % size)
    data = read(offset, size)
    if len(data) != size:
        raise Unreadable("cut: %d bytes at %d, %d are needed" % (len(data), offset, size))
    return data


def _text(table: bytes, at: int) -> str:
    return table[at : table.find(b"\0", at)].decode("ascii", "replace")


def linked(read: Read, image: Image) -> Dict[str, Any]:
    """Return what the loader goes by: ``needed`` in order, and ``soname`` and ``runpath`` where there are any."""
    strings = image.offset_of(_STRINGS)

    def text(at: int) -> str:
        return _text(read((strings or 0) + at, 4096), 0)

    if strings is None:
        return {"needed": []}
    told: Dict[str, Any] = {"needed": [text(value) for tag, value in image.dynamic if tag == _NEEDED]}
    for name, tags in (("soname", (_SONAME,)), ("runpath", (_RUNPATH, _RPATH))):
        found = next((value for tag, value in image.dynamic if tag in tags), None)
        if found is not None:
            told[name] = text(found)
    return told


def undefined(read: Read, image: Image) -> List[bytes]:
    """Return the names that a shared object must get from others, as in its table of dynamic symbols; weak ones may stay undefined."""
    return [name for name, kind, section in _symbols(read, image) if section == 0 and kind >> 4 != 2]


def _symbols(read: Read, image: Image) -> Iterator[Tuple[bytes, int, int]]:
    """Yield name, kind and section (0: undefined) of each dynamic symbol that has a name."""
    table, strings = image.offset_of(_SYMBOLS), image.offset_of(_STRINGS)
    if table is not None and strings is not None:
        names = _exactly(read, strings, image.value(_STRINGS_SIZE) or 0)
        for row in struct.iter_unpack("<IBBHQQ", _exactly(read, table, 24 * _symbol_count(read, image))):
            if row[0]:
                yield names[row[0] : names.find(b"\0", row[0])], row[1], row[3]


def _symbol_count(read: Read, image: Image) -> int:
    """Return how many dynamic symbols there are: as the section says, else the hash table, else all up to the names that follow."""
    section = next((one for one in image.sections if one.kind == 11), None)
    table = image.offset_of(_HASH)
    if section is not None:
        return section.size // 24
    if table is not None:
        return int(struct.unpack("<II", _exactly(read, table, 8))[1])
    return max(0, (image.value(_STRINGS) or 0) - (image.value(_SYMBOLS) or 0)) // 24


def of_torch(names: Iterable[bytes]) -> List[bytes]:
    """Return the names that PyTorch's libraries define: those of c10, at and torch, sorted."""
    return sorted(name for name in names if _TORCH.match(name))


def summary(names: Sequence[bytes]) -> Dict[str, Any]:
    """Return of names their count, the digest of them all, a few, and how many speak of the newer std::string (``cxx11``)."""
    return {"count": len(names), "sha256": sha256(b"\n".join(names)).hexdigest(), "cxx11": sum(b"__cxx11" in name for name in names),
            "some": [name.decode("ascii", "replace") for name in names[:SOME]]}


def defined(read: Read, image: Image, names: Sequence[bytes]) -> Set[bytes]:
    """Return which of some names a shared object defines, looked up in its own hash table as the loader does; where it has none, in all its symbols."""
    table, symbols, strings = (image.offset_of(tag) for tag in (_GNU_HASH, _SYMBOLS, _STRINGS))
    if table is None or symbols is None or strings is None:
        return {name for name, _, section in _symbols(read, image) if section} & set(names)
    buckets, first, bloom, _ = struct.unpack("<IIII", _exactly(read, table, 16))
    heads = struct.unpack("<%dI" % buckets, _exactly(read, table + 16 + 8 * bloom, 4 * buckets))
    chains = table + 16 + 8 * bloom + 4 * buckets
    found = set()
    for name in names:
        wanted = _gnu_hash(name)
        at = heads[wanted % buckets] if buckets else 0
        for index in _chain(read, chains - 4 * first, at, wanted):
            offset = struct.unpack("<I", _exactly(read, symbols + 24 * index, 4))[0]
            if read(strings + offset, len(name) + 1) == name + b"\0":
                found.add(name)
    return found


def _gnu_hash(name: bytes) -> int:
    value = 5381
    for letter in name:
        value = value * 33 + letter & 0xFFFFFFFF
    return value


def _chain(read: Read, chains: int, index: int, wanted: int) -> Iterator[int]:
    """Yield the symbols of a bucket that begins at one whose hash is the wanted one but for its last bit, which marks the end."""
    while index:
        piece = read(chains + 4 * index, 64)
        for (value,) in struct.iter_unpack("<I", piece[: len(piece) // 4 * 4]):
            if value | 1 == wanted | 1:
                yield index
            index += 1
            if value & 1:
                return
        if len(piece) < 4:
            return


def architectures(read: Read, image: Image, size: int) -> List[str]:
    """Return for which GPUs there is code: ``sm_90`` as machine code, ``compute_90`` as PTX, sorted. Features (the ``a`` of ``sm_90a``) are not told apart.

    Without section headers all of the file is searched, up to 512 MiB.
    """
    parts = [(one.offset, one.offset + one.size) for one in image.sections if one.name in DEVICE_CODE and one.kind != 8]
    found: Set[Tuple[int, str]] = set()
    for start, end in parts if image.sections else [(0, size)]:
        if end > size:
            raise Unreadable("cut: its device code ends at byte %d, %d are there" % (end, size))
        found.update(_device_code(read, start, end))
    return [name for _, name in sorted(found)]


def _device_code(read: Read, start: int, end: int) -> Iterator[Tuple[int, str]]:
    """Yield architecture and name of each piece of device code between two offsets; from one fat binary to the next no payload is read."""
    left = ENTRY_LIMIT
    at: Optional[int] = start
    while at is not None and at + 16 <= end:
        head = read(at, 80)
        size = struct.unpack_from("<HHQ", head, 4) if head[:4] == _FAT and len(head) >= 16 else (0, 0, 0)
        if size[:2] != (1, 16) or at + 16 + size[2] > end:
            at = _next(read, at + 4 if head[:4] == _FAT else at, end)
            continue
        for found in _entries(read, at + 16, at + 16 + size[2]):
            yield found
            left -= 1
        if left < 0:
            raise Unreadable("more than %d pieces of device code" % ENTRY_LIMIT)
        at += 16 + size[2]


def _entries(read: Read, at: int, end: int) -> Iterator[Tuple[int, str]]:
    while at + 64 <= end:
        kind, _, header, payload, number = struct.unpack_from("<HHIQ12xI", _exactly(read, at, 32))
        if not 32 <= header <= 4096:
            return
        if kind in (1, 2):
            yield number, "%s_%d" % ("compute" if kind == 1 else "sm", number)
        at += header + payload


def _next(read: Read, at: int, end: int) -> Optional[int]:
    """Return where the next fat binary may begin, or None. One follows the other with no more than padding between, so the first piece searched is small."""
    stop, length = min(end, at + SEARCH_LIMIT), 4096
    while at + 16 <= stop:
        piece = read(at, min(length, stop - at))
        length = MIB
        found = piece.find(_FAT)
        if found >= 0:
            return at + found
        if len(piece) <= 3:
            return None
        at += len(piece) - 3
    if stop < end:
        raise Unreadable("no section headers, and no device code in %d bytes that were searched" % SEARCH_LIMIT)
    return None
