"""Takes a snapshot of this machine, or of hosts over SSH, and stores it."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.inventories import destined_jobs
from driftwatch.cli.wiring.jobs import Wish, parse_deadlines, recorded_job, words
from driftwatch.cli.wiring.keeping import Keeping
from driftwatch.cli.wiring.numbers import whole
from driftwatch.cli.wiring.snapshotting import take_and_keep
from driftwatch.store.names import check_label

MOST_AT_ONCE = 1024
DEST_HELP = ("HOST, USER@HOST, ssh://USER@HOST:PORT, docker://NAME[@HOST], podman://NAME[@HOST], kubectl://NAMESPACE/POD[/CONTAINER], slurm://NODE; "
             "else this machine.")


def command(
    ctx: typer.Context,
    *,
    dest: Annotated[list[str] | None, typer.Argument(metavar="[DEST...]", help=DEST_HELP)] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="TAG", help="Tag it, as in HOST@TAG.")] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", show_default=False, help="Words kept with it.")] = "",
    log: Annotated[str | None, typer.Option("--log", metavar="FILE", help="The server's log, on the host.")] = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="PROBE,..", help="Only these probes; shown, not stored, unless --save.")] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="PROBE,..", help="All but these probes.")] = None,
    groups: Annotated[list[str] | None, typer.Option("--with", metavar="GROUP,..", help="Probes that are off by default: imports.")] = None,
    deadline: Annotated[list[str] | None, typer.Option("--deadline", metavar="[PROBE=]S", help="Seconds for a host (60), or for one probe.")] = None,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N", help="Hosts at once.")] = "64",
    recorded: Annotated[str | None, typer.Option("--recorded", metavar="PATH", help="A recorded host: folder or archive.")] = None,
    python: Annotated[list[str] | None, typer.Option("--python", metavar="PATH", help="An interpreter that serves, on the host.")] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="DIR", help="The SGLang source tree, on the host.")] = None,
    env_from_pid: Annotated[str | None, typer.Option("--env-from-pid", metavar="PID", help="Read that process's environment.")] = None,
    profile: Annotated[str | None, typer.Option("--profile", metavar="NAME", help="sglang, vllm, torch, full, or one of the config file.")] = None,
    rehash: Annotated[bool, typer.Option("--rehash", help="Hash every source file, also those that did not change.")] = False,
    jobid: Annotated[str | None, typer.Option("--jobid", metavar="N", help="The running Slurm job in which to look, for slurm://NODE.")] = None,
    save: Annotated[bool, typer.Option("--save", help="Store it even with --only.")] = False,
) -> int:
    """Take a snapshot of this machine, or of hosts over SSH, and store it. Prints one reference a line."""
    desk = open_desk(ctx)
    if recorded is not None and dest:
        raise UsageFault("--recorded stands in for a host, so no host can be named beside it", do="leave one of them away")
    pid = None if env_from_pid is None else whole("--env-from-pid", env_from_pid, 1, 1 << 22)
    wish = Wish(words(only), words(skip), words(groups), parse_deadlines(deadline), tuple(python or ()), source, log, pid, profile, rehash, jobid=jobid)
    keeping = Keeping(check_label(label) if label is not None else None, note, desk.given.out, is_shown=bool(only) and not save)
    at_once = whole("--jobs", jobs, 1, MOST_AT_ONCE)
    found = [recorded_job(recorded, wish, desk)] if recorded is not None else destined_jobs(dest or (), wish, desk)
    return take_and_keep(found, at_once, keeping, desk)
