"""The one door to the operating system: read, list, stat, link, run, environ. Behind it stands the real root or a recorded one.

Every method either returns what the host said or raises a :class:`~driftwatch.agent.probe.Refusal`; ``attempt`` (and ``try_read`` and its
kin) turn a refusal into a value where one thing may be missing by itself. Before each question its text goes to ``asking``, so that the
runner can say what a probe that never came back was waiting for.
"""
from __future__ import annotations

from types import MappingProxyType

try:  # hashlib looks up every kind of digest that OpenSSL has, a twelfth of what Python itself takes to start
    from _hashlib import openssl_sha256 as _sha256
except ImportError:  # a Python that was built without OpenSSL
    from hashlib import sha256 as _sha256

from .probe import Absent, Refusal, Unknown, Unreadable
from .redact import Redactor
from .typed import Any, Callable, Dict, Generator, Iterator, List, Mapping, NamedTuple, Optional, Tuple

MIB = 1 << 20
sha256 = _sha256
TOO_LARGE = "too large, not hashed"


class Kind(NamedTuple):
    """What a folder says of a name in it, which costs no look at the thing itself: ``file``, ``dir``, ``link`` or ``other``."""

    kind: str


class Stat(NamedTuple):
    """One lstat: kind is ``file``, ``dir``, ``link`` or ``other``. Times in ns and inode are None on a recorded host; size in bytes."""

    kind: str
    size: int
    mtime_ns: Optional[int] = None
    ctime_ns: Optional[int] = None
    inode: Optional[int] = None
    uid: Optional[int] = None


class Ran(NamedTuple):
    """What became of a command that ended: its exit code (negative: signal) and both outputs, cut at 1 MiB each."""

    rc: int
    stdout: str
    stderr: str


class Digest(NamedTuple):
    """The SHA-256 of a file's bytes (hex), their count, and the times of the file at the end of the read (None on a recorded host).

    ``inode`` is there where the same times, size and inode mean the same bytes: the last change was well before the read.
    """

    sha256: str
    size: int
    mtime_ns: Optional[int]
    ctime_ns: Optional[int]
    inode: Optional[int] = None


class Space(NamedTuple):
    """Room on a file system: bytes in all, in use, and free to users; inodes in all and free (None: a recorded ``df`` that did not tell them)."""

    size_bytes: int
    used_bytes: int
    free_bytes: int
    inodes: Optional[int] = None
    inodes_free: Optional[int] = None


class Answer(NamedTuple):
    """What a server on this host answered to a GET: its HTTP status and the body as text."""

    status: int
    body: str


class Target(NamedTuple):
    """What to look at: an interpreter, its site-packages folders (first wins), the SGLang source tree if any, and why these."""

    python: str
    site_packages: Tuple[str, ...]
    source: Optional[str]
    because: str


class Settings(NamedTuple):
    """What the controller asked for. Paths are paths on the host. ``known``: {root: {unit: key}} of the files that it knows (known_files.py)."""

    pythons: Tuple[str, ...] = ()
    source: Optional[str] = None
    log: Optional[str] = None
    env_from_pid: Optional[int] = None
    packages: Tuple[str, ...] = ("torch", "sgl_kernel", "sglang", "flashinfer", "triton", "transformers", "vllm")
    env_prefixes: Tuple[str, ...] = ()
    also_show: Tuple[str, ...] = ()
    byte_budget: int = 2 << 30
    known: Mapping[str, Mapping[str, str]] = MappingProxyType({})


