"""What an explanation says: plain frozen values, already worded. Every report is laid out from these (docs/explanation.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from driftwatch.compare.change import Change
from driftwatch.model import Symptom

Word = Literal["LIKELY", "SEVERAL", "DRIFT", "SAME", "UNKNOWN"]
Label = Literal["confirm", "look", "try", "undo", "retry"]


@dataclass(frozen=True)
class Subject:
    """A thing that can be blamed: a kind of docs/explanation.md and its own name."""

    kind: str
    name: str


@dataclass(frozen=True)
class Term:
    """One piece of evidence: a sentence, its weight in log-odds (+ for, - against, 0 an open question) and the facts it rests on.

    ``group`` is the part of the table of weights that it came from; two terms of one sentence and weight are equal whatever it is.
    """

    says: str
    weight: float
    facts: tuple[str, ...] = ()
    group: str = field(default="", compare=False)

    @property
    def sign(self) -> str:
        """Return ``+``, ``-`` or ``?`` as the weight is for, against, or open."""
        return "+" if self.weight > 0 else "-" if self.weight < 0 else "?"


@dataclass(frozen=True)
class Command:
    """A line to paste: confirm and look change nothing, try changes one thing, undo goes back, retry asks a probe again."""

    label: Label
    run: str
    note: str = ""


@dataclass(frozen=True)
class Sum:
    """A worked line of arithmetic: rows of (formula with numbers, result, remark) and one caption with units."""

    caption: str
    rows: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Suspect:
    """One hypothesis that the facts support. ``mark`` is ``~ + - !`` (disagrees inside one host) or ``?``; good and bad are JSON values.

    With ``is_one_host`` they are two values of the bad side that disagree there, else one of each side.

    ``verdict`` is its sentence for the top of a report, ``prior`` the log-odds before any evidence: with the weights of ``because`` it gives the confidence.
    """

    subject: Subject
    layer: str
    fact: str
    mark: str
    good: Any
    bad: Any
    confidence: float
    because: tuple[Term, ...]
    carrier: str = ""
    commands: tuple[Command, ...] = ()
    sum: Sum | None = None
    verdict: str = ""
    prior: float = 0.0
    is_one_host: bool = False

    @property
    def strength(self) -> str:
        """Return strong (>= 0.8), likely (>= 0.5) or weak."""
        return strength_of(self.confidence)


def strength_of(confidence: float) -> str:
    """Return a confidence as a word: strong (>= 0.8), likely (>= 0.5) or weak."""
    return "strong" if confidence >= 0.8 else "likely" if confidence >= 0.5 else "weak"


@dataclass(frozen=True)
class RuledOut:
    """A subject that someone would have suspected, read on both sides and equal. ``because`` is the proof."""

    subject: Subject
    because: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotChecked:
    """A question without an answer. ``matters`` tells whether it could hide a suspect; ``settle`` is the command that would settle it.

    ``is_named``: the error itself names the thing, so that nothing else stands out before it was looked at.
    """

    subject: Subject
    status: str
    side: Literal["good", "bad", "both"]
    reason: str
    settle: str = ""
    matters: bool = True
    detail: str = ""
    is_named: bool = False


@dataclass(frozen=True)
class Asked:
    """A hypothesis that the user named, and what became of it. A suspect without a rank differs, but no rule speaks for it."""

    asked: str
    answer: Literal["suspect", "ruled_out", "not_checked"]
    subject: Subject
    because: str
    rank: int | None = None
    confidence: float | None = None
    settle: str = ""
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Event:
    """Changes that happened together: a title and the changes it holds."""

    title: str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Side:
    """One snapshot of the pair, as a reader needs it. ``outcome`` says how the server did there, as far as is known."""

    host: str | None
    taken_at: str | None
    id: str | None
    source: str
    ref: str
    outcome: str
    answered: int
    planned: int
    facts: int


@dataclass(frozen=True)
class Explanation:
    """The whole answer.

    ``standing_gaps`` are questions unanswered on both sides for the same reason, as (what, command that would close it); ``gaps_settle`` is
    one command for all of them. ``doubts`` say why the good side was never good; the verdict tells the first of them.
    """

    good: Side
    bad: Side
    symptom: Symptom | None
    symptom_from: str | None
    word: Word
    verdict: str
    suspects: tuple[Suspect, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    changes: tuple[Change, ...] = ()
    events: tuple[Event, ...] = ()
    standing_gaps: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    gaps_settle: str = ""
    asked: tuple[Asked, ...] = ()

    @property
    def exit_code(self) -> int:
        """Return the exit code that goes with the word: SAME 0; LIKELY, SEVERAL, DRIFT 1; UNKNOWN 3."""
        return {"SAME": 0, "UNKNOWN": 3}.get(self.word, 1)
