"""A server's log of any length, as a stream of bytes -> the part of its text that can say why its last run failed. Pure: it is given the bytes.

A log of a few MiB is kept whole. Of a longer one these are kept, in their order: the beginning of its last run and the end of the log as they are,
and between them the lines that the rules look at: errors after the last sign of serving, the last frames of tracebacks, figures of the start, signs of
readiness, the last throughputs. Most lines of a long log are alike, so a line is looked at by its shape (without digits and the letters of
hexadecimal numbers), and each shape once. Where lines are all unlike (prompts), blocks are searched as a whole, word by word, and for errors only
once no later block can tell that the server went on serving.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from driftwatch.agent.log_errors import HINT, LINE, PROGRESS, READY, SERVED, bare, failure_in
from driftwatch.agent.server_log import STARTS
from driftwatch.agent.typed import Regex
from driftwatch.log_words import (
    ERROR_WORDS,
    FRAME_WORDS,
    PROGRESS_WORDS,
    READY_WORDS,
    last_lines_with,
    last_served,
    line_at,
    lines_with,
    numbered,
)

WHOLE = 4 << 20
HEAD = TAIL = 256 << 10
BLOCK = 1 << 20
LONGEST_LINE = 1 << 18
CODE_FILE = Regex(r"File \"[^\"]+\", (?:line \d|in )|\S+/\S+\.(?:py|so)\b[^:]*:")
LONGEST_FRAME = 500
_MOST_SHAPES, _MANY, _MOST_ERRORS, _MOST_FIGURES, _MOST_FRAMES, _MOST_SPEEDS, _MOST_JUDGED = 20_000, 500, 4_000, 2_000, 60, 200, 8
_VERSION, _VERSION_BEFORE = b"vLLM API server version", 4096
_ALIKE = b"0123456789abcdef\0"
_MARKS = tuple(mark for marks in STARTS.values() for mark in marks)
_SERVING = (
    "Decode batch", "Prefill batch", "fired up and ready", "Avg prompt throughput", "Avg generation throughput", 'HTTP/1.1" 200', 'HTTP/1.1\\" 200',
    "Application startup complete", "Uvicorn running", "llama runner started")
_STARTING = (
    "Load weight", "KV Cache is allocated", "KV cache allocated.", "Memory pool end", "Capture ", "Init torch distributed", "Init parallel",
    "Model loading took", "GPU KV cache size", "Mamba Cache is allocated", "max_total_num_tokens=", "#tokens: ", "available_gpu_mem=",
    "Memory baseline taken", "Available KV cache memory", "Graph capturing finished", "Free memory on device")
_NEEDLES = (*(word.replace("\\", "") for word in HINT.pattern.split("|")), *_MARKS, *_SERVING, *_STARTING, 'File "', ".py", ".so", "throughput", 'HTTP/1.1"')
_FIRSTS = sorted({word[0] for word in _NEEDLES})
_ANY = Regex("|".join(f"{re.escape(one)}(?:{'|'.join(re.escape(word[1:]) for word in _NEEDLES if word[0] == one)})" for one in _FIRSTS).encode())
_FIGURE = Regex("|".join(map(re.escape, _STARTING)))
_SERVED_BYTES = Regex(SERVED.pattern.encode())
_FRAME_BYTES = Regex(CODE_FILE.pattern.encode())
_START, _SERVED, _ERROR, _FRAME, _FIGURES, _PROGRESS, _READY, _SPEED = (1 << bit for bit in range(8))

FIGURES_WITHIN = 16 << 20  # bytes from the beginning of a run: later lines of these words are no figures of its start
WAITING = 8
UNLIKE_BLOCKS = 256
_MOST_UNLIKE = 0.25
_START_WORDS = tuple(mark.encode() for mark in _MARKS)
_FIGURE_WORDS = tuple(word.encode() for word in _STARTING)
Numbered = tuple[int, bytes]


class Kept(NamedTuple):
    """What is kept of a log's text, and whether that is all of it: only then do its lines have the log's numbers."""

    text: str
    is_whole: bool


def condense(chunks: Iterable[bytes], whole: int = WHOLE) -> Kept:
    """Return a log of up to ``whole`` bytes as it is, of a longer one what can say why its last run failed, at most a few MiB."""
    rest = iter(chunks)
    first = bytearray()
    for chunk in rest:
        first += chunk
        if len(first) > whole:
            break
    else:
        return Kept(first.decode("utf-8", "replace"), is_whole=True)
    sieve = Sieve()
    for block in _blocks(chain(_cut(bytes(first)), rest)):
        sieve.take(block)
    return Kept(sieve.text(), is_whole=False)


def _cut(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), BLOCK):
        yield data[at:at + BLOCK]


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield whole lines, each block ending in a line end, a carriage return being one too. Of an endless line only the beginning is told."""
    begun = b""
    for chunk in chunks:
        data = begun + (chunk.replace(b"\r", b"\n") if b"\r" in chunk else chunk)
        end = data.rfind(b"\n") + 1
        begun = data[end:end + LONGEST_LINE]
        if end:
            yield data[:end]
    if begun:
        yield begun + b"\n"


