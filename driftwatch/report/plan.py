"""A plan as text, as lines for a shell, or as JSON. Only lays out. What is printed for a shell does nothing when it is run as a whole."""

from __future__ import annotations

import json
from typing import Any

from driftwatch.explain.flips import Step
from driftwatch.explain.plan import LASTS, Plan
from driftwatch.explain.words import count, listed
from driftwatch.report.page import Page, measure, pad

NUMBER_COLUMNS, COST_COLUMNS, LAST_COLUMNS = 3, 10, 8
NOTHING = "nothing that differs can be taken back: there is nothing to try"


def as_text(plan: Plan, page: Page) -> str:
    """Return the steps, one after the other with what undoes each, ending with a line feed."""
    if not plan.steps:
        return page.say(NOTHING) + "\n"
    lines = [line for number, step in enumerate(plan.steps) for line in _step(number, step, page)]
    return "\n".join(line.rstrip() for line in [*lines, *_untouched(plan, page), *page.wrap(_counts(plan), "", "")]) + "\n"


def _step(number: int, step: Step, page: Page) -> list[str]:
    lead = f"{number:<{NUMBER_COLUMNS}}{step.cost:<{COST_COLUMNS}}"
    lasts = LASTS[step.cost]
    first, *more = _narrow(page).wrap(step.says, lead, " " * len(lead))
    heading = pad(first, page.room - measure(lasts)) + lasts
    lines = [page.paint("head", heading), *more]
    indent = NUMBER_COLUMNS + COST_COLUMNS
    for label, rows in (("try", step.lines), ("undo", step.undo)):
        lines += [line for row in rows for line in page.command(label, row, "", indent)]
    return lines + ([page.paint("dim", line) for line in page.wrap(step.note, " " * indent, " " * indent)] if step.note else [])


def _narrow(page: Page) -> Page:
    """Return the page without the column that tells how long a step lasts."""
    return Page(page.room - LAST_COLUMNS - 1, color=page.color, unicode=page.unicode)


def _untouched(plan: Plan, page: Page) -> list[str]:
    if not plan.untouched:
        return [""]
    return ["", *page.wrap(f"? differs too, and no step takes it back: {listed(plan.untouched, 6)}", "", "  ")]


def _counts(plan: Plan) -> str:
    return f"{count(len(plan.steps) - 1, 'step')} after the control run; nothing was run; do one at a time, and undo it before the next · exit {plan.exit_code}"


def as_shell(plan: Plan, page: Page) -> str:
    """Return the steps as lines to paste: each step's lines live, its undo behind ``#``, and before all of it an end."""
    lines = ["#!/bin/sh", f"# {plan.good_ref} against {plan.bad_ref}: paste one step, start the server, look, undo it, then the next", "exit 0"]
    for number, step in enumerate(plan.steps):
        lines += ["", f"# {number} {step.cost} ({LASTS[step.cost]}): {step.says}", *([f"# {step.note}"] if step.note else []), *step.lines]
        lines += [f"# undo: {line}" for line in step.undo]
    return "".join(page.say(line) + "\n" for line in lines)


def as_json(plan: Plan) -> str:
    """Return the plan as JSON."""
    document = {
        "good": plan.good_ref, "bad": plan.bad_ref, "steps": [_document(number, step) for number, step in enumerate(plan.steps)],
        "untouched": list(plan.untouched), "exit_code": plan.exit_code,
    }
    return json.dumps(document, indent=1) + "\n"


def _document(number: int, step: Step) -> dict[str, Any]:
    return {
        "number": number, "kind": step.cost, "lasts": LASTS[step.cost], "says": step.says, "try": list(step.lines), "undo": list(step.undo),
        "note": step.note, "confidence": step.confidence,
    }
