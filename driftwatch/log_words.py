"""Finds lines of a log by words, a whole block at a time. Pure bytes; whether a line is what its word lets expect is for others to say.

A block is searched once for each word, which for lines that are all unlike costs far less than a look at each line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

ERROR_WORDS = tuple(word.encode() for word in (  # one of them stands in every line that log_errors.py weighs at all
    "rror", "ERROR", "xception", "Exit", "Interrupt", "imeout", "IMEOUT", "imed", "TIMED", "Fault", "OOM", "illed", "Aborted", "ation fault", "Illegal",
    "terminate called", "what():", "cuInit", "has failed", "undefined symbol", "Xid", "CRITICAL", "FATAL", "level=f", "NCCL WARN", "atchdog", "ATCHDOG",
    "roadcast block", "ROADCAST BLOCK", "was the direct cause", "check failed", "panicked", "acquire lock"))
FRAME_WORDS = (b'", line ', b".py", b".so")
PROGRESS_WORDS = (
    b"Load weight", b"KV Cache is allocated", b"Memory pool end", b"Capture ", b"Init torch distributed", b"Init parallel", b"Model loading took",
    b"GPU KV cache size")
SERVED_WORDS = (
    b'HTTP/1.1" 200', b'HTTP/1.1\\" 200', b"Decode batch", b"Prefill batch", b"Avg generation throughput", b"Avg prompt throughput", b"fired up and ready",
    b"Application startup complete", b"Uvicorn running", b"llama runner started")
READY_WORDS = SERVED_WORDS[-4:]
_SMALL = b"abcdefghijklmnopqrstuvwxyz0123456789 "
_SELDOM = {word: bones for word in (*ERROR_WORDS, *PROGRESS_WORDS, *FRAME_WORDS, *SERVED_WORDS) if (bones := word.translate(None, _SMALL))}


def lines_with(block: bytes, words: Sequence[bytes], first: int, longest: int) -> list[int]:
    """Return where the lines begin, from ``first`` on, that hold one of some words among their first ``longest`` bytes; in order."""
    found: set[int] = set()
    for word in _present(block, words):
        at = block.find(word, first)
        while at >= 0:
            begin = max(first, block.rfind(b"\n", first, at) + 1)
            if at - begin <= longest - len(word):
                found.add(begin)
            end = block.find(b"\n", at)
            at = block.find(word, end) if end >= 0 else -1
    return sorted(found)


def _present(block: bytes, words: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the words that may stand in a block: those of capitals and signs are looked for in what is left of it without small letters."""
    bones = _bones(block)
    yield from (word for word in words if word not in _SELDOM or _SELDOM[word] in bones)


@lru_cache(maxsize=2)
def _bones(block: bytes) -> bytes:
    return block.translate(None, _SMALL)


def last_lines_with(block: bytes, word: bytes, most: int, longest: int) -> list[int]:
    """Return where the last lines begin that hold a word among their first ``longest`` bytes, at most so many; in order."""
    found: list[int] = []
    at = block.rfind(word)
    while at >= 0 and len(found) < most:
        begin = block.rfind(b"\n", 0, at) + 1
        first = block.find(word, begin)
        if first - begin <= longest - len(word):
            found.append(begin)
        at = block.rfind(word, 0, begin)
    return found[::-1]


def last_served(block: bytes, longest: int) -> int:
    """Return where the last line begins that is a sign of serving; -1 where there is none."""
    best = -1
    for word in _present(block, SERVED_WORDS):
        at = block.rfind(word, best + 1)
        while at > best:
            begin = block.rfind(b"\n", 0, at) + 1
            if at - begin <= longest - len(word):
                best = max(best, begin)
                break
            at = block.rfind(word, best + 1, begin)
    return best


def line_at(block: bytes, begin: int, longest: int) -> bytes:
    """Return the line that begins at a place, at most so much of it."""
    end = block.find(b"\n", begin)
    return block[begin:min(end if end >= 0 else len(block), begin + longest)]


def numbered(block: bytes, begins: Iterable[int], first: int, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that begin at some places, in order, with their numbers; ``first`` is the number of the block's first line."""
    number, counted = first, 0
    for begin in begins:
        number += block.count(b"\n", counted, begin)
        counted = begin
        yield number, line_at(block, begin, longest)
