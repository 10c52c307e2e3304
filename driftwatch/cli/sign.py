"""Signs stored snapshots with an SSH key, so that `verify` can tell whose they are."""

from __future__ import annotations

from typing import Annotated

import typer

from driftwatch.cli.wiring.completing import complete_ref
from driftwatch.cli.wiring.desk import open_desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.output import answer_either
from driftwatch.cli.wiring.plain import keep_signature, plain_file
from driftwatch.places import user_path
from driftwatch.store.signatures import sign


def command(
    ctx: typer.Context,
    *,
    refs: Annotated[list[str], typer.Argument(metavar="REF...", autocompletion=complete_ref, help="What to sign: HOST@TAG, HOST@last, or a snapshot file.")],
    key: Annotated[str | None, typer.Option("--key", metavar="FILE", help="An SSH key; a public one where the agent holds it.")] = None,
) -> int:
    """Sign stored snapshots or snapshot files with an SSH key; the signature is kept beside each. One that does not match its id is not signed."""
    desk = open_desk(ctx)
    if key is None:
        raise UsageFault("which key is to sign?", do="driftwatch sign REF --key ~/.ssh/id_ed25519, or the .pub of a key that the agent holds")
    files = [(ref, plain_file(ref, desk)) for ref in refs]
    for ref, plain in files:
        if plain.entry is None and plain.path is None:
            raise UsageFault(f"{ref} is no snapshot file and not in the store", do="store it first: driftwatch import FILE --host NAME")
    signer = user_path(key, UsageFault)
    for _, plain in files:
        keep_signature(plain, sign(plain.data, signer), desk)
    signed = [plain.entry.ref if plain.entry else ref for ref, plain in files]
    answer_either(desk, "".join(f"signed  {desk.page.say(ref)}\n" for ref in signed), [{"signed": ref} for ref in signed])
    return 0
