"""Further culprits, as data (stories.json): what the two sides hold, which packages move, and the log in the words that libraries print.

Each is of a kind that public threads settled; ``accepts`` are kinds (several by ``|``) with a part of the name, ``null`` takes a fact away, and a
story without a log tells its class alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftwatch.model import Symptom
from driftwatch.symptom import classify
from tests.generated.culprits import MOVED_AT, Facts, Planted, Sides

STORIES: dict[str, dict[str, Any]] = {story["name"]: story for story in json.loads((Path(__file__).parent / "stories.json").read_text(encoding="utf-8"))}


def planter(name: str) -> Callable[[Sides], Planted]:
    """Return what plants a story into two sides."""
    story = STORIES[name]

    def plant(sides: Sides) -> Planted:
        sides.both({path: value for path, value in story.get("good", {}).items() if value is not None})
        for path in [path for path, value in story.get("good", {}).items() if value is None]:
            _drop(sides.good, path)
            _drop(sides.bad, path)
        for package, version in story.get("move", {}).items():
            if f"packages/{package}/version" not in sides.good:
                sides.both({f"packages/{package}/version": "1.0.0"})
            sides.move(package, version)
            sides.bad[f"packages/{package}/installed_at"] = MOVED_AT
        sides.bad.update(story.get("bad", {}))
        log = "".join(f"{line}\n" for line in story.get("log", ()))
        found = classify(log) if log else None
        if found is not None and found.klass not in ("slow", "hang"):
            sides.stop(found.signature or "")
        return Planted(tuple((kind, part) for kind, part in story["accepts"]), found or Symptom(story["class"]), log)

    return plant


def _drop(facts: Facts, path: str) -> None:
    facts.pop(path, None)
