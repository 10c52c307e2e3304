"""What is odd about the two sides of a diff and was hardly meant: one snapshot twice, or two hosts. Told beside the report; never refused."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.diffing import Pair
from driftwatch.model import Snapshot
from driftwatch.report.words import say_time
from driftwatch.store.references import snapshot_command


def note_oddities(pair: Pair, desk: Desk) -> None:
    """Tell what is odd about a pair, on standard error; of two sets nothing, since each stands for many."""
    if pair.changes is None:
        for one in odd(pair.good, pair.bad):
            desk.say(f"note: {one}")


def odd(good: Snapshot, bad: Snapshot) -> Iterator[str]:
    """Yield a sentence for each thing that is odd, with what to do about it."""
    if good.id == bad.id and not bad.taken_at:
        yield "both sides tell the very same facts, so nothing can differ; name the broken side's own output as the second one"
    elif good.id == bad.id:
        again = snapshot_command(bad.host or "")
        yield f"both sides are one snapshot, taken {say_time(bad.taken_at)}, so nothing can differ; take the broken side: {again}"
    elif good.host and bad.host and good.host != bad.host:
        yield f"the sides are two hosts, {good.host} and {bad.host}: what differs may always have differed; a good one of {bad.host} would tell more"
