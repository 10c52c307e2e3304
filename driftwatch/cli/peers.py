"""Compares many hosts with each other: per fact the majority, the odd hosts, and why they are odd."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_ref
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import answer
from driftwatch.cli.wiring.peer_sides import peer_files
from driftwatch.cli.wiring.peering import FORMATS, MAJORITY, Asked, Round, check_against, check_count, rendered


def command(
    ctx: typer.Context,
    *,
    hosts: Annotated[list[str], typer.Argument(metavar="HOSTS...|REF...", autocompletion=complete_ref, help="Hosts as gpu-[01-08], gpu-*, @group; REFs.")],
    facts: Annotated[list[str] | None, typer.Option("--fact", metavar="GLOB", help="Only facts whose path fits, also where all agree.")] = None,
    against: Annotated[str, typer.Option("--against", metavar="WHAT", help="What they are compared with.")] = MAJORITY,
) -> int:
    """Tell for each fact what most hosts have, which hosts are odd and why, and which did not answer."""
    desk = open_desk(ctx, FORMATS)
    check_against(against)
    with tempfile.TemporaryDirectory(prefix="driftwatch-") as spool:
        files = peer_files(hosts, desk, Path(spool))
        check_count(files)
        found = Round(Asked(tuple(facts or ())), desk).run(files)
    if not (desk.given.quiet and found.exit_code == 0):
        answer(desk, rendered(found, desk))
    return found.exit_code
