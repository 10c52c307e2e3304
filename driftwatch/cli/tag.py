"""Tags a stored snapshot, so that HOST@NAME means it from now on."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_ref, complete_tag
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.keeping import who
from driftwatch.cli.wiring.output import answer_either
from driftwatch.cli.wiring.sides import stored_entry
from driftwatch.settings import utc_now
from driftwatch.store.labels import label_names, load_label, set_label
from driftwatch.store.names import check_label
from driftwatch.store.records import Label


def command(
    ctx: typer.Context,
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=complete_tag, help="A small letter, then small letters, digits and dashes.")],
    ref: Annotated[str, typer.Argument(metavar="REF", autocompletion=complete_ref, help="The stored snapshot, as in gpu-a@last.")],
    note: Annotated[str, typer.Option("--note", metavar="TEXT", show_default=False, help="Why.")] = "",
) -> int:
    """Tag a stored snapshot and print its new reference. A tag of that name on another snapshot of the host moves."""
    desk = open_desk(ctx)
    entry = stored_entry(ref, desk, check_label(name))
    before = load_label(desk.store, entry.host, name) if name in label_names(desk.store, entry.host) else None
    set_label(desk.store, entry, name, set_at=utc_now(), note=note, by=who())
    if before is not None and before.file != str(entry.name):
        desk.say(f"note: {name} stood on {entry.host}@{before.id}{_since(before)}; driftwatch list {entry.host} keeps that")
    answer_either(desk, desk.page.say(f"{entry.host}@{name}") + "\n", {"ref": f"{entry.host}@{name}", "id": entry.name.short_id, "note": note})
    return 0


def _since(label: Label) -> str:
    """Return when and by whom a label was set."""
    return f" since {label.set_at}" + (f" by {label.by}" if label.by else "")
