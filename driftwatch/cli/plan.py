"""Prints the experiment that would settle a diff: the control run, then single flips, cheapest first, an undo for each. Runs nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_fact, complete_ref
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.diffing import Question, explain_case, pair_of_refs, read_pair
from driftwatch.cli.wiring.output import answer
from driftwatch.explain.plan import plan
from driftwatch.report.plan import as_json, as_shell, as_text


def command(
    ctx: typer.Context,
    *,
    good: Annotated[
        str, typer.Argument(metavar="GOOD", autocompletion=complete_ref, help="The working one: HOST@TAG, a path with a slash, or a HOST for HOST@good.")
    ],
    bad: Annotated[str | None, typer.Argument(metavar="[BAD]", autocompletion=complete_ref, help="The broken one; without it, HOST@last.")] = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="GLOB", autocompletion=complete_fact, help="Only changes whose path fits.")] = None,
    shell: Annotated[bool, typer.Option("--shell", help="As lines to paste into a shell.")] = False,
) -> int:
    """Print the experiment that would settle a diff: the control run first, then single flips, cheapest first, with an undo for each. Runs nothing."""
    desk = open_desk(ctx)
    question = Question(*pair_of_refs(good, bad, is_now=False), only=tuple(only or ()))
    steps = plan(*explain_case(read_pair(question, desk), question, desk), question.only)
    answer(desk, as_json(steps) if desk.given.format == "json" else as_shell(steps, desk.page) if shell else as_text(steps, desk.page))
    return steps.exit_code
