"""The memory of one start, worked out and worded: what is left for the KV cache now, at other fractions, and where nothing is left. Frozen values.

Nothing here touches a GPU: all figures are of a snapshot or of a log. Sizes are in GiB.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from driftwatch.explain import memory, starts
from driftwatch.explain.memory import Start
from driftwatch.explain.own_fraction import OwnFraction, own_fraction, say_default, say_origin, with_graphs
from driftwatch.explain.releases import Release, say
from driftwatch.explain.words import fixed, listed, number, signed
from driftwatch.model import Known, Snapshot, Unknown

FITS, SHORT, UNKNOWN = 0, 1, 3
LEAST = "the least"
GIB = 1024  # MiB
NOTABLE_GIB = 2.5  # a driver reserves less than this of a card by itself


@dataclass(frozen=True)
class WhatIf:
    """What to work out: the snapshot and what it is called, other values of two arguments, a start to compare with, and where figures stand in a log."""

    snapshot: Snapshot
    ref: str
    fraction: float | None = None
    graph_bs: int | None = None
    other: Snapshot | None = None
    other_ref: str = ""
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """One number that the sum starts from, or why it is not known, and where it is from."""

    label: str
    value: float | Unknown
    unit: str = "GiB"
    remark: str = ""


@dataclass(frozen=True)
class Row:
    """What is left for the KV cache at one fraction, in GiB, and about how many tokens that is, where a start told how many fit."""

    fraction: float
    rest: float
    remark: str
    tokens: int | None = None


@dataclass(frozen=True)
class Outlook:
    """The whole answer about one server."""

    ref: str
    server: str
    release: str
    figures: tuple[Figure, ...]
    rows: tuple[Row, ...]
    says: tuple[str, ...]
    exit_code: int
    settle: str = ""


@dataclass(frozen=True)
class _Work:
    """One server's start and all that its outlook needs. ``judged`` is the start that the exit code is about: with what was asked for, else as it was."""

    asked: WhatIf
    server: str
    release: Release | Unknown
    default: OwnFraction
    start: Start
    judged: Start

    def fact(self, path: str) -> Any:
        """Return a fact of the server, None where it is absent or not known."""
        found = self.asked.snapshot.get(f"servers/{self.server}/{path}")
        return found.value if isinstance(found, Known) else None

    def figure(self, name: str) -> float | Unknown:
        """Return a figure of the server's log."""
        return starts.figure(self.asked.snapshot, self.server, name)


def look_ahead(asked: WhatIf) -> list[Outlook]:
    """Return the outlook of every SGLang server that a snapshot tells of."""
    return [_outlook(asked, server) for server in starts.servers_in(asked.snapshot)]


def _outlook(asked: WhatIf, server: str) -> Outlook:
    release, start = starts.release_of(asked.snapshot), starts.start_of(asked.snapshot, server)
    default = own_fraction(asked.snapshot, server, release)
    figures = tuple(_figures(asked, server, default))
    shown = "" if isinstance(release, Unknown) else say(release)
    if isinstance(start, Unknown):
        settle = f"driftwatch memory {shlex.quote(asked.ref or 'REF')} --log FILE"
        others = listed(starts.others_in(asked.snapshot))
        says = (f"The sum cannot be worked out: {start.reason}", f"What is told here is of {others}, and the sum is SGLang's" if others else "")
        return Outlook(asked.ref, server, shown, figures, (), tuple(filter(None, says)), UNKNOWN, settle)
    work = _Work(asked, server, release, default, start, _judged(asked, start, default, release))
    code = FITS if _ends(work) == "fits" else SHORT
    return Outlook(asked.ref, server, shown, figures, tuple(_rows(work)), tuple(filter(None, _sentences(work))), code)


