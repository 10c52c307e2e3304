"""Lists what is stored: hosts, or the snapshots of one host with their tags."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_host
from driftwatch.cli.wiring.desk import check_store, open_desk
from driftwatch.cli.wiring.output import answer
from driftwatch.cli.wiring.stored import host_rows, layout, parse_age, snapshot_rows


def command(
    ctx: typer.Context,
    *,
    host: Annotated[str | None, typer.Argument(metavar="[HOST]", autocompletion=complete_host, help="The host whose snapshots to list.")] = None,
    since: Annotated[str | None, typer.Option(metavar="AGE", help="Only what is at most so old: 12h, 30d, 8w.")] = None,
) -> int:
    """List what is stored: hosts, or the snapshots of one host with their tags, newest first."""
    desk = open_desk(ctx)
    if desk.given.store is not None:
        check_store(desk)
    oldest = parse_age(since) if since else ""
    rows = host_rows(desk.store, oldest) if host is None else snapshot_rows(desk.store, host, oldest)
    answer(desk, layout(rows, desk, since))
    return 0