class Host:
    """A host, as a collector sees it. ``root`` does the looking (:class:`~driftwatch.agent.real.RealRoot` or a recorded one)."""

    def __init__(self, root: Any, settings: Settings, asking: Callable[[str], None] = lambda _text: None) -> None:
        self.root = root
        self.settings = settings
        self.asking = asking
        self.targets: Tuple[Target, ...] = ()
        self.notes: List[str] = []
        self.mask = Redactor(b"", settings.also_show, settings.env_prefixes)

    def read_bytes(self, path: str, limit: int = MIB) -> bytes:
        """Return a regular file's bytes. More than ``limit`` of them, or what is no regular file, is Unreadable."""
        self.asking("read " + path)
        data: bytes = self.root.read(path, limit + 1)
        if len(data) > limit:
            raise Unreadable("%s: larger than %d bytes" % (path, limit))
        return data

    def read(self, path: str, limit: int = MIB) -> str:
        """Return a text file; bytes that are no UTF-8 come as surrogates."""
        return self.read_bytes(path, limit).decode("utf-8", "surrogateescape")

    def head(self, path: str, size: int) -> str:
        """Return at most the first ``size`` bytes of a text file."""
        return self.head_bytes(path, size).decode("utf-8", "surrogateescape")

    def head_bytes(self, path: str, size: int) -> bytes:
        """Return at most the first ``size`` bytes of a regular file."""
        self.asking("read " + path)
        data: bytes = self.root.read(path, size)
        return data

    def tail(self, path: str, size: int) -> str:
        """Return at most the last ``size`` bytes of a text file."""
        self.asking("read " + path)
        data: bytes = self.root.read_tail(path, size)
        return data.decode("utf-8", "surrogateescape")

    def read_apart(self, path: str, deadline_s: float = 1.0) -> bytes:
        """Return the bytes of a file of ``/proc/PID`` that needs the target's mmap lock, read in a child of its own.

        A stuck target then costs ``deadline_s`` and this one answer (TimedOut), not the probe. Source: aws/efs-utils#374, gpustack#3908.
        """
        self.asking("read " + path)
        data: bytes = self.root.read_apart(path, 4 * MIB, deadline_s)
        return data

    def apart(self, question: Callable[..., Any], deadline_s: float, *arguments: Any) -> Tuple[Any, float]:
        """Return the JSON value of ``question(host, is_late, *arguments)`` and the seconds it took, asked in a child of its own.

        For places that may hang one by one. ``is_late()`` turns true at four fifths of ``deadline_s``, so that the question can end with what it has;
        one that does not end is TimedOut, and what refused it refuses here.
        """
        answer: Tuple[Any, float] = self.root.apart(lambda is_late: question(self, is_late, *arguments), deadline_s, str(arguments[0]))
        return answer

    def examine(self, path: str, question: Callable[[Callable[[int, int], bytes], int], Any], deadline_s: float = 2.0) -> Any:
        """Return the JSON value that ``question(read, size)`` finds in a regular file; ``read(offset, size)`` gives up to that many of its bytes.

        It is asked in a child of its own: a file that hangs costs ``deadline_s`` and this one answer. A question raises Unreadable where bytes make no sense.
        """
        self.asking("examine " + path)
        return self.root.apart(lambda _is_late: self._examined(path, question), deadline_s, path)[0]

    def _examined(self, path: str, question: Callable[..., Any]) -> Any:
        try:
            return self.root.examine(path, question)
        except Unreadable as refusal:
            raise Unreadable(str(refusal) if path in str(refusal) else "%s: %s" % (path, refusal)) from None

    def statvfs_apart(self, path: str, deadline_s: float = 2.0) -> Space:
        """Return the room on the file system at a path, asked in a child of its own: one that hangs costs ``deadline_s`` and this one answer."""
        self.asking("statvfs " + path)
        found: Space = self.root.statvfs_apart(path, deadline_s)
        return found

    def ask_loopback(self, port: int, path: str, deadline_s: float = 3.0) -> Answer:
        """Return what this host's own loopback address (127.0.0.1, else ::1) answers to a GET, at most 1 MiB. No other host is ever asked.

        It is asked in a child of its own: a server that does not answer is TimedOut after ``deadline_s``, a port where nothing listens Absent.
        """
        self.asking("GET http://127.0.0.1:%d%s" % (port, path))
        answer: Answer = self.root.ask_loopback(port, path, deadline_s)
        return answer

    def list(self, path: str) -> List[str]:
        """Return the sorted names in a folder."""
        self.asking("list " + path)
        return sorted(self.root.names(path))

    def stat(self, path: str) -> Stat:
        """Return what lstat says of a path itself."""
        self.asking("stat " + path)
        found: Stat = self.root.stat(path)
        return found

    def link(self, path: str) -> str:
        """Return the text of a symbolic link."""
        self.asking("readlink " + path)
        text: str = self.root.link(path)
        return text

    def real(self, path: str) -> str:
        """Return the path with all links resolved; the last part need not exist (dangling links give what they point to)."""
        self.asking("resolve " + path)
        text: str = self.root.real(path)
        return text

    def exists(self, path: str) -> bool:
        """Tell whether a path leads to something; raises where the host does not let us know."""
        self.asking("stat " + path)
        try:
            self.root.stat(self.root.real(path))
        except Absent:
            return False
        return True

    def walk(self, top: str, skip: Tuple[str, ...] = ("__pycache__",), depth: int = 64, *, is_brief: bool = False) -> Iterator[Tuple[str, Any]]:
        """Yield ``(path below top, Stat)`` of all that is no folder, in sorted order, following no link; a Kind will do where it is to be brief.

        Where a folder below cannot be listed or a name cannot be looked at, ``(its path, Unknown)`` is yielded instead; folders deeper than ``depth`` likewise.
        """
        stack, look = [""], self.kinds if is_brief else self.entries
        while stack:
            below = stack.pop()
            where = top + "/" + below if below else top
            if below.count("/") >= depth:
                yield below, Unknown("error", "%s: deeper than %d folders, not entered" % (where, depth))
                continue
            entries = look(where) if not below else self.attempt(look, where)
            if isinstance(entries, Unknown):
                yield below, entries
                continue
            folders = []
            for name, stat in entries or ():
                path = below + "/" + name if below else name
                if stat[0] == "dir":
                    if name not in skip:
                        folders.append(path)
                else:
                    yield path, stat
            stack.extend(reversed(folders))

    def entries(self, path: str) -> List[Tuple[str, Any]]:
        """Return the sorted names in a folder, each with its lstat, Unknown where that failed; what vanished meanwhile is left out."""
        self.asking("list " + path)
        found: List[Tuple[str, Any]] = self.root.entries(path)
        return found

    def kinds(self, path: str) -> List[Tuple[str, Any]]:
        """Return the sorted names in a folder, each with its Kind, Unknown where that failed."""
        self.asking("list " + path)
        found: List[Tuple[str, Any]] = self.root.kinds(path)
        return found

    def sha256(self, path: str, limit: int = 2 << 30) -> Digest:
        """Return the digest of a regular file; Unreadable if it is larger than ``limit``, or changed or ended early while it was read."""
        self.asking("hash " + path)
        found: Digest = self.root.sha256(path, limit)
        return found

    def mate(self, answer: Callable[..., Any]) -> Any:
        """Return a child of our own that answers questions beside us (:class:`~driftwatch.agent.mate.Mate`); None where there is none to be had."""
        return self.root.mate(answer)

    def run(self, argv: List[str], deadline_s: float = 5.0, env: Optional[Dict[str, str]] = None, cap: int = MIB) -> Ran:
        """Return what a command printed once it ended, whatever its exit code. Absent if there is no such command, TimedOut after ``deadline_s``.

        ``env`` is added to the agent's own. More than ``cap`` bytes of output are Unreadable. The command and all below it are ended before TimedOut is
        raised; what could not be ended is reported.
        """
        self.asking("run " + " ".join(argv))
        ran, note = self.root.run(argv, deadline_s, env or {}, cap)
        if note:
            self.notes.append(note)
        answer: Ran = ran
        return answer

    def environ(self) -> Dict[str, str]:
        """Return the variables of the shell that started the agent (of the recorder's shell, where one was recorded)."""
        found: Dict[str, str] = self.root.environ()
        return found

    def uid(self) -> int:
        """Return the user id that looks."""
        number: int = self.root.uid()
        return number

    def hints(self) -> Dict[str, Any]:
        """Return what a recording says of itself: interpreter, site_packages, server_log; nothing on a real host."""
        told: Dict[str, Any] = self.root.hints()
        return told

    def pids(self) -> List[int]:
        """Return the process ids that can be seen, sorted."""
        return sorted(int(name) for name in self.list("/proc") if name.isdigit())

    def nvml(self) -> Any:
        """Return the ``pynvml`` module that came with the agent. Absent on a recorded host: NVML cannot be replayed."""
        self.asking("load libnvidia-ml.so.1")
        return self.root.nvml()

    def attempt(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Return the answer of one question, None where the thing is known to be absent, Unknown where no answer came."""
        try:
            return question(*arguments)
        except Absent:
            return None
        except Refusal as refusal:
            return Unknown(refusal.status, str(refusal))

    def try_read(self, path: str, limit: int = MIB) -> Any:
        """Return the text of a file, None if it is absent, else Unknown."""
        return self.attempt(self.read, path, limit)

    def try_list(self, path: str) -> Any:
        """Return the sorted names in a folder, None if it is absent, else Unknown."""
        return self.attempt(self.list, path)

    def names_in(self, folder: str, path: str) -> Generator[Tuple[str, Any], None, List[str]]:
        """Return the sorted names in a folder, none where it is absent; where it cannot be listed, yield that what ``path`` tells is unknown."""
        names = self.try_list(folder)
        if isinstance(names, Unknown):
            yield path, names
            return []
        return names or []

    def noted_names(self, folder: str) -> List[str]:
        """Return the sorted names in a folder that only helps to find others, none where it is absent; a note says that it cannot be listed."""
        names = self.try_list(folder)
        if isinstance(names, Unknown):
            self.notes.append(names.reason)
            return []
        return names or []

    def try_run(self, argv: List[str], deadline_s: float = 5.0, env: Optional[Dict[str, str]] = None) -> Any:
        """Return what a command printed (:class:`Ran`), None if there is no such command, else Unknown."""
        return self.attempt(self.run, argv, deadline_s, env)


def sha256_of(data: bytes) -> str:
    """Return the hexadecimal SHA-256 of some bytes."""
    return sha256(data).hexdigest()
