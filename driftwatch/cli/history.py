"""Tells when a fact of a host changed, between which snapshots, and what else changed with it."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring import chronicles
from driftwatch.cli.wiring.completing import complete_fact, complete_host
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import answer
from driftwatch.cli.wiring.stored import parse_age

FORMATS = chronicles.FORMATS


def command(
    ctx: typer.Context,
    *,
    host: Annotated[str, typer.Argument(metavar="HOST", autocompletion=complete_host, help="The host whose snapshots to follow.")],
    facts: Annotated[
        list[str] | None, typer.Argument(metavar="[FACT...]", autocompletion=complete_fact, help="Paths or globs; without one, all changes by snapshot.")
    ] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="AGE", help="Only what is at most so old: 12h, 30d, 8w.")] = None,
    is_brief: Annotated[bool, typer.Option("--changes-only/--every", help="Only rows that say something new, or every snapshot.")] = True,
    is_window: Annotated[bool, typer.Option("--window", help="The last good one, the first bad one, and what changed between.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="With --window: every change.")] = False,
    is_anonymous: Annotated[bool, typer.Option("--anonymise", help="Stand-ins for hosts, addresses, users, home folders, UUIDs, serials.")] = False,
) -> int:
    """Tell when facts of a host changed, between which snapshots, and what else changed with them; newest first."""
    desk = open_desk(ctx, FORMATS)
    moments = chronicles.moments_of(host, parse_age(since) if since else "", desk)
    if is_anonymous:
        moments, host = chronicles.without_names_of(moments, host)
    code = 0
    if desk.given.format == "html":
        text = chronicles.draw(moments, host, facts or (), desk.page)
    elif is_window:
        text, code = chronicles.show_window(moments, host, desk, is_whole=everything)
    elif facts:
        text, code = chronicles.show_facts(moments, facts, desk, is_whole=not is_brief)
    else:
        text = chronicles.show_steps(moments, desk, is_whole=not is_brief)
    answer(desk, text)
    return code
