"""What `doctor` finds: the stages on the way to a host's facts, each with how it went, its time, and what would mend it. Values and words only."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from driftwatch.transports.steps import STEPS

PYTHON, AGENT, NVML = "python", "agent", "NVML"
STAGES = (*STEPS, PYTHON, AGENT, NVML)
OK, FAILED, APART, UNTRIED = "ok", "failed", "not told apart", "not tried"
MARKS = {OK: "=", FAILED: "x", APART: ".", UNTRIED: "?"}


@dataclass(frozen=True)
class Stage:
    """One stage: its outcome, the seconds that it took (None: it was not tried by itself), what was found, and what to do."""

    name: str
    outcome: str
    elapsed_s: float | None = None
    said: str = ""
    do: str = ""


@dataclass(frozen=True)
class Examined:
    """A destination as the user wrote it, with all its stages."""

    dest: str
    stages: tuple[Stage, ...]

    @property
    def is_well(self) -> bool:
        """Tell whether every stage that can be told was passed."""
        return all(stage.outcome in (OK, APART) for stage in self.stages)


def untried(names: Sequence[str]) -> list[Stage]:
    """Return stages that were not reached."""
    return [Stage(name, UNTRIED) for name in names]


def rows_of(one: Examined) -> list[list[str]]:
    """Return the lines of a table about a destination."""
    rows = []
    for (outcome, said, _), stages in itertools.groupby(one.stages, _likeness):
        group = list(stages)
        lead = f"{MARKS[outcome]} {', '.join(stage.name for stage in group)}"
        if group[0].elapsed_s is None:
            rows.append([f"{lead}: {said or outcome}"])
            continue
        rows.append([lead, f"{group[0].elapsed_s * 1000:.0f} ms", said or outcome])
        rows += [["", "", f"do: {stage.do}"] for stage in group if stage.do]
    return rows


def _likeness(stage: Stage) -> tuple[str, str, str]:
    """Return what neighbours must share to stand on one line: those that were not tried, for one reason."""
    return stage.outcome, stage.said, "" if stage.elapsed_s is None else stage.name


def document_of(one: Examined) -> dict[str, Any]:
    """Return a destination as JSON has it."""
    stages = [{"stage": stage.name, "outcome": stage.outcome, "elapsed_s": None if stage.elapsed_s is None else round(stage.elapsed_s, 3), "said": stage.said,
               "do": stage.do} for stage in one.stages]
    return {"dest": one.dest, "answered": one.is_well, "stages": stages}
