"""What a rule is, and what it may find. A rule reads a case and never an operating system; its weights stand in ``weights.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, NotChecked, RuledOut, Subject, Sum, Term


class ExplainError(Exception):
    """A rule that cannot be used. The message says which, where and what to do."""


@dataclass(frozen=True)
class Wording:
    """How a suspect is told. ``verdict`` is its sentence for the top of the report; without one it is made of the fact and both values.

    ``is_one_host``: both values are of the bad side, and disagree there.
    """

    layer: str
    fact: str
    mark: str
    good: Any
    bad: Any
    verdict: str = ""
    carrier: str = ""
    commands: tuple[Command, ...] = ()
    sum: Sum | None = None
    is_one_host: bool = False


@dataclass(frozen=True)
class Evidence:
    """Terms for or against a subject. Without a wording it only adds to a subject that another finding words."""

    subject: Subject
    terms: tuple[Term, ...]
    wording: Wording | None = None


@dataclass(frozen=True)
class Doubt:
    """A reason why the good side was never good. It weighs against every suspect.

    Neither side could work with ``shared``: nothing of its kind is ruled out.
    """

    says: str
    facts: tuple[str, ...] = ()
    shared: Subject | None = None


Finding = Evidence | Doubt | RuledOut | NotChecked
Weigh = Callable[[Case], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """One kind of reasoning.

    ``needs`` are globs of the facts that must be known on both sides, ``needs_bad`` of those that must be known on the bad side; in one need,
    ``a|b`` means that either will do. Where a need is not met the engine answers *not checked* and ``weigh`` is not called. ``blames`` are the
    kinds of subject that it can bring up: they tell whether a gap in its facts could hide a suspect.
    """

    name: str
    needs: tuple[str, ...]
    weigh: Weigh
    blames: tuple[str, ...] = ()
    needs_bad: tuple[str, ...] = ()
