"""Digests of many files, worked out here and by a mate at the same time. Looks through the door only.

Files come one after another, as a walk finds them, and answers come back as they are ready: small ones in pieces, those of more than 1 MiB at the end,
the largest first. Whoever is free takes the next piece, so that a busy second core costs nothing. A few files need no mate. Where the mate meets a
file that hangs, what waits with it is read here, so that it costs no other's answer.
"""
from __future__ import annotations

import json

from .host import MIB, Digest, Host
from .probe import Unknown
from .typed import Any, Callable, Dict, Iterable, Iterator, List, Tuple

PIECE = 8
WORTH_A_MATE = 64
PATIENCE_S = 1.0
File = Tuple[str, int]
Answered = Tuple[str, Any]


class Hashing:
    """Takes files, gives ``(path, Digest, None if it is absent, or Unknown)`` of each."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.piece: List[File] = []
        self.large: List[Tuple[int, File]] = []
        self.taken = 0
        self.mate: Any = None
        self.handed: List[File] = []
        self.is_alone = False

    def give(self, path: str, size: int, limit: int) -> Iterator[Answered]:
        """Take a file of about ``size`` bytes, of which more than ``limit`` are refused; yield the answers that are ready."""
        if size > MIB:
            self.large.append((size, (path, limit)))
            return
        self.piece.append((path, limit))
        if len(self.piece) == PIECE:
            yield from self._work(PIECE)

    def ready(self) -> Iterator[Answered]:
        """Yield the answers of all small files that were given."""
        yield from self._work(PIECE)
        while self.handed:
            self.host.asking(self.mate.doing())
            answered = [*self._from_mate(PATIENCE_S)]
            yield from answered
            if not answered and self.handed[1:]:
                yield from self._taken_back(self.mate.doing())

    def rest(self) -> Iterator[Answered]:
        """Yield all answers that are still to come, and let the mate go."""
        try:
            yield from self._work(PIECE)
            for _, one in sorted(self.large, reverse=True):
                self.piece = [one]
                yield from self._work(0)
            yield from self.ready()
        finally:
            if self.mate is not None:
                self.mate.end()

    def _work(self, ahead: int) -> Iterator[Answered]:
        """Hand the piece at hand over where the mate has no more than so many files before it, else read it here."""
        piece, self.piece = self.piece, []
        self.taken += len(piece)
        if self.mate is None and not self.is_alone and (self.taken > WORTH_A_MATE or self.large[1:]):
            self.mate = self.host.mate(self._answer)
            self.is_alone = self.mate is None
        if self.mate is not None:
            yield from self._from_mate()
        if self.mate is not None and not self.is_alone and len(self.handed) <= ahead and self.mate.give(piece):
            self.handed += piece
        else:
            yield from self._read(piece)

    def _read(self, piece: List[File]) -> Iterator[Answered]:
        for path, limit in piece:
            yield path, self.host.attempt(self.host.sha256, path, limit)

    def _from_mate(self, wait_s: float = 0.0) -> Iterator[Answered]:
        """Yield what the mate answered since. What it left unanswered when it ended is read here."""
        for told in self.mate.answers(wait_s):
            yield self.handed.pop(0)[0], _read_back(told)
        if self.mate.is_gone:
            self.is_alone = True
            left, self.handed = self.handed, []
            yield from self._read(left)

    def _taken_back(self, doing: str) -> Iterator[Answered]:
        """Read here what waits in the mate's hands with a file that does not answer, and that file last."""
        left, self.handed = self.handed, []
        yield from self._read(sorted(left, key=lambda one: doing.endswith(one[0])))

    def _answer(self, note: Callable[[str], None], piece: List[File]) -> Iterator[str]:
        """Yield what the mate tells of each file of a piece."""
        self.host.asking = note
        for _, one in self._read(piece):
            yield "%s %s %s %s %s" % one if isinstance(one, Digest) else json.dumps(one)


def _read_back(told: str) -> Any:
    """Return an answer from the mate's line; what costs least for a Digest, of which there are thousands."""
    if told[0] not in "[n":
        sha256, size, mtime_ns, ctime_ns, inode = told.split(" ")
        return Digest(sha256, int(size), int(mtime_ns), int(ctime_ns), None if inode == "None" else int(inode))
    why = json.loads(told)
    return None if why is None else Unknown(*why)


def sha256_each(host: Host, files: Iterable[File]) -> Dict[str, Any]:
    """Return {path: Digest, None if absent, or Unknown} of files, each given with the most bytes that it may have."""
    hashing = Hashing(host)
    found = dict(one for path, limit in files for one in hashing.give(path, limit, limit))
    found.update(hashing.rest())
    return found

