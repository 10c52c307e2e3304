"""One short question to a local program, such as sinfo or ssh -G: bounded like a stream, and like it without anything left running."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .child import converse
from .conversation import Conversation
from .wire import LinkLost, Shipment

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Answer:
    """What a program said. ``code`` is None where it did not end in time."""

    code: int | None
    said: str
    complaints: str


class _Question(Conversation):
    """Keeps what comes, and waits for the program's end."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(Shipment("question", (), lambda _: b""), wait_s)
        self.stop = self.deadline
        self.outgoing = bytearray()
        self.said = bytearray()
        self.code: int | None = None
        self.is_done = False

    def hear(self, piece: bytes) -> list[dict[str, Any]]:
        """Keep a piece of the answer; it holds no frames."""
        self.said += piece
        if len(self.said) > MOST_BYTES:
            raise LinkLost(f"the answer was longer than {MOST_BYTES >> 20} MiB and was cut off", "look at what that program prints")
        return []

    def judge(self, code: int) -> LinkLost:
        """Note the exit code."""
        self.code, self.is_done = code, True
        return LinkLost(f"ended with {code}")

    def lost_at_deadline(self) -> LinkLost:
        """Return what ends the question without an answer."""
        self.is_done = True
        return LinkLost("no answer in time")


def ask(argv: Sequence[str], wait_s: float) -> Answer:
    """Return what a program answers in ``wait_s`` seconds. LinkLost where it cannot be started or floods."""
    question = _Question(wait_s)
    try:
        for _ in converse(argv, question, question.judge):
            pass
    except LinkLost:
        if not question.is_done:
            raise
    return Answer(question.code, *(text.decode("utf-8", "replace") for text in (question.said, question.complaints)))
