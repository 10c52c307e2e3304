"""What one row of conda's world tells, whichever tool printed it: a name, a version, and where it came from. Pure text."""

from __future__ import annotations

from typing import Any

from driftwatch.agent.dist_metadata import canonical
from driftwatch.agent.probe import fact_path
from driftwatch.model import Unknown

NAME = r"_?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_])?"
BUILD = r"[A-Za-z0-9_.+]{1,80}"


def path_of(name: str, key: str) -> str:
    """Return the path of something that is known of a package; the underscore that some of conda's own names begin with stays."""
    return fact_path("packages", "_" * name.startswith("_") + canonical(name.lstrip("_")), key)


def add_row(facts: dict[str, Any], name: str, version: Any, **more: str | None) -> None:
    """Add a package's version and what else its row tells (channel, conda_build); a second row that says otherwise makes the version open."""
    path = path_of(name, "version")
    before = facts.get(path, version)
    is_other = before != version and not isinstance(version, Unknown) and not isinstance(before, Unknown)
    facts[path] = Unknown("error", f"the list names two versions: {before} and {version}") if is_other else before
    facts.update((path_of(name, key), value) for key, value in more.items() if value)