class Sieve:
    """Takes a log block by block and keeps what matters of its last run. Lines are numbered from the beginning of the log.

    ``unlike_blocks``: of how many blocks it is taken for granted that their lines are all unlike.
    """

    def __init__(self, unlike_blocks: int = 0) -> None:
        self._known: dict[bytes, int] = {}
        self._number = 0
        self._tail = b""
        self._judged = 0
        self._unlike_blocks = unlike_blocks
        self._begin_run(0)

    def _begin_run(self, number: int) -> None:
        self._head: list[bytes] = []
        self._head_size = 0
        self._head_end = number
        self._errors: list[tuple[int, bytes, bytes]] = []
        self._frames: list[Numbered] = []
        self._speeds: list[Numbered] = []
        self._figures: list[Numbered] = []
        self._single: dict[int, Numbered] = {}
        self._run_size = 0
        self._waiting: deque[tuple[int, int, bytes]] = deque()

    def take(self, block: bytes) -> None:
        """Take the next lines: by their shapes, or, where the blocks before were of lines all unlike, as a whole."""
        if self._unlike_blocks > 0 and not any(word in block for word in _START_WORDS):
            self._unlike_blocks -= 1
            count = self._take_whole(block)
        else:
            count = self._take_shapes(block)
        self._number += count
        self._run_size += len(block)
        self._tail = (self._tail + block)[-TAIL:] if len(block) < TAIL else block[-TAIL:]

    def _take_whole(self, block: bytes) -> int:
        """Take a block in which no run begins; return how many lines it has. Errors and frames wait: a later sign of serving may make them idle."""
        if self._head_size < HEAD:
            self._fill_head(block[:-1].split(b"\n"), 0)
        served = last_served(block, LINE)
        if served >= 0:
            self._single[_SERVED] = next(numbered(block, [served], self._number, LINE))
            self._errors = []
        if _READY not in self._single:
            self._single.update((_READY, found) for found in self._found(block, READY_WORDS, _READY)[:1])
        if self._run_size < FIGURES_WITHIN and len(self._figures) < _MOST_FIGURES:
            self._figures += self._found(block, _FIGURE_WORDS, _FIGURES)[:_MOST_FIGURES]
        speeds = last_lines_with(block, b"throughput", _MOST_SPEEDS, LINE)
        self._speeds = [*self._speeds, *numbered(block, speeds, self._number, LINE)][-_MOST_SPEEDS:]
        count = block.count(b"\n")
        self._waiting.append((self._number, count, block))
        if len(self._waiting) > WAITING:
            self._look_at(*self._waiting.popleft())
        return count

    def _found(self, block: bytes, words: Sequence[bytes], kind: int) -> list[Numbered]:
        return [one for one in numbered(block, lines_with(block, words, 0, LINE), self._number, LINE) if _kinds_of(one[1]) & kind]

    def _look_at(self, number: int, count: int, block: bytes, *, with_frames: bool = False) -> None:
        """Keep the errors, the frames and the last step of a block that waited, as far as they come after the last sign of serving."""
        served = self._single.get(_SERVED, (-1, b""))[0]
        first = len(block) if served >= number + count else _line_begin(block, max(0, served + 1 - number))
        if first < len(block):
            errors = lines_with(block, (*ERROR_WORDS, *PROGRESS_WORDS), first, LINE)
            begins = sorted({*errors, *_frames_in(block, first)})
            late = [(at, line, _kinds_of(line)) for at, line in numbered(block, begins, number, LINE)]
            self._single.update((_PROGRESS, (at, line)) for at, line, kind in late if kind & _PROGRESS)
            self._frames = [*self._frames, *((at, line) for at, line, kind in late if kind & _FRAME)][-_MOST_FRAMES:]
            self._add_errors([(at, line.translate(None, _ALIKE), line) for at, line, kind in late if kind & _ERROR])
        if with_frames and first > 0:
            early = numbered(block, _frames_in(block[:first], 0), number, LINE)
            self._frames = sorted([*self._frames, *early])[-_MOST_FRAMES:]

    def _take_shapes(self, block: bytes) -> int:
        """Take a block by the shapes of its lines; return how many lines it has."""
        lines = block[:-1].split(b"\n")
        shapes = block[:-1].translate(None, _ALIKE).split(b"\n")
        if self._learn(lines, shapes) > max(_MANY, _MOST_UNLIKE * len(lines)):
            self._unlike_blocks = UNLIKE_BLOCKS
        kinds = list(map(self._known.__getitem__, shapes))
        present = 0
        for kind in set(kinds):
            present |= kind
        first = self._restart(lines, kinds) if present & _START else 0
        self._fill_head(lines, first)
        if present:
            self._sift(lines, kinds, present, first)
            if present & _ERROR:
                self._take_errors(lines, shapes, kinds, first)
        return len(lines)

    def _learn(self, lines: Sequence[bytes], shapes: Sequence[bytes]) -> int:
        """Look at each shape that is new, by the last line that has it; return how many are."""
        if len(self._known) > _MOST_SHAPES:
            self._known.clear()
        last = dict(zip(shapes, range(len(shapes)), strict=True))
        new = last.keys() - self._known.keys()
        self._known.update(dict.fromkeys(new, 0))
        self._known.update((shape, _kinds_of(lines[last[shape]][:LINE])) for shape in new if _ANY.search(lines[last[shape]], 0, LINE))
        return len(new)

    def _restart(self, lines: Sequence[bytes], kinds: Sequence[int]) -> int:
        """Begin anew at the last line that a run begins with; return its place in the block. vLLM tells its version just before its arguments."""
        place = next((at for at in reversed(range(len(lines))) if kinds[at] & _START), None)
        if place is None:
            return 0
        before = (self._tail + b"".join(line + b"\n" for line in lines[max(0, place - 100):place]))[-_VERSION_BEFORE:]
        self._begin_run(self._number + place)
        if _VERSION in before and b"server_args=" not in lines[place]:
            self._head.append(before[before.rfind(b"\n", 0, before.rfind(_VERSION)) + 1:].rstrip(b"\n"))
        return place

    def _fill_head(self, lines: Sequence[bytes], first: int) -> None:
        at = first
        while at < len(lines) and self._head_size < HEAD:
            self._head.append(lines[at][:LONGEST_LINE])
            self._head_size += len(lines[at]) + 1
            at += 1
        if at > first:
            self._head_end = self._number + at

    def _sift(self, lines: Sequence[bytes], kinds: Sequence[int], present: int, first: int) -> None:
        """Keep what is wanted of each kind but the errors: the last frames, throughputs, served line and progress, the first figures and ready line."""
        if present & _READY and _READY not in self._single:
            found = [at for at in range(first, len(lines)) if kinds[at] & _READY][:1]
            for numbered in self._numbered(lines, found):
                self._single[_READY] = numbered
        for kind in (_SERVED, _PROGRESS):
            for numbered in self._numbered(lines, _last(lines, kinds, kind, first, 1)) if present & kind else ():
                self._single[kind] = numbered
        if present & _FRAME:
            self._frames = [*self._frames, *self._numbered(lines, _last(lines, kinds, _FRAME, first, _MOST_FRAMES))][-_MOST_FRAMES:]
        if present & _SPEED:
            self._speeds = [*self._speeds, *self._numbered(lines, _last(lines, kinds, _SPEED, first, _MOST_SPEEDS))][-_MOST_SPEEDS:]
        if present & _FIGURES and len(self._figures) < _MOST_FIGURES and self._run_size < FIGURES_WITHIN:
            self._figures += self._numbered(lines, [at for at in range(first, len(lines)) if kinds[at] & _FIGURES][:_MOST_FIGURES])

    def _numbered(self, lines: Sequence[bytes], places: Iterable[int]) -> list[Numbered]:
        return [(self._number + at, lines[at][:LINE]) for at in places]

    def _take_errors(self, lines: Sequence[bytes], shapes: Sequence[bytes], kinds: Sequence[int], first: int) -> None:
        """Keep the errors after the last sign of serving."""
        served = self._single.get(_SERVED, (-1, b""))[0]
        start = max(first, served - self._number + 1)
        places = [at for at in range(start, len(lines)) if kinds[at] & _ERROR]
        if len(places) > _MANY:
            places = sorted({shapes[at]: at for at in places}.values())
        self._add_errors([(self._number + at, shapes[at], lines[at][:LINE]) for at in places])

    def _add_errors(self, errors: list[tuple[int, bytes, bytes]]) -> None:
        """Add errors to those after the last sign of serving, of too many one of each shape."""
        served = self._single.get(_SERVED, (-1, b""))[0]
        self._errors = [one for one in self._errors if one[0] > served] + errors
        if len(self._errors) > _MOST_ERRORS:
            self._errors = sorted({shape: (number, shape, line) for number, shape, line in self._errors}.values())
        if len(self._errors) > _MOST_ERRORS:
            half = _MOST_ERRORS // 2
            self._errors = [*self._telling(self._errors[:-half]), *self._errors[-half:]]

    def _telling(self, errors: list[tuple[int, bytes, bytes]]) -> list[tuple[int, bytes, bytes]]:
        """Return of errors that are too many the one that decides. It is asked for some times only: a log of nothing but errors shall not take for ever."""
        self._judged += 1
        found = failure_in(_text(line for _, _, line in errors)) if self._judged <= _MOST_JUDGED else None
        return [one for one in errors if found and bare(_text([one[2]])).startswith(found.line)][-1:]

    def text(self) -> str:
        """Return what was kept, in its order."""
        while self._waiting:
            self._look_at(*self._waiting.popleft(), with_frames=True)
        tail = self._tail if self._number - self._tail.count(b"\n") <= 0 else self._tail[self._tail.find(b"\n") + 1:]
        tail_begin = self._number - tail.count(b"\n")
        every = chain(((number, line) for number, _, line in self._errors), self._frames, self._speeds, self._figures, self._single.values())
        between = {number: line[:LINE] for number, line in every if self._head_end <= number < tail_begin}
        rest = tail.split(b"\n")[max(0, self._head_end - tail_begin):]
        return _text(chain(self._head, (between[number] for number in sorted(between)), rest))


