"""Removes a tag; the snapshot stays."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_ref
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.keeping import who
from driftwatch.cli.wiring.output import answer_either
from driftwatch.settings import utc_now
from driftwatch.store.labels import drop_label


def command(ctx: typer.Context, *, ref: Annotated[str, typer.Argument(metavar="HOST@TAG", autocompletion=complete_ref, help="The tag to remove.")]) -> int:
    """Remove a tag; the snapshot stays."""
    desk = open_desk(ctx)
    host, at, name = ref.rpartition("@")
    if not at or not host:
        raise UsageFault(f"{ref!r} names no tag", do="HOST@TAG, as in: driftwatch untag gpu-a@good")
    drop_label(desk.store, host, name, set_at=utc_now(), by=who())
    answer_either(desk, "", {"removed": ref})
    return 0
