"""Tags a stored snapshot, so that HOST@NAME means it from now on."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_ref
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import answer
from driftwatch.cli.wiring.sides import stored_entry
from driftwatch.settings import utc_now
from driftwatch.store.labels import set_label
from driftwatch.store.names import check_label


def command(
    ctx: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A small letter, then small letters, digits and dashes.")],
    ref: Annotated[str, typer.Argument(metavar="REF", autocompletion=complete_ref, help="The stored snapshot, as in gpu-a@last.")],
    note: Annotated[str, typer.Option("--note", metavar="TEXT", show_default=False, help="Why.")] = "",
) -> int:
    """Tag a stored snapshot and print its new reference. A tag of that name on another snapshot of the host moves."""
    desk = open_desk(ctx)
    entry = stored_entry(ref, desk, check_label(name))
    set_label(desk.store, entry, name, set_at=utc_now(), note=note)
    answer(desk, desk.page.say(f"{entry.host}@{name}") + "\n")
    return 0
