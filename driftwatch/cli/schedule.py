"""Prints or installs the nightly audit: a systemd service and timer, or a line for crontab."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.output import answer_either
from driftwatch.cli.wiring.scheduling import Wanted, install, planned
from driftwatch.fleet.schedule import parse_timing


def command(
    ctx: typer.Context,
    *,
    hosts: Annotated[list[str] | None, typer.Argument(metavar="[HOSTS...]", help="As for audit.")] = None,
    every: Annotated[str, typer.Option("--every", metavar="PERIOD", help="1h, 1d or 1w.")] = "1d",
    at: Annotated[str, typer.Option("--at", metavar="HH:MM", help="When, by this machine's clock; up to 15 minutes are added.")] = "02:00",
    cron: Annotated[bool, typer.Option("--cron/--systemd", help="A crontab line, or systemd units.")] = False,
    against: Annotated[str | None, typer.Option("--against", metavar="TAG|REF", help="As for audit.")] = None,
    only_new: Annotated[bool, typer.Option("--only-new/--everything", help="Tell only what is new.")] = True,
    installing: Annotated[bool, typer.Option("--install", help="Write them, instead of printing.")] = False,
) -> int:
    """Print the nightly audit as systemd units or as a crontab line. Writes only with --install."""
    desk = open_desk(ctx)
    wanted = planned(Wanted(tuple(hosts or ()), parse_timing(every, at), cron, against, only_new), desk)
    text = install(wanted, desk) if installing else "".join(f"# {one.path}\n{one.text}\n" if one.path else one.text for one in wanted)
    pieces = [{"path": str(one.path) if one.path else None, "text": one.text} for one in wanted]
    answer_either(desk, text, {"installed": installing, "pieces": pieces})
    return 0
