"""Prints the experiment that would settle a diff: the control run, then single flips, surest and cheapest first, an undo for each. Runs nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_fact, complete_ref, complete_symptom
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
    log: Annotated[str | None, typer.Option("--log", metavar="FILE", help="The log of the broken run.")] = None,
    error: Annotated[str | None, typer.Option("--error", metavar="TEXT", help="The error, pasted.")] = None,
    symptom: Annotated[
        str | None, typer.Option("--symptom", metavar="CLASS", autocompletion=complete_symptom, help="How it fails: oom, hang, slow, ...")
    ] = None,
    rules: Annotated[list[str] | None, typer.Option("--rules", metavar="DIR", help="A folder of your own rules.")] = None,
    repo: Annotated[str | None, typer.Option("--repo", metavar="DIR", help="A clone: names the commits between the two HEADs.")] = None,
    read_as: Annotated[str | None, typer.Option("--as", metavar="KIND", help="Read pasted dumps as this kind: pip-list, env, ...")] = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="GLOB", autocompletion=complete_fact, help="Only changes whose path fits.")] = None,
    shell: Annotated[bool, typer.Option("--shell", help="As lines to paste into a shell.")] = False,
) -> int:
    """Print the experiment that would settle a diff: the control run, then single flips, surest and cheapest first, an undo for each. Runs nothing."""
    desk = open_desk(ctx)
    refs = pair_of_refs(good, bad, is_now=False)
    question = Question(*refs, log=log, error=error, klass=symptom, only=tuple(only or ()), rules=tuple(rules or ()), repo=repo, read_as=read_as)
    steps = plan(*explain_case(read_pair(question, desk), question, desk), question.only)
    answer(desk, as_json(steps) if desk.given.format == "json" else as_shell(steps, desk.page) if shell else as_text(steps, desk.page))
    return steps.exit_code
