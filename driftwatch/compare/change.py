"""What a comparison says: a change of one fact between two snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from driftwatch.model import Answer

Kind = Literal["changed", "added", "removed", "unknown"]


@dataclass(frozen=True, slots=True)
class Change:
    """One fact that is not the same on both sides.

    ``kind`` is ``unknown`` where a side could not be read (then that side is :class:`~driftwatch.model.Unknown`). ``is_folded``: the fact is
    volatile, or only follows from another change, whose path is ``follows``. ``detail`` words how two nested values differ, else it is empty.
    A path ``probes/NAME`` stands for a whole probe that did not answer.
    """

    path: str
    kind: Kind
    good: Answer
    bad: Answer
    is_folded: bool = False
    follows: str | None = None
    detail: str = ""
