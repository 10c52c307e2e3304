"""The real root: the host itself. The only file of the agent besides the runner that touches the operating system.

Files are opened with O_NONBLOCK and looked at before they are read, so that a FIFO or a device is refused and never waited for. Links are followed, but
for a file that is hashed (O_NOFOLLOW): its digest is never that of another one. Nothing is written, no signal goes to a process that is not our own child.
"""
from __future__ import annotations

import errno
import json
import os
import stat
import time
from operator import itemgetter

from . import bounded
from .host import MIB, TOO_LARGE, Answer, Digest, Kind, Ran, Space, Stat, sha256
from .probe import Absent, Denied, Refusal, Unknown, Unreadable, refusal
from .typed import Any, Callable, Dict, Iterator, List, NoReturn, Tuple

CHUNK = 1 << 20
LATE = 0.8
WHOLE_S_NS = 1_000_000_000  # a ctime of whole seconds: the file system keeps no finer ones, or those of an image were all made the same
SETTLED_NS = 2 * WHOLE_S_NS  # a file changed later than this before it was read can change again within one tick of its clock
KIND_BITS = 0o170000
TO_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
FILE, FOLDER, LINK, OTHER = map(Kind, ("file", "dir", "link", "other"))
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link"}
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESRCH)
Question = Callable[[Callable[[int, int], bytes], int], Any]


def refuse(path: str, failed: OSError) -> NoReturn:
    """Raise the refusal that an OSError stands for: absent, denied, or unreadable with the errno's text."""
    if failed.errno in GONE:
        raise Absent("%s: %s" % (path, failed.strerror)) from None
    if failed.errno in (errno.EACCES, errno.EPERM):
        raise Denied("%s: %s (uid %d)" % (path, failed.strerror, os.geteuid())) from None
    hint = "; the mount is stale: remount it" if failed.errno in (errno.ESTALE, errno.ENOTCONN) else ""
    raise Unreadable("%s: %s %s%s" % (path, errno.errorcode.get(failed.errno or 0, "?"), failed.strerror, hint)) from None