def _judged(asked: WhatIf, start: Start, default: OwnFraction, release: Release | Unknown) -> Start:
    if asked.fraction is not None:
        return replace(start, fraction=asked.fraction)
    other = with_graphs(default, release, asked.graph_bs)[0] if asked.graph_bs is not None and default.was_taken is True else None
    return replace(start, fraction=other) if isinstance(other, float) else start


def _figures(asked: WhatIf, server: str, default: OwnFraction) -> Iterator[Figure]:
    ranks = starts.figure(asked.snapshot, server, "ranks")
    path = asked.snapshot.get(f"servers/{server}/log/path")
    log = path.value if isinstance(path, Known) and isinstance(path.value, str) else ""
    least = f"least of {ranks:g} ranks" if isinstance(ranks, float) and ranks > 1 else ""
    for label, name in (("free before load", starts.BEFORE), ("free after load", starts.AFTER)):
        value = starts.figure(asked.snapshot, server, name)
        yield Figure(label, value, remark=", ".join(filter(None, (least, asked.places.get(name, log)))) if isinstance(value, float) else "")
    yield Figure("fraction", starts.fraction_of(asked.snapshot, server), "", f"{say_origin(default)}; {say_default(default)}")


def _rows(work: _Work) -> Iterator[Row]:
    """Yield the rows by rising fraction, each fraction once with all its remarks."""
    remarks: dict[float, list[str]] = {}
    for fraction, remark in _points(work):
        if isinstance(fraction, float) and 0 < fraction < 1:
            remarks.setdefault(round(fraction, 4), []).append(remark)
    each = _gib_a_token(work)
    for fraction in sorted(remarks):
        rest = 0.0 if remarks[fraction] == [LEAST] else work.start.rest(fraction=fraction)
        yield Row(fraction, rest, ", ".join(remarks[fraction]), int(rest / each) if each and rest > 0 else None)


def _points(work: _Work) -> Iterator[tuple[float | Unknown | None, str]]:
    """Yield what stands in the table: a fraction, and whose it is."""
    yield work.start.fraction, "now"
    yield work.asked.fraction, "asked for"
    yield work.start.least, LEAST
    if work.asked.other is not None:
        yield starts.fraction_of(work.asked.other, work.server), work.asked.other_ref
    if work.default.was_taken is not True:
        yield work.default.fraction, "the default"
    if work.asked.graph_bs is not None:
        of_model, of_text = with_graphs(work.default, work.release, work.asked.graph_bs)
        words = f"the default with --cuda-graph-max-bs {work.asked.graph_bs}"
        yield (of_model, words) if isinstance(of_model, float) else (of_text, f"{words}, of a text model")


def _gib_a_token(work: _Work) -> float | None:
    """Return what a token of the KV cache takes in GiB, from a start of this or the other side that came so far."""
    for snapshot in filter(None, (work.asked.snapshot, work.asked.other)):
        tokens, start = starts.figure(snapshot, work.server, "tokens"), starts.start_of(snapshot, work.server)
        if isinstance(tokens, float) and isinstance(start, Start) and tokens > 0 and start.rest() > 0:
            return start.rest() / tokens
    return None


def _sentences(work: _Work) -> Iterator[str]:
    yield from _worked_line(work)
    yield _of_others(work)
    yield memory.switch_trap(work.release, starts.variables_of(work.asked.snapshot, work.server))
    yield _of_graphs(work)
    if isinstance(work.default.launch.speculative, str):
        left_out = memory.leaves_out(work.release)
        yield "" if isinstance(left_out, Unknown) else f"Speculative decoding: {left_out}"
    states = work.figure("state_cache_gib")
    yield f"{fixed(states)} GiB of it go to the states of a hybrid model" if isinstance(states, float) and work.start.rest() > 0 else ""
    yield _against_the_log(work)


