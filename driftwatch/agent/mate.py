"""A child beside a probe's own that answers questions of one kind at the same time. Hashing small files holds the interpreter's lock: threads do not help.

It ends when its questions end, also by the death of who asked. Where it hangs, the probe's deadline ends both: the runner ends all below a probe's child.
"""
from __future__ import annotations

import json
import mmap
import os
import select

from . import processes
from .typed import Any, Callable, Iterator, List, NoReturn, Tuple

LONGEST = 4096  # of the line of a question: the kernel takes one of this length whole or not at all
NOTE_BYTES = 1024
GRACE_S = 0.5
Answer = Callable[[Callable[[str], None], Any], Iterator[str]]


class Mate:
    """Answers JSON questions in the order in which they are given. ``answer(note, question)`` runs in the child and yields lines, told when the last is there.

    ``note`` takes what it is about to do, which ``doing`` gives.
    """

    def __init__(self, answer: Answer) -> None:
        self.page = mmap.mmap(-1, NOTE_BYTES)
        ends: List[int] = []
        try:
            for _ in range(2):
                ends.extend(os.pipe())
            self.pid = os.fork()
        except OSError:
            for end in ends:
                os.close(end)
            raise
        theirs, self.questions, self.answered, back = ends
        if self.pid == 0:
            os.close(self.questions)
            os.close(self.answered)
            self._serve(answer, (theirs, back))
        os.close(theirs)
        os.close(back)
        os.set_blocking(self.questions, False)
        os.set_blocking(self.answered, False)
        self.rest = b""
        self.is_gone = False

    def give(self, question: Any) -> bool:
        """Hand over a question; tell whether there was room for it."""
        line = json.dumps(question).encode("ascii") + b"\n"
        try:
            return len(line) <= LONGEST and os.write(self.questions, line) == len(line)
        except OSError:
            return False

    def answers(self, wait_s: float = 0.0) -> List[str]:
        """Return what has been answered since; waits at most so long for the first. ``is_gone`` is true once no more can come."""
        ready = select.select([self.answered], [], [], wait_s)[0]
        data = os.read(self.answered, 1 << 16) if ready else b""
        self.is_gone = bool(ready) and not data
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [line.decode("ascii") for line in lines]

    def doing(self) -> str:
        """Return what it noted last."""
        return self.page[:].split(b"\0", 1)[0].decode("utf-8", "replace")

    def end(self) -> None:
        """End it and collect it."""
        os.close(self.questions)
        os.close(self.answered)
        processes.end_tree(self.pid, GRACE_S)

    def _note(self, text: str) -> None:
        data = text.encode("utf-8", "replace")[: NOTE_BYTES - 1] + b"\0"
        self.page[: len(data)] = data

    def _serve(self, answer: Answer, pipes: Tuple[int, int]) -> NoReturn:
        """Answer until the questions end. A failure ends it, and who asked asks itself."""
        questions, back = pipes
        rest = b""
        try:
            while True:
                data = os.read(questions, 1 << 16)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    view = memoryview("".join([told + "\n" for told in answer(self._note, json.loads(line))]).encode("ascii"))
                    while view:
                        view = view[os.write(back, view):]
        finally:
            os._exit(0)
