"""Acknowledges drift that an audit told, so that it is not told again until it changes."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.acknowledging import acknowledge, meant
from driftwatch.cli.wiring.completing import complete_fact, complete_host
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import answer
from driftwatch.store import nights


def command(
    ctx: typer.Context,
    *,
    what: Annotated[list[str], typer.Argument(metavar="WHAT...", autocompletion=complete_host, help="A letter of the last audit, or hosts as for audit.")],
    only: Annotated[list[str] | None, typer.Option("--only", metavar="GLOB", autocompletion=complete_fact, help="Only differences whose path fits.")] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", show_default=False, help="Why.")] = "",
) -> int:
    """Acknowledge drift, so that no audit tells it again until it changes. Prints the host and the path of each."""
    desk = open_desk(ctx)
    with nights.locked(desk.store.root):
        found = acknowledge(meant(what, desk), tuple(only or ()), note, desk)
    answer(desk, found)
    return 0
