"""The nouns of the agent: a probe, a fact, and the ways in which a question can fail to be answered.

Knows no operating system. A collector yields ``(path, value)``; a path names things by identity (GPU UUID, canonical package name, server
role and rank), never by position or PID.
"""
from __future__ import annotations

from .typed import Any, Callable, Iterator, NamedTuple, Tuple

STATUSES = ("ok", "absent", "denied", "timeout", "error", "died", "lost", "not_recorded")

Fact = Tuple[str, Any]


class Unknown(NamedTuple):
    """A question that got no answer: its status (denied, timeout, error, died, lost, not_recorded) and why, naming file, tool or call."""

    status: str
    reason: str


class Refusal(Exception):
    """A question that the host did not answer with a value. The runner turns it into the probe's status, ``Host.attempt`` into a value."""

    status = "error"


class Absent(Refusal):
    """The host has no such thing: knowledge, not ignorance."""

    status = "absent"


class Denied(Refusal):
    """The host has it or may have it, and we may not look."""

    status = "denied"


class TimedOut(Refusal):
    """The host did not answer in time."""

    status = "timeout"


class NotRecorded(Refusal):
    """A recorded host whose recorder never looked there."""

    status = "not_recorded"


class Unreadable(Refusal):
    """An answer came, but it is none: an I/O error, not a regular file, cut, too large, or text that no parser understands."""

    status = "error"


def refusal(why: Unknown) -> Refusal:
    """Return what to raise for a refusal that was told as a value."""
    return next((kind for kind in Refusal.__subclasses__() if kind.status == why.status), Refusal)(why.reason)


class Probe(NamedTuple):
    """A question with a deadline. ``tells`` are globs of all paths that it may yield; no other probe may tell them.

    ``volatile`` are globs of its facts that change by themselves. ``group`` is "" for the default set, else the word that ``--with`` takes.
    ``early_term_s``: how long before the deadline a SIGTERM comes (0: at the deadline). ``cap_bytes`` bounds what it may tell.
    ``reads`` says in words what it looks at; ``root_shows`` what it could add as root ("" if nothing).
    """

    name: str
    collect: Callable[[Any], Iterator[Fact]]
    deadline_s: float
    tells: Tuple[str, ...]
    reads: str
    volatile: Tuple[str, ...] = ()
    needs_targets: bool = False
    group: str = ""
    early_term_s: float = 0.0
    cap_bytes: int = 1 << 20
    root_shows: str = ""


def part(name: str) -> str:
    """Return a name as one part of a path: ``/`` and ``%`` are escaped."""
    return name.replace("%", "%25").replace("/", "%2F")


def fact_path(*names: str) -> str:
    """Return the path whose parts are these names."""
    return "/".join(part(name) for name in names)
