"""What only one of two profiles looks for: other variables, other modules' own versions. Where the other side does not tell such a fact, it was not asked."""

from __future__ import annotations

from driftwatch.agent.secret_names import is_shown
from driftwatch.model import Answer, Known, Snapshot, Unknown

_USUAL = "sglang"
_CHOSEN = ("text_version", "text_file", "imported_version", "imported_file")


def sides_asked(good: Snapshot, bad: Snapshot, path: str) -> tuple[Answer, Answer] | None:
    """Return both answers to a fact that only the profile of one side looks for; None where both sides looked for it, or both tell it."""
    if _profile(good) == _profile(bad) or not _is_chosen(path):
        return None
    answers = good.get(path), bad.get(path)
    lacking = [side for side, found in zip((good, bad), answers, strict=True) if found == Known(None)]
    if len(lacking) != 1 or not _has_owner(lacking[0], path):
        return None
    why = Unknown("not_recorded", f"not asked: taken with profile {_profile(lacking[0])}")
    return (why, answers[1]) if lacking[0] is good else (answers[0], why)


def _profile(side: Snapshot) -> str:
    return str(side.extra.get("profile") or _USUAL)


def _is_chosen(path: str) -> bool:
    """Tell whether a profile chooses this fact: a variable beyond those that every snapshot tells, or a module's own version."""
    parts = path.split("/")
    if "packages" in parts[:3]:
        return parts[-1] in _CHOSEN
    return len(parts) > 1 and parts[-2] == "env" and not is_shown(parts[-1])


def _has_owner(side: Snapshot, path: str) -> bool:
    """Tell whether the thing itself is there: where a distribution is gone, its own version is gone and not unasked."""
    top, _, last = path.rpartition("/")
    return last not in _CHOSEN or side.get(f"{top}/version") != Known(None)
