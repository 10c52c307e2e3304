"""The wire: the one command line that starts the agent, the frames that come back, and the one exception of this room.

Knows stage 0 and how a frame looks. Never opens a connection, and knows nothing of probes or snapshots.

Stage 0 is what the host's Python gets on its command line. It tells ``ready``, reads the payload from standard input and runs it out of memory.
Its exit codes: 4 this Python is too old, 3 standard input ended too early, 5 the agent raised. After 1, 2, 4, 126 or 127 the next Python is tried.
"""
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

READY, END, OLD_PYTHON, NO_PYTHON = "ready", "end", "old_python", "no_python"
LONGEST_FRAME_BYTES = 8 << 20
NOISE_KEPT_BYTES = 4096

# It travels inside exec("…") inside sh's double quotes inside the login shell's single quotes: so it holds no quote, backslash, $, ` or !, and all its
# words come in as arguments. Python 2.7 must be able to read it. -E -s -S and the emptied path do what -I does, which Python 2 has not.
STAGE0 = """\
import sys
sys.path[:] = filter(None, sys.path)
import gc
gc.disable()
import json, os, signal, zlib
nonce, mark, ready, old, folder, memory = sys.argv[1:]
young = sys.version_info >= (3, 8)
hello = dict(frame=ready if young else old, python=sys.version.split()[0], path=sys.executable)
os.write(1, (chr(30) + chr(32).join([mark, nonce, json.dumps(hello)]) + chr(10)).encode())
if not young:
 os._exit(4)
def take(count):
 data = bytes()
 while len(data) < count:
  piece = os.read(0, count - len(data))
  if not piece:
   os._exit(3)
  data += piece
 return data
def keep(data):
 try:
  fd = os.memfd_create(mark)
 except AttributeError:
  fd = os.open(memory, os.O_TMPFILE | os.O_RDWR, 384)
 while data:
  data = data[os.write(fd, data):]
 return folder + str(fd)
try:
 signal.alarm(120)
 line = take(1)
 while line[-1] - 10 or not line.strip():
  line = take(1) if line[-1] == 10 else line + take(1)
 data = zlib.decompress(take(int(line.split()[1])))
 signal.alarm(0)
 cut = 10 + int(data[:10])
 code = data[cut:]
 sys.dont_write_bytecode = True
 sys.path.append(keep(code) if code[0] - 47 else os.fsdecode(code))
 from driftwatch.agent.main import main
 main(nonce, data[10:cut])
except Exception:
 sys.excepthook(*sys.exc_info())
 sys.stderr.flush()
 os._exit(5)
"""
LOGIN = (r'for p in {pythons}; do command -v "$p" >/dev/null 2>&1 || continue; '
         r'"$p" -E -s -S -c "exec(\"{stage0}\")" {nonce} DW1 ready old_python /proc/self/fd/ /dev/shm; '
         r'r=$?; case $r in 1|2|4|126|127) ;; *) exit $r;; esac; done; '
         r'printf "\036DW1 {nonce} {{\"frame\":\"no_python\"}}\n"; exit 127')


class LinkLost(Exception):
    """The host was not reached, or the line broke before the end frame: one sentence that says why, and what to do."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


@dataclass(frozen=True)
class Shipment:
    """What is sent: the nonce of its frames, the Pythons to try in order, and the payload.

    ``payload`` is called once, when a Python is ready, with the seconds that remain of the deadline. It gives, compressed by zlib: ten digits that
    tell the length of the agent's order, the order (JSON), and a zip with the agent's code, or the folder where it lies on that machine.
    """

    nonce: str
    pythons: Sequence[str]
    payload: Callable[[float], bytes]


class Transport(Protocol):
    """One way to reach a host."""

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:
        """Yield the agent's frames as they come, the end frame last; raise LinkLost where no end frame came."""
        ...


def command(nonce: str, pythons: Sequence[str]) -> str:
    """Return the one string for the login shell (bash, dash, fish and tcsh read it alike): it runs stage 0 in the first Python that can.

    A Python whose path holds a quote, a backslash, $, `, ! or a control character cannot be named in it and is left out.
    """
    if re.fullmatch(r"[A-Za-z0-9]{1,64}", nonce) is None:
        raise ValueError(f"a nonce is made of letters and digits, not of {nonce!r}")
    named = " ".join(f'"{one}"' for one in pythons if re.fullmatch(r"""[^\x00-\x1f\x7f'"\\$`!]+""", one))
    if not named:
        raise LinkLost("no Python to try: none was given that a login shell can name", "give one by a path without quotes: --python PATH")
    script = LOGIN.format(pythons=named, nonce=nonce, stage0=STAGE0.rstrip("\n").replace("\n", "\\n"))
    return f"exec /bin/sh -c '{script}'"


def addressed(payload: bytes) -> bytes:
    """Return the payload with the header line that stage 0 reads first."""
    return b"DW1 %d\n%b" % (len(payload), payload)


def visible(text: str, longest: int = 200) -> str:
    """Return foreign text for a message: cut in the middle to ``longest`` characters, whatever is not printable as an escape."""
    if len(text) > longest:
        text = f"{text[: longest // 2]} … {text[-longest // 2 :]}"
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


class FrameReader:
    """Finds the frames of one nonce in a stream of bytes. All the rest is noise: counted, and its last 4 KiB kept."""

    def __init__(self, nonce: str) -> None:
        self._mark = b"\x1eDW1 " + nonce.encode("ascii") + b" "
        self._pending = bytearray()
        self._searched = 0
        self.noise = b""
        self.noise_bytes = 0
        self.broken_frames = 0

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """Return the frames that this piece completes. LinkLost where one line is longer than 8 MiB."""
        self._pending += piece
        frames = []
        while self._is_at_mark():
            end = self._pending.find(b"\n", self._searched)
            if end < 0:
                self._searched = len(self._pending)
                if self._searched > LONGEST_FRAME_BYTES:
                    raise LinkLost(f"one frame of the agent is longer than {LONGEST_FRAME_BYTES >> 20} MiB", "ask for less with --only, and report this")
                break
            line = bytes(self._pending[:end])
            del self._pending[: end + 1]
            self._searched = 0
            frames += self._frames_of(line)
        return frames

    def _is_at_mark(self) -> bool:
        """Take away what stands before the next mark; return whether there is one."""
        at = keep = self._pending.find(self._mark)
        if at < 0:
            start = self._pending.rfind(b"\x1e")
            keep = start if start >= 0 and self._mark.startswith(self._pending[start:]) else len(self._pending)
        self._note_noise(bytes(self._pending[:keep]))
        del self._pending[:keep]
        return at >= 0

    def _frames_of(self, line: bytes) -> list[dict[str, Any]]:
        """Return the frame of a line, or nothing where it is broken. A writer may have been killed in mid-line: the last mark counts."""
        last = line.rfind(self._mark)
        self._note_noise(line[:last])
        try:
            frame = _JSON.decode(line[last + len(self._mark):].decode("utf-8"))
        except (ValueError, RecursionError):
            frame = None
        if isinstance(frame, dict):
            return [frame]
        self.broken_frames += 1
        self._note_noise(line[last:])
        return []

    def _note_noise(self, piece: bytes) -> None:
        if piece:
            self.noise_bytes += len(piece)
            self.noise = (self.noise + piece[-NOISE_KEPT_BYTES:])[-NOISE_KEPT_BYTES:]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_JSON = json.JSONDecoder(parse_constant=_refuse)  # json.loads would make one for each frame
