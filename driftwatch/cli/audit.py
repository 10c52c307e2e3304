"""Compares many hosts with their good snapshots and tells which of them drifted, in how many ways, and what is new."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.alerting import announce
from driftwatch.cli.wiring.auditing import DEFAULT_AGAINST, DEFAULT_FAIL_ON, Question, Round, check, save
from driftwatch.cli.wiring.completing import complete_host
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.inventories import audited_jobs
from driftwatch.cli.wiring.jobs import Wish, parse_deadlines, words
from driftwatch.cli.wiring.night_formats import FORMATS, is_quiet, load_render
from driftwatch.cli.wiring.numbers import whole
from driftwatch.cli.wiring.output import answer
from driftwatch.store import nights

MOST_AT_ONCE = 1024


def command(
    ctx: typer.Context,
    *,
    hosts: Annotated[
        list[str] | None, typer.Argument(metavar="[HOSTS...]", autocompletion=complete_host, help="Names, gpu-[01-16], @GROUP, globs, FILE or -; else all.")
    ] = None,
    against: Annotated[str, typer.Option("--against", metavar="TAG|REF", help="A tag of each host, or one golden snapshot.")] = DEFAULT_AGAINST,
    only_new: Annotated[bool, typer.Option("--only-new", help="Only what no earlier audit told; exit 1 only for that.")] = False,
    fail_on: Annotated[str | None, typer.Option("--fail-on", metavar="WHAT", help="suspect, drift, unknown or never (drift).")] = None,
    all_hosts: Annotated[bool, typer.Option("--all-hosts", help="A row for each host.")] = False,
    deadline: Annotated[list[str] | None, typer.Option("--deadline", metavar="[PROBE=]S", help="Seconds for a host (60), or for one probe.")] = None,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N", help="Hosts at once.")] = "64",
    profile: Annotated[str | None, typer.Option("--profile", metavar="NAME", help="sglang, vllm, torch, full, or one of the config file.")] = None,
    groups: Annotated[list[str] | None, typer.Option("--with", metavar="GROUP,..", help="Probes that are off by default.")] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="PROBE,..", help="All but these probes.")] = None,
) -> int:
    """Take a snapshot of many hosts, compare each with its baseline, and tell which drifted, in how many ways, and what is new."""
    desk = open_desk(ctx, FORMATS)
    at_once = whole("--jobs", jobs, 1, MOST_AT_ONCE)
    question = Question(against, fail_on or desk.settings.audit.fail_on or DEFAULT_FAIL_ON, only_new, at_once)
    check(question)
    wish = Wish(skip=words(skip), groups=words(groups), deadlines_s=parse_deadlines(deadline), profile=profile)
    asked = audited_jobs(hosts or (), wish, desk)
    with nights.locked(desk.store.root):
        one = Round(question, desk)
        night = one.run(asked)
        failed = save(one, night, desk)
    if not is_quiet(night, desk):
        answer(desk, load_render(desk.given.format, is_whole=all_hosts)(night, desk.page))
    announce(night, desk)
    if failed is not None:
        raise failed
    return night.exit_code
