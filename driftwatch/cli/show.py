"""Shows the facts of one snapshot as lines of path and value."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_ref
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import answer
from driftwatch.cli.wiring.showing import as_json, as_text, code_of, pick
from driftwatch.cli.wiring.sides import read_one


def command(
    ctx: typer.Context,
    *,
    ref: Annotated[str, typer.Argument(metavar="REF", autocompletion=complete_ref, help="HOST@last, HOST@TAG, HOST@DATE, a path with a slash, or -.")],
    glob: Annotated[str | None, typer.Argument(metavar="[GLOB]", help="Only facts whose path fits, as in 'packages/*/version'.")] = None,
    read_as: Annotated[str | None, typer.Option("--as", metavar="KIND", help="Read a pasted dump as this kind: pip-list, env, ...")] = None,
) -> int:
    """Show the facts of one snapshot, one a line, as path and value; those that could not be read with the reason."""
    desk = open_desk(ctx)
    snapshot = read_one(ref, desk, read_as)
    shown = pick(snapshot, glob)
    answer(desk, as_json(snapshot, shown, glob) if desk.given.format == "json" else as_text(shown, desk.page))
    return code_of(shown)
