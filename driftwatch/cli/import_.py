"""Stores what somebody pasted: the dump of another tool, as a snapshot of a host."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated

import typer

from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.keeping import Keeping, keep
from driftwatch.cli.wiring.output import print_text
from driftwatch.cli.wiring.sides import read_one
from driftwatch.settings import utc_now
from driftwatch.store.names import check_host, check_label


def command(
    ctx: typer.Context,
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A pasted dump: a path with a slash, or - for standard input.")],
    host: Annotated[str, typer.Option("--host", metavar="NAME", help="Whose it is.")],
    label: Annotated[str | None, typer.Option("--label", metavar="TAG", help="Tag it, as in HOST@TAG.")] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", show_default=False, help="Words kept with it.")] = "",
    read_as: Annotated[str | None, typer.Option("--as", metavar="KIND", help="Read it as this kind: pip-list, env, ...")] = None,
) -> int:
    """Store a pasted dump as a snapshot of a host and print its reference. Where the dump tells no time, that of the import stands."""
    desk = open_desk(ctx)
    keeping = Keeping(check_label(label) if label is not None else None, note, desk.given.out)
    check_host(host)
    read = read_one(file if file == "-" or "/" in file else f"./{file}", desk, read_as)
    ref = keep(replace(read, host=host, taken_at=read.taken_at or utc_now()), keeping, desk)
    desk.say(f"read as {read.source}: {len(read.facts):,} facts")
    told = {"ref": ref, "read_as": read.source, "facts": len(read.facts)}
    if ref:
        print_text(json.dumps(told, indent=1) + "\n" if desk.given.format == "json" else desk.page.say(ref) + "\n")
    return 0
