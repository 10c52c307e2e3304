"""Explains what changed between a working and a broken snapshot, and which change did it."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_fact, complete_ref, complete_symptom
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.diffing import Question, explain_pair, pair_of_refs, read_pair
from driftwatch.cli.wiring.formats import load_render, report_formats
from driftwatch.cli.wiring.oddities import note_oddities
from driftwatch.cli.wiring.output import answer, without_names

FORMATS = report_formats()


def command(
    ctx: typer.Context,
    *,
    good: Annotated[
        str | None, typer.Argument(metavar="[GOOD]", autocompletion=complete_ref, help="The working one: HOST@TAG, a path, or a HOST for HOST@good.")
    ] = None,
    bad: Annotated[str | None, typer.Argument(metavar="[BAD]", autocompletion=complete_ref, help="The broken one; without it, HOST@last.")] = None,
    goods: Annotated[list[str] | None, typer.Option("--good", metavar="REF", autocompletion=complete_ref, help="Instead: a working one of several.")] = None,
    bads: Annotated[list[str] | None, typer.Option("--bad", metavar="REF", autocompletion=complete_ref, help="A broken one of several.")] = None,
    now: Annotated[bool, typer.Option("--now", help="Take the broken one now, of the same host.")] = False,
    log: Annotated[str | None, typer.Option("--log", metavar="FILE", help="The log of the broken run.")] = None,
    error: Annotated[str | None, typer.Option("--error", metavar="TEXT", help="The error, pasted.")] = None,
    symptom: Annotated[
        str | None, typer.Option("--symptom", metavar="CLASS", autocompletion=complete_symptom, help="How it fails: oom, hang, slow, ...")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every suspect and every change.")] = False,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="GLOB", autocompletion=complete_fact, help="Only changes whose path fits.")] = None,
    ask: Annotated[list[str] | None, typer.Option("--ask", metavar="SUBJECT", help="Was it this? A package, an argument, driver, nccl, ...")] = None,
    repo: Annotated[str | None, typer.Option("--repo", metavar="DIR", help="A clone: names the commits between the two HEADs.")] = None,
    read_as: Annotated[str | None, typer.Option("--as", metavar="KIND", help="Read pasted dumps as this kind: pip-list, env, ...")] = None,
    rules: Annotated[list[str] | None, typer.Option("--rules", metavar="DIR", help="A folder of your own rules.")] = None,
    is_anonymous: Annotated[bool, typer.Option("--anonymise", help="Stand-ins for hosts, addresses, users, home folders, UUIDs, serials.")] = False,
) -> int:
    """Explain what changed between a working and a broken snapshot: suspects, what is ruled out, what could not be checked."""
    desk = open_desk(ctx, FORMATS)
    refs = pair_of_refs(good, bad, is_now=now, has_sets=bool(goods or bads))
    sets = (tuple(goods or ()), tuple(bads or ()))
    question = Question(*refs, now, log, error, symptom, tuple(only or ()), tuple(rules or ()), repo, read_as, tuple(ask or ()), *sets)
    pair = read_pair(question, desk)
    note_oddities(pair, desk)
    explanation = explain_pair(pair, question, desk)
    if is_anonymous:
        explanation = without_names(explanation, (pair.good, pair.bad))
    render = load_render(desk.given.format, is_whole=everything, is_brief=desk.given.quiet, has_weights=desk.given.verbose > 0)
    answer(desk, render(explanation, desk.page))
    if pair.failed is not None:
        raise pair.failed
    return explanation.exit_code
