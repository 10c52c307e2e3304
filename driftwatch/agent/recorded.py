"""A recorded host: a folder, tar or zip that stands in for a real root (docs/recorded-host.md), so that collectors run offline.

Links are resolved inside the recorded root, never in ours. A path nobody looked at is NotRecorded, a path listed as denied is Denied, one
that hung is TimedOut at once, and any other that is missing is Absent. An archive is read into memory; nothing is unpacked.
"""
from __future__ import annotations

import json
import os
import tarfile
import zipfile

from .host import TOO_LARGE, Digest, Ran, Space, Stat, sha256
from .probe import Absent, Denied, NotRecorded, TimedOut, Unreadable
from .typed import Any, Dict, List, NoReturn, Optional, Tuple

LINK_LIMIT = 40
DF = ["df", "-B1", "--output=source,fstype,size,used,avail,itotal,iavail,target"]
SHM = "/dev/shm"  # noqa: S108  # a row in what df printed
NOT_RECORDED_OPTIONS = ("--no-ext-diff", "--no-textconv")
ARCHIVE_LIMIT = 1 << 30
Entry = Tuple[str, bytes]


class FolderTree:
    """The files of a recorded host that is a folder."""

    def __init__(self, top: str) -> None:
        self.top = top

    def entry(self, path: str) -> Optional[str]:
        """Return the kind of what stands at a path without links: file, dir, link, other, or None."""
        where = self.top + path
        try:
            mode = os.lstat(where).st_mode
        except OSError:
            return None
        kinds = {0o100000: "file", 0o040000: "dir", 0o120000: "link"}
        return kinds.get(mode & 0o170000, "other")

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return os.lstat(self.top + path).st_size

    def read(self, path: str) -> bytes:
        """Return the bytes of a regular file."""
        with open(self.top + path, "rb") as file:
            return file.read()

    def link(self, path: str) -> str:
        """Return the text of a link."""
        return os.readlink(self.top + path)

    def names(self, path: str) -> List[str]:
        """Return the names in a folder."""
        return os.listdir(self.top + path)


class MemoryTree:
    """The files of a recorded host that came as an archive."""

    def __init__(self, entries: Dict[str, Entry]) -> None:
        self.entries = entries
        self.folders: Dict[str, List[str]] = {"": []}
        for path in sorted(entries):
            self._enter(path)

    def _enter(self, path: str) -> None:
        while path:
            above, _, name = path.rpartition("/")
            is_known = above in self.folders
            names = self.folders.setdefault(above, [])
            if name not in names:
                names.append(name)
            if is_known and above == "":
                return
            path = above

    def entry(self, path: str) -> Optional[str]:
        """Return the kind of what stands at a path without links, or None."""
        path = path.rstrip("/")
        if path in self.entries:
            return self.entries[path][0]
        return "dir" if path in self.folders else None

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return len(self.entries[path][1]) if path in self.entries else 0

    def read(self, path: str) -> bytes:
        """Return the bytes of a regular file."""
        return self.entries[path][1]

    def link(self, path: str) -> str:
        """Return the text of a link."""
        return self.entries[path][1].decode("utf-8", "surrogateescape")

    def names(self, path: str) -> List[str]:
        """Return the names in a folder."""
        return list(self.folders.get(path.rstrip("/"), ()))


def load(path: str) -> "RecordedRoot":
    """Return the recorded host at a path: a folder, a tar (also .gz, .xz) or a zip with one top folder. Raises Unreadable with the reason.

    Of an archive that holds several hosts one is named by its folder behind the archive: ``pair.tar.xz/pair/good``.
    """
    try:
        if os.path.isdir(path):
            return _from_folder(path)
        archive, inner = _split(path)
        return _from_entries(path, _from_zip(archive) if zipfile.is_zipfile(archive) else _from_tar(archive), inner)
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError) as failed:
        raise Unreadable("%s: no recorded host: %s" % (path, failed)) from None


def _split(path: str) -> Tuple[str, str]:
    """Return the archive and the folder inside it that a path names."""
    archive, inner = path.rstrip("/"), ""
    while archive and not os.path.exists(archive):
        archive, _, name = archive.rpartition("/")
        inner = name + "/" + inner
    return (archive, inner) if archive else (path, "")


def _from_folder(path: str) -> "RecordedRoot":
    described = _json(os.path.join(path, "host.json"))
    commands = _json(os.path.join(path, "commands.json"), default=[])
    return RecordedRoot(FolderTree(os.path.join(path, "files")), described, commands)


def _json(path: str, default: Any = None) -> Any:
    if default is not None and not os.path.exists(path):
        return default
    with open(path, "rb") as file:
        return _told(path, file.read())


