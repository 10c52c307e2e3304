"""What of an explanation is shown where only some facts are asked for. The explanation itself, its verdict too, is of all that differs."""

from __future__ import annotations

from dataclasses import replace

from driftwatch.explain.explanation import Event, Explanation, Suspect
from driftwatch.model import matches


def narrowed(explanation: Explanation, globs: tuple[str, ...]) -> Explanation:
    """Return the explanation with the suspects, the ruled out, the changes and the events alone that have to do with a fact that fits a glob."""
    events = (Event(one.title, tuple(change for change in one.changes if matches(change.path, globs))) for one in explanation.events)
    return replace(
        explanation, suspects=tuple(one for one in explanation.suspects if any(matches(path, globs) for path in _facts(one))),
        ruled_out=tuple(one for one in explanation.ruled_out if any(matches(path, globs) for path in one.facts)),
        changes=tuple(change for change in explanation.changes if matches(change.path, globs)), events=tuple(one for one in events if one.changes),
    )


def _facts(suspect: Suspect) -> set[str]:
    """Return the facts that speak for a suspect."""
    return {fact for term in suspect.because if term.weight > 0 for fact in term.facts}
