"""Tries each step on the way to a host: name, TCP, host key, login, python, agent, NVML."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.snapshot import DEST_HELP
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.doctoring import patients, tell_all
from driftwatch.cli.wiring.numbers import whole

LONGEST_S = 3600


def command(
    ctx: typer.Context,
    *,
    dest: Annotated[list[str] | None, typer.Argument(metavar="[DEST...]", help=DEST_HELP)] = None,
    deadline: Annotated[str, typer.Option("--deadline", metavar="S", help="Seconds for a host.")] = "30",
    python: Annotated[list[str] | None, typer.Option("--python", metavar="PATH", help="A Python on the host to run the agent.")] = None,
    profile: Annotated[str | None, typer.Option("--profile", metavar="NAME", help="As of snapshot.")] = None,
    jobid: Annotated[str | None, typer.Option("--jobid", metavar="N", help="The running Slurm job in which to look, for slurm://NODE.")] = None,
) -> int:
    """Try each step on the way to a host, with its time, and say what would mend the one that fails. Keeps nothing. Exit 1: a stage failed."""
    desk = open_desk(ctx)
    deadline_s = float(whole("--deadline", deadline, 1, LONGEST_S))
    return tell_all(patients(dest or (), (tuple(python or ()), profile, jobid), deadline_s, desk), desk)