def _told(name: str, data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8", "surrogateescape"))
    except RecursionError:
        raise ValueError("%s is nested too deep" % name) from None


def _from_entries(path: str, entries: Dict[str, Entry], inner: str) -> "RecordedRoot":
    tops = sorted(name[: -len("host.json")] for name in entries if "/" + name == "/host.json" or name.endswith("/host.json"))
    chosen = [top for top in tops if top == inner or not inner]
    if len(chosen) != 1:
        raise Unreadable("%s: it holds %d recorded hosts%s: name one of them behind the archive" % (path, len(chosen), "".join(", " + one for one in tops[:8])))
    top = chosen[0]
    described = _told(top + "host.json", entries[top + "host.json"][1])
    commands = _told(top + "commands.json", entries[top + "commands.json"][1]) if top + "commands.json" in entries else []
    start = top + "files"
    files = {name[len(start):]: entry for name, entry in entries.items() if name.startswith(start + "/")}
    return RecordedRoot(MemoryTree(files), described, commands)


def _from_tar(path: str) -> Dict[str, Entry]:
    entries: Dict[str, Entry] = {}
    total = 0
    with tarfile.open(path) as archive:
        for member in archive:
            total += member.size if member.isreg() else 0
            if total > ARCHIVE_LIMIT:
                raise ValueError("more than %d bytes in the archive" % ARCHIVE_LIMIT)
            name = member.name[2:] if member.name.startswith("./") else member.name
            if member.isreg():
                file = archive.extractfile(member)
                entries[name] = ("file", file.read() if file else b"")
            elif member.issym():
                entries[name] = ("link", member.linkname.encode("utf-8", "surrogateescape"))
    return entries


def _from_zip(path: str) -> Dict[str, Entry]:
    entries: Dict[str, Entry] = {}
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > ARCHIVE_LIMIT:
            raise ValueError("more than %d bytes in the archive" % ARCHIVE_LIMIT)
        for member in archive.infolist():
            if not member.is_dir():
                kind = "link" if (member.external_attr >> 16) & 0o170000 == 0o120000 else "file"
                entries[member.filename] = (kind, archive.read(member))
    return entries


def _listed(described: Dict[str, Any], key: str) -> Tuple[Any, ...]:
    """Return a list of a description, () where it is missing; Unreadable where it is something else."""
    found = described.get(key) or []
    if not isinstance(found, list):
        raise Unreadable("%s is no list: %r" % (key, str(found)[:80]))
    return tuple(found)


class RecordedRoot:
    """Answers as the recorded host would: the same methods as :class:`~driftwatch.agent.real.RealRoot`."""

    def __init__(self, tree: Any, described: Any, commands: Any) -> None:
        if not isinstance(described, dict) or described.get("format") != 1:
            raise Unreadable("host.json: no recorded host of format 1")
        self.tree = tree
        self.described = described
        self.denied, self.not_recorded, hangs = (_listed(described, key) for key in ("denied", "not_recorded", "hangs"))
        self.hanging_paths = tuple(one.rstrip("/") for one in hangs if isinstance(one, str))
        self.hanging_commands = tuple(tuple(one) for one in hangs if isinstance(one, list))
        asked = commands if isinstance(commands, list) else ()
        self.commands = {tuple(map(str, _listed(one, "argv"))): one for one in asked if isinstance(one, dict)}

    def read(self, path: str, limit: int) -> bytes:
        """Return at most ``limit`` bytes from the start of a file."""
        real = self._file(path)
        return bytes(self.tree.read(real)[:limit])

    def read_tail(self, path: str, size: int) -> bytes:
        """Return at most the last ``size`` bytes of a file."""
        real = self._file(path)
        return bytes(self.tree.read(real)[-size:])

    def read_apart(self, path: str, limit: int, _deadline_s: float) -> bytes:
        """Return a file's bytes: a recorded file cannot hang unless the recording says so."""
        return self.read(path, limit)

    def apart(self, question: Any, _deadline_s: float, _what: str) -> Tuple[Any, float]:
        """Return the answer of a question: in a recording it needs no child and no time."""
        return question(lambda: False), 0.0

    def statvfs_apart(self, path: str, deadline_s: float) -> Space:
        """Return the room on a file system as the recorded ``df`` commands tell it."""
        self._admit(path)
        for argv in [DF] + [["df", "-B1", SHM]] * (path == SHM):
            for line in self.run(argv, deadline_s, {})[0].stdout.splitlines():
                numbers = [int(word) for word in line.split() if word.isdigit()]
                if line.endswith(" " + path) and len(numbers) in (3, 5):
                    return Space(*numbers)
        raise NotRecorded("%s: df did not list it" % path)

    def examine(self, path: str, question: Any) -> Any:
        """Return what a question finds in a file: ``question(read, size)``."""
        data = self.tree.read(self._file(path))
        return question(lambda offset, size: data[offset : offset + size], len(data))

    def ask_loopback(self, port: int, path: str, _deadline_s: float) -> NoReturn:
        """Refuse: what a server would answer is not part of a recording."""
        raise NotRecorded("http://127.0.0.1:%d%s: a server cannot be asked on a recorded host" % (port, path))

    def names(self, path: str) -> List[str]:
        """Return the names in a folder."""
        real = self.real(path)
        kind = self.tree.entry(real)
        if kind is None:
            self._missing(real)
        if kind != "dir":
            raise Absent("%s: not a folder" % path)
        return list(self.tree.names(real))

    def entries(self, path: str) -> List[Tuple[str, Stat]]:
        """Return the sorted names in a folder, each with its kind and size; what was denied stands in its folder all the same."""
        names = set(self.names(path))
        real = self.real(path).rstrip("/")
        denied = {one.rpartition("/")[2] for one in self.denied if one.rpartition("/")[0] == real}
        return [(name, Stat(self.tree.entry(real + "/" + name) or "file", 0) if name in denied else self.stat(real + "/" + name))
                for name in sorted(names | denied)]

    kinds = entries

    def stat(self, path: str) -> Stat:
        """Return kind and size of the path itself; times are not part of the format."""
        above, _, name = path.rstrip("/").rpartition("/")
        where = (self.real(above) if above else "") + "/" + name if name else "/"
        self._admit(where)
        kind = self.tree.entry(where)
        if kind is None:
            self._missing(where)
        return Stat(str(kind), self.tree.size(where) if kind == "file" else 0)

    def link(self, path: str) -> str:
        """Return the text of a link."""
        above, _, name = path.rstrip("/").rpartition("/")
        where = (self.real(above) if above else "") + "/" + name
        self._admit(where)
        if self.tree.entry(where) is None:
            self._missing(where)
        if self.tree.entry(where) != "link":
            raise Unreadable("%s: no symbolic link" % path)
        return str(self.tree.link(where))

    def real(self, path: str) -> str:
        """Return the path without links, resolved inside the recorded root."""
        parts = [one for one in path.split("/") if one not in ("", ".")]
        done = ""
        links = 0
        while parts:
            name = parts.pop(0)
            if name == "..":
                done = done.rpartition("/")[0]
                continue
            self._admit(done + "/" + name)
            if self.tree.entry(done + "/" + name) != "link":
                done += "/" + name
                continue
            links += 1
            if links > LINK_LIMIT:
                raise Unreadable("%s: ELOOP: too many links" % path)
            target = self.tree.link(done + "/" + name)
            if target.startswith("/"):
                done = ""
            parts = [one for one in target.split("/") if one not in ("", ".")] + parts
        return done or "/"

    def sha256(self, path: str, limit: int) -> Digest:
        """Return the digest of a file; its times are unknown."""
        above, _, name = path.rpartition("/")
        if self.tree.entry(self.real(above) + "/" + name) == "link":
            raise Unreadable("%s: not a regular file" % path)
        data = self.tree.read(self._file(path))
        if len(data) > limit:
            raise Unreadable("%s: %s: %d bytes" % (path, TOO_LARGE, len(data)))
        return Digest(sha256(data).hexdigest(), len(data), None, None)

    def mate(self, _answer: Any) -> None:
        """Return none: what was recorded is read by one."""

    def run(self, argv: List[str], deadline_s: float, _env: Dict[str, str], _cap: int = 0) -> Tuple[Ran, str]:
        """Return what the command printed when it was recorded; the options that only keep git from running foreign code were not recorded."""
        argv = [word for word in argv if word not in NOT_RECORDED_OPTIONS]
        command = " ".join(argv)
        for one in self.hanging_commands:
            if tuple(argv[: len(one)]) == one:
                raise TimedOut("%s: did not end in %g s" % (command, deadline_s))
        found = self.commands.get(tuple(argv))
        if found is None:
            raise NotRecorded("%s: not recorded" % command)
        if found.get("rc") == 127:
            raise Absent("%s: no such command" % argv[0])
        return Ran(int(found.get("rc") or 0), str(found.get("stdout") or ""), str(found.get("stderr") or "")), ""

    def environ(self) -> Dict[str, str]:
        """Return the recorder's variables, where they were recorded."""
        found = self.described.get("environ")
        if not isinstance(found, dict):
            raise NotRecorded("the environment of the recorder's shell: not recorded")
        return {str(key): str(value) for key, value in found.items()}

    def uid(self) -> int:
        """Return the user id that recorded."""
        return int(self.described.get("uid") or 0)

    def hints(self) -> Dict[str, Any]:
        """Return which interpreter, package folder and server log the recording names."""
        return {key: self.described[key] for key in ("interpreter", "site_packages", "server_log") if self.described.get(key)}

    def nvml(self) -> NoReturn:
        """Refuse: NVML cannot be replayed."""
        raise Absent("NVML cannot be called on a recorded host")

    def _file(self, path: str) -> str:
        real = self.real(path)
        kind = self.tree.entry(real)
        if kind is None:
            self._missing(real)
        if kind != "file":
            raise Unreadable("%s: not a regular file" % path)
        return real

    def _admit(self, path: str) -> None:
        """Raise where a path hung or was denied when it was recorded."""
        for one in self.hanging_paths:
            if _is_below(path, one):
                raise TimedOut("%s: did not answer" % path)
        for one in self.denied:
            if _is_below(path, one):
                raise Denied("%s: Permission denied (uid %d)" % (path, self.uid()))

    def _missing(self, path: str) -> NoReturn:
        for one in self.not_recorded:
            if _is_below(path, one):
                raise NotRecorded("%s: not recorded" % path)
        raise Absent("%s: no such file" % path)


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")