def _frames_in(block: bytes, first: int) -> list[int]:
    """Return where the lines begin that name a file of code, from a place on."""
    begins = lines_with(block, FRAME_WORDS, first, LONGEST_FRAME)
    return [begin for begin in begins if _is_frame(line_at(block, begin, LONGEST_FRAME))]


def _is_frame(short: bytes) -> bool:
    """Tell whether a line names a file of code; most that hold ``.py`` name a module of their own, without a folder."""
    has_folder = b"/" in short[:max(short.rfind(b".py"), short.rfind(b".so"), 0)]
    return (has_folder or b'File "' in short) and _FRAME_BYTES.search(short) is not None


def _line_begin(block: bytes, lines: int) -> int:
    """Return where the line begins that has so many before it; the block's end where it has no more."""
    at = 0
    for _ in range(lines):
        at = block.find(b"\n", at) + 1
        if at == 0:
            return len(block)
    return at


def _last(lines: Sequence[bytes], kinds: Sequence[int], kind: int, first: int, most: int) -> list[int]:
    """Return the places of the last lines of a kind, in their order. A line that served is looked at itself: shapes know no numbers."""
    found: list[int] = []
    for at in range(len(lines) - 1, first - 1, -1):
        if kinds[at] & kind and (kind != _SERVED or _SERVED_BYTES.search(lines[at])):
            found.append(at)
            if len(found) == most:
                break
    return found[::-1]


def _kinds_of(whole: bytes) -> int:
    """Return what a line is to the rules. One that may be an error counts as one: they look at it themselves."""
    line = _text([whole])
    told = (
        (_START, any(mark in line for mark in _MARKS)), (_SERVED, any(word in line for word in _SERVING) or 'HTTP/1.1"' in line),
        (_ERROR, HINT.search(line) is not None), (_FRAME, _names_code(line[:LONGEST_FRAME])), (_FIGURES, _FIGURE.search(line) is not None),
        (_PROGRESS, PROGRESS.search(line) is not None), (_READY, READY.search(line) is not None), (_SPEED, "throughput" in line),
    )
    return sum(kind for kind, holds in told if holds)


def _names_code(short: str) -> bool:
    return (".py" in short or ".so" in short or 'File "' in short) and CODE_FILE.search(short) is not None


def _text(lines: Iterable[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", "replace")
