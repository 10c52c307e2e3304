"""Verifies what is stored: content, links of each host's chain, and signatures."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_ref
from driftwatch.cli.wiring.desk import check_store, open_desk
from driftwatch.cli.wiring.output import answer
from driftwatch.cli.wiring.verdicts import close, layout, signers_of, verify_all
from driftwatch.store.verifying import Demand


def command(
    ctx: typer.Context,
    *,
    refs: Annotated[
        list[str] | None, typer.Argument(metavar="[REF...]", autocompletion=complete_ref, help="HOST@which, a HOST, or a snapshot file; else all.")
    ] = None,
    signers: Annotated[str | None, typer.Option("--signers", metavar="FILE", help="Whose signatures count: OpenSSH's allowed_signers.")] = None,
    revoked: Annotated[str | None, typer.Option("--revoked", metavar="FILE", help="Keys that count no more: a KRL, or public keys.")] = None,
    required: Annotated[bool, typer.Option("--require-signature", help="A snapshot without a signature is a finding.")] = False,
) -> int:
    """Verify what is stored, a line a snapshot: ok, changed, unsigned, missing link or bad signature, and where two were written at once a fork."""
    desk = open_desk(ctx)
    if not refs:
        check_store(desk)
    demand = Demand(signers_of(signers, revoked), required)
    found = verify_all(refs or (), demand, desk)
    answer(desk, layout([one for one in found if one.is_finding or not desk.given.quiet], desk))
    return close(found, desk)


