"""Removes snapshots that no rule keeps; shows what would go unless told to delete."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.collection import Collection, close, layout, sort_all, sweep
from driftwatch.cli.wiring.desk import check_store, open_desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.output import answer
from driftwatch.store.retention import parse_rules


def command(
    ctx: typer.Context,
    *,
    keep: Annotated[str | None, typer.Option("--keep", metavar="RULES", help="last=30,daily=14,weekly=8; also hourly, monthly, yearly.")] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Really remove; without it nothing is changed.")] = False,
) -> int:
    """Show which snapshots no rule keeps, and with --delete remove them. What a tag names stays for ever; the newest, and the last day's, always do."""
    desk = open_desk(ctx)
    if keep is None:
        raise UsageFault("what is to stay?", do="driftwatch gc --keep last=30,daily=14,weekly=8   (shows; --delete removes)")
    check_store(desk)
    asked = Collection(parse_rules(keep), keep, is_real=delete)
    found = sort_all(asked, desk)
    swept = sweep(found, asked, desk)
    answer(desk, layout(found, swept, asked, desk))
    return close(found, swept, asked, desk)
