"""Shows which hosts would be asked, and how; reads inventories of others into the config file."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.inventories import imported, listed, selected
from driftwatch.cli.wiring.output import answer
from driftwatch.report.table import columns


def command(
    ctx: typer.Context,
    *,
    hosts: Annotated[list[str] | None, typer.Argument(metavar="[HOSTS...]", help="Names, gpu-[01-16], @GROUP, globs, FILE or -; else all.")] = None,
    source: Annotated[str | None, typer.Option("--from", metavar="KIND[:PLACE]", help="ansible:FILE, ssh-config, slurm, nodeset:EXPR or list:FILE.")] = None,
) -> int:
    """Show which hosts would be asked, and how. With --from: print an inventory as lines for driftwatch.toml."""
    desk = open_desk(ctx)
    if source is not None:
        answer(desk, imported(source, desk))
        return 0
    rows = listed(selected(hosts or (), desk), desk)
    cells = [[row["name"], row["dest"], row["group"], row["how"]] for row in rows]
    answer(desk, json.dumps(rows, indent=1) + "\n" if desk.given.format == "json" else columns(cells, desk.page))
    return 0
