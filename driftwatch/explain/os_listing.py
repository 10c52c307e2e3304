"""Packages of the operating system that a list in order passes over: it may end early, and shows all names up to its last, so they are not installed."""

from __future__ import annotations

from driftwatch.explain.case import Case
from driftwatch.model import Unknown

TOP = "os_packages_listed"


def gone(case: Case) -> list[str]:
    """Return the facts of packages that the good side lists and the bad side's list passes over, in their order."""
    last, like = case.value("bad", f"{TOP}/to"), case.value("bad", f"{TOP}/like")
    if not isinstance(last, str) or not isinstance(like, list) or not all(map(_are_words, like)):
        return []
    listed = (path for path, _ in case.below("good", "os_packages") if path.endswith("/version") and isinstance(case.bad.get(path), Unknown))
    return [path for path in listed if (name := path.split("/")[1]) < last and all(any(word in name for word in words) for words in like)]


def _are_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