class RealRoot:
    """The files and commands of the machine that the agent runs on."""

    def read(self, path: str, limit: int) -> bytes:
        """Return at most ``limit`` bytes from the start of a regular file."""
        descriptor, found = self._opened(path)
        try:
            return _read_up_to(descriptor, limit, path, found.st_size)
        finally:
            os.close(descriptor)

    def read_tail(self, path: str, size: int) -> bytes:
        """Return at most the last ``size`` bytes of a regular file."""
        descriptor, found = self._opened(path)
        try:
            os.lseek(descriptor, max(0, found.st_size - size), os.SEEK_SET)
            return _read_up_to(descriptor, size, path)
        except OSError as failed:
            refuse(path, failed)
        finally:
            os.close(descriptor)

    def read_apart(self, path: str, limit: int, deadline_s: float) -> bytes:
        """Return a file's bytes, opened and read in a child that is given up after ``deadline_s``."""
        told = bounded.apart(lambda: self._told(path, limit), deadline_s, path)
        if told[:1] != b"+":
            number = int(told[1:] or errno.EIO)
            refuse(path, OSError(number, os.strerror(number)))
        return told[1:]

    def _told(self, path: str, limit: int) -> bytes:
        """Return ``+`` and the bytes, or ``-`` and the errno."""
        try:
            descriptor = os.open(path, TO_READ)
            told = b"+"
            while len(told) <= limit:  # a file of /proc gives a page at a time
                piece = os.read(descriptor, limit)
                if not piece:
                    break
                told += piece
            return told[: limit + 1]
        except OSError as failed:
            return b"-%d" % (failed.errno or errno.EIO)

    def apart(self, question: Any, deadline_s: float, what: str) -> Tuple[Any, float]:
        """Return the JSON value that a question gave in a child of its own, and the seconds it took."""
        begun = time.monotonic()
        told = bounded.apart(lambda: _answered(question, lambda: time.monotonic() > begun + LATE * deadline_s), deadline_s, what)
        if not told:
            raise Unreadable("%s: the child that looked there ended without an answer" % what)
        status, value = json.loads(told.decode("ascii"))
        if status != "ok":
            raise refusal(Unknown(status, value))
        return value, time.monotonic() - begun

    def statvfs_apart(self, path: str, deadline_s: float) -> Space:
        """Return the room on a file system, asked in a child that is given up after ``deadline_s``."""
        return Space(*self.apart(lambda _is_late: _space(path), deadline_s, "statvfs " + path)[0])

    def examine(self, path: str, question: Question) -> Any:
        """Return what a question finds in a regular file; it may hang, and the file is closed with the child that asks."""
        descriptor, found = self._opened(path)
        return question(lambda offset, size: _read_at(descriptor, offset, size, path), found.st_size)

    def ask_loopback(self, port: int, path: str, deadline_s: float) -> Answer:
        """Return what our own loopback address answers, asked in a child that is given up after ``deadline_s``."""
        from .loopback import fetch  # noqa: PLC0415  # only a probe that asks a server pays for socket

        return Answer(*self.apart(lambda _is_late: fetch(port, path, CHUNK), deadline_s, "http://127.0.0.1:%d%s" % (port, path))[0])

    def names(self, path: str) -> List[str]:
        """Return the names in a folder, in no order."""
        try:
            return os.listdir(path)
        except OSError as failed:
            refuse(path, failed)

    def entries(self, path: str, look: Any = lambda entry: _stat(entry.stat(follow_symlinks=False))) -> List[Tuple[str, Any]]:
        """Return the sorted names in a folder, each with its lstat, or Unknown where that failed."""
        try:
            with os.scandir(path) as found:
                return sorted(_looked_at(found, look), key=itemgetter(0))
        except OSError as failed:
            refuse(path, failed)

    def kinds(self, path: str) -> List[Tuple[str, Any]]:
        """Return the sorted names in a folder, each with its kind, or Unknown where that failed."""
        return self.entries(path, _kind)

    def stat(self, path: str) -> Stat:
        """Return what lstat says."""
        try:
            return _stat(os.lstat(path))
        except OSError as failed:
            refuse(path, failed)

    def link(self, path: str) -> str:
        """Return the text of a symbolic link."""
        try:
            return os.readlink(path)
        except OSError as failed:
            refuse(path, failed)

    def real(self, path: str) -> str:
        """Return the path without links; a loop is Unreadable."""
        try:
            found = os.path.realpath(path)
        except OSError as failed:
            refuse(path, failed)
        try:
            is_loop = stat.S_ISLNK(os.lstat(found).st_mode)
        except OSError as failed:
            is_loop = failed.errno == errno.ELOOP
        if is_loop:
            refuse(path, OSError(errno.ELOOP, os.strerror(errno.ELOOP)))
        return found

    def sha256(self, path: str, limit: int) -> Digest:
        """Return the digest of a regular file that held still while it was read; three tries, then Unreadable with both times."""
        for _ in range(3):
            settled_ns = time.time_ns() - SETTLED_NS
            descriptor, before = self._opened(path, os.O_NOFOLLOW)
            try:
                if before.st_size > limit:
                    raise Unreadable("%s: %s: %d bytes" % (path, TOO_LARGE, before.st_size))
                digest, size = _hash(descriptor, before.st_size, path)
                after = _fstat(descriptor, path)
            finally:
                os.close(descriptor)
            if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
                if size != after.st_size:
                    raise Unreadable("%s: size changed while read: %d bytes told, %d read" % (path, after.st_size, size))
                is_settled = before.st_ctime_ns == after.st_ctime_ns < settled_ns and after.st_ctime_ns % WHOLE_S_NS
                return Digest(digest, size, after.st_mtime_ns, after.st_ctime_ns, after.st_ino if is_settled else None)
        raise Unreadable("%s: changing while it is read: mtime_ns %d, then %d" % (path, before.st_mtime_ns, after.st_mtime_ns))

    def mate(self, answer: Any) -> Any:
        """Return a child that answers beside us; None where no child can be started."""
        from .mate import Mate  # noqa: PLC0415  # only who reads many files has one

        try:
            return Mate(answer)
        except OSError:
            return None

    def run(self, argv: List[str], deadline_s: float, env: Dict[str, str], cap: int = MIB) -> Tuple[Ran, str]:
        """Return what a command printed, and a note."""
        return bounded.run(argv, deadline_s, env, cap)

    def environ(self) -> Dict[str, str]:
        """Return our own environment."""
        return dict(os.environ)

    def uid(self) -> int:
        """Return our effective user id."""
        return os.geteuid()

    def hints(self) -> Dict[str, Any]:
        """Return nothing: a real host is asked, it does not describe itself."""
        return {}

    def nvml(self) -> Any:
        """Return the pynvml module that was shipped beside the agent."""
        try:
            from importlib import import_module  # noqa: PLC0415  # nobody else here needs it

            return import_module("pynvml")
        except ImportError as failed:
            raise Absent("pynvml did not come with the agent: %s" % failed) from None

    def _opened(self, path: str, flags: int = 0) -> Tuple[int, os.stat_result]:
        """Return the descriptor of a regular file, and its stat."""
        try:
            descriptor = os.open(path, TO_READ | flags)
        except OSError as failed:
            if failed.errno in (errno.ENXIO, errno.ENODEV) or (flags and failed.errno == errno.ELOOP and os.path.islink(path)):
                raise Unreadable("%s: not a regular file" % path) from None
            refuse(path, failed)
        found = _fstat(descriptor, path)
        if found.st_mode & KIND_BITS != stat.S_IFREG:
            os.close(descriptor)
            raise Unreadable("%s: not a regular file" % path)
        return descriptor, found


