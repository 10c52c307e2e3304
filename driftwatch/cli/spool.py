"""Lists snapshots that their store did not take, and delivers them."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import answer
from driftwatch.cli.wiring.spooled import close, deliver_all, layout, waiting_rows
from driftwatch.settings import spool_folder
from driftwatch.store.spool import Spool


def command(
    ctx: typer.Context,
    *,
    deliver: Annotated[bool, typer.Option("--deliver", help="Take each to the store that it is for.")] = False,
) -> int:
    """List the snapshots that wait on this machine because their store did not take them; with --deliver take them there. The next snapshot does so too."""
    desk = open_desk(ctx)
    spool = Spool(spool_folder())
    rows = deliver_all(spool, desk) if deliver else waiting_rows(spool)
    answer(desk, layout(rows, desk))
    return close(rows, desk)
