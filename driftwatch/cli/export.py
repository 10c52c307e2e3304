"""Gives one snapshot back as a whole plain file, byte for byte as a folder store holds it."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_ref
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import print_text, write_file
from driftwatch.cli.wiring.plain import plain_file


def command(
    ctx: typer.Context,
    *,
    ref: Annotated[str, typer.Argument(metavar="REF", autocompletion=complete_ref, help="HOST@last, HOST@TAG, HOST@DATE, a path with a slash, or -.")],
) -> int:
    """Give one snapshot back as a whole plain file, on standard output or in the file of --out; its signature goes beside that file."""
    desk = open_desk(ctx)
    found = plain_file(ref, desk)
    if desk.given.out in (None, "-"):
        print_text(found.data.decode("ascii"))
        return 0
    write_file(str(desk.given.out), found.data)
    if found.signature is not None:
        write_file(f"{desk.given.out}.sig", found.signature)
        desk.say(f"its signature is in {desk.given.out}.sig")
    return 0
