"""Shows one snapshot on a page, or single facts of it as lines of path and value."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_fact, complete_ref
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import answer, without_names
from driftwatch.cli.wiring.showing import FORMATS, check_use, facts_as_json, show_facts, show_whole
from driftwatch.cli.wiring.sides import read_one


def command(
    ctx: typer.Context,
    *,
    ref: Annotated[str, typer.Argument(metavar="REF", autocompletion=complete_ref, help="HOST@last, HOST@TAG, HOST@DATE, a path with a slash, or -.")],
    facts: Annotated[
        list[str] | None, typer.Argument(metavar="[FACT...]", autocompletion=complete_fact, help="Only these: paths or globs such as 'packages/*/version'.")
    ] = None,
    is_bare: Annotated[bool, typer.Option("--value", help="Only the values of the facts named, one a line.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every fact, one a line.")] = False,
    read_as: Annotated[str | None, typer.Option("--as", metavar="KIND", help="Read a pasted dump as this kind: pip-list, env, ...")] = None,
    is_anonymous: Annotated[bool, typer.Option("--anonymise", help="Stand-ins for hosts, addresses, users, home folders, UUIDs, serials.")] = False,
) -> int:
    """Show one snapshot on a page; with FACTs those alone, as path and value, what is not known on standard error (exit 3)."""
    desk = open_desk(ctx, FORMATS)
    check_use(facts or (), desk, is_bare=is_bare)
    snapshot = read_one(ref, desk, read_as)
    snapshot = without_names(snapshot, (snapshot,)) if is_anonymous else snapshot
    if not facts:
        answer(desk, show_whole(snapshot, desk, has_all=everything))
        return 0
    text, code = facts_as_json(snapshot, facts) if desk.given.format == "json" else show_facts(snapshot, facts, desk, is_bare=is_bare)
    answer(desk, text)
    return code