def _worked_line(work: _Work) -> Iterator[str]:
    judged = work.judged
    total = f"{judged.row} = {signed(judged.rest())} GiB for the KV cache"
    if _ends(work) == "unbalanced":
        yield f"One rank has less than {memory.BALANCE:g} of what another has free before load: the server stops with '{memory.UNBALANCED}'"
    if judged.rest() <= 0:
        lower = max(0.01, round(judged.fraction - 0.05, 3))
        yield (f"{total}: the server stops with '{memory.says_when_short(work.release)}'. No fraction under about {fixed(judged.least)} can work with this "
               f"model on these GPUs: of {fixed(judged.before)} GiB, {fixed(judged.loaded)} are gone once it is loaded. A lower fraction leaves less, not "
               f"more ({lower:g}: {signed(judged.rest(fraction=lower))})")
    else:
        yield (f"{total}. Of what another process holds on every GPU before the launch, {judged.fraction:g} of each GiB is missing here: up to "
               f"{fixed(memory.room_for_hog(judged, 'every GPU'))} GiB fit. On one GPU alone, from {fixed(memory.unbalancing(judged))} GiB on, the start "
               f"stops with '{memory.UNBALANCED.partition('.')[0]}' instead")


def _of_others(work: _Work) -> str:
    """Return what is missing before load already, against the other side's start, else against the card."""
    start = starts.start_of(work.asked.other, work.server) if work.asked.other is not None else None
    if isinstance(start, Start):
        missing, than = start.before - work.start.before, f"at {work.asked.other_ref} {fixed(start.before)} GiB were free before load, {{}} more"
    else:
        card, own = starts.smallest_card(work.asked.snapshot), work.figure("init_gib")
        if isinstance(card, Unknown) or isinstance(own, Unknown):
            return ""
        missing = card / GIB - own - work.start.before
        than = f"the smallest card has {fixed(card / GIB)} GiB and this server took {fixed(own)} to come up: {{}} GiB more were gone before load"
    if missing < NOTABLE_GIB:
        return ""
    cost = missing * work.judged.fraction
    return (f"But {than.format(fixed(missing))}. They cost {fixed(work.judged.fraction)} of that here, {fixed(cost)} GiB: without them "
            f"{signed(work.judged.rest() + cost)} would be left")


def _ends(work: _Work) -> memory.Ends:
    """Return how the start ends; a switch whose effect is not known leaves the balance check on."""
    by_rank = work.fact("log/free_before_load_by_rank_gib")
    told = [size for one in by_rank.values() if (size := number(one)) is not None] if isinstance(by_rank, dict) else []
    ranks = work.figure("ranks")
    guard = memory.guard_of(work.release, starts.variables_of(work.asked.snapshot, work.server))
    return memory.ends(work.judged, max([work.judged.before, *told]), int(ranks) if isinstance(ranks, float) else 1, "warns" if guard == "warns" else "stops")


def _of_graphs(work: _Work) -> str:
    """Return what another graph batch does to the default, in one sentence."""
    if work.asked.graph_bs is None:
        return ""
    _, of_text = with_graphs(work.default, work.release, work.asked.graph_bs)
    flag = f"--cuda-graph-max-bs {work.asked.graph_bs}"
    if isinstance(of_text, Unknown):
        return f"What {flag} does to the default is not known: {of_text.reason}"
    moved = f" by {signed(of_text - work.default.of_text, 3)}" if isinstance(work.default.of_text, float) else ""
    if work.default.was_taken is False:
        return f"{flag} would move the default fraction{moved}, but the fraction is given: the sum stays as it is"
    return f"{flag} moves the default fraction{moved}, besides what the graphs themselves take after the KV cache"


def _against_the_log(work: _Work) -> str:
    """Return what to say where the log ended otherwise than the sum says."""
    error = work.fact("log/error")
    if work.fact("log/ready") is True and work.start.rest() <= 0:
        return "Yet this server came to serve: one of the numbers is of another run"
    if isinstance(error, str) and "Not enough memory" in error and work.start.rest() > 0:
        return "Yet the log ends with 'Not enough memory': one of the numbers is of another run, or a hybrid model's states took the rest"
    return ""