def _answered(question: Any, is_late: Any) -> bytes:
    try:
        told = ["ok", question(is_late)]
    except Refusal as refusal:
        told = [refusal.status, str(refusal)]
    return json.dumps(told).encode("ascii")


def _space(path: str) -> Space:
    try:
        told = os.statvfs(path)
    except OSError as failed:
        refuse(path, failed)
    unit = told.f_frsize
    return Space(told.f_blocks * unit, (told.f_blocks - told.f_bfree) * unit, told.f_bavail * unit, told.f_files, told.f_ffree)


def _looked_at(found: Iterator["os.DirEntry[str]"], look: Any) -> Iterator[Tuple[str, Any]]:
    """Yield the names with what a look at them gives; what vanished meanwhile is left out, one that fails costs itself and not its folder."""
    for entry in found:
        try:
            yield entry.name, look(entry)
        except FileNotFoundError:
            continue
        except OSError as failed:
            yield entry.name, _unknown(entry.path, failed)


def _kind(entry: "os.DirEntry[str]") -> Kind:
    return FILE if entry.is_file(follow_symlinks=False) else FOLDER if entry.is_dir(follow_symlinks=False) else LINK if entry.is_symlink() else OTHER


def _unknown(path: str, failed: OSError) -> Unknown:
    try:
        refuse(path, failed)
    except Refusal as refusal:
        return Unknown(refusal.status, str(refusal))


def _fstat(descriptor: int, path: str) -> os.stat_result:
    try:
        return os.fstat(descriptor)
    except OSError as failed:
        refuse(path, failed)


def _stat(found: os.stat_result) -> Stat:
    return Stat(KINDS.get(found.st_mode & KIND_BITS, "other"), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_uid)


def _read_up_to(descriptor: int, limit: int, path: str, size: int = 0) -> bytes:
    """Return at most ``limit`` bytes. A first piece as long as the file is the file; what tells no size (/proc) is read until nothing comes."""
    pieces: List[bytes] = []
    left = limit
    try:
        while left > 0:
            piece = os.read(descriptor, min(left, CHUNK))
            if not pieces and len(piece) == size:
                return piece
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
    except OSError as failed:
        refuse("%s at byte %d" % (path, limit - left), failed)
    return b"".join(pieces)


def _read_at(descriptor: int, offset: int, size: int, path: str) -> bytes:
    try:
        return os.pread(descriptor, size, offset)
    except (OSError, OverflowError) as failed:
        refuse("%s at byte %d" % (path, offset), failed if isinstance(failed, OSError) else OSError(errno.EOVERFLOW, str(failed)))


def _hash(descriptor: int, expected: int, path: str) -> Tuple[str, int]:
    """Return the digest and the count of bytes; never more than ``expected`` + 1 MiB, so that an endless file ends."""
    try:
        first = os.read(descriptor, min(expected + 1, CHUNK))
        digest = sha256(first)
        size = len(first)
        if size <= expected and (size < expected or expected >= CHUNK):
            size = _hash_rest(descriptor, digest, size, expected)
    except OSError as failed:
        refuse("%s while hashed" % path, failed)
    return digest.hexdigest(), size


def _hash_rest(descriptor: int, digest: Any, size: int, expected: int) -> int:
    room = bytearray(CHUNK)
    view = memoryview(room)
    while size <= expected:
        count = os.readv(descriptor, [room])
        if count == 0:
            break
        digest.update(view[:count])
        size += count
    return size
