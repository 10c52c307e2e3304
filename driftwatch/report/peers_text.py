"""What `peers` found as plain text: a matrix of the ways of differing, then why each host is odd. Lays out, and words nothing of its own."""

from __future__ import annotations

from dataclasses import replace

from driftwatch.compare.peers import Outlier, PeerFact
from driftwatch.explain.words import TIMES, count, listed
from driftwatch.report.audit.night import COLUMNS, SAME
from driftwatch.report.page import Page, measure, pad
from driftwatch.report.peers import Lettered, PeersFound, hosts_of, say_outlier, say_peer, say_share
from driftwatch.report.short_names import fold
from driftwatch.report.text import suspect_lines
from driftwatch.report.words import say_path

HOST_COLUMNS = 30
LEGEND = ". same  ~ changed  + only there  - missing there  ! its own devices differ  ? no answer  x not reached"
SHOWN_OUTLIERS = 8
SHOWN_FACTS = 12


def render_text(found: PeersFound, page: Page) -> str:
    """Return the answer as text."""
    odd, others = ([one for one in found.ways if one.way.outliers and one.odd.is_odd is is_odd] for is_odd in (True, False))
    out = found.peers.unreachable
    lines = [page.paint("head", page.say(f"peers  {count(found.peers.hosts, 'host')} against the majority")), "", *_verdict(found, page), ""]
    lines += _matrix(found, page)
    lines += _section("ODD HOSTS", [line for one in odd for line in _why(one, out, page)], page)
    lines += _section("OTHER DIFFERENCES", [line for one in others for line in _why(one, out, page)], page)
    lines += _section("NOT ANSWERED", [line for one in found.ways for line in _silent(one, page)], page)
    lines += _section("NO MAJORITY", [line for fact in found.peers.splits[:SHOWN_FACTS] for line in _split(fact, page)], page)
    lines += _section("THE SAME", [line for fact in found.peers.agreed[:SHOWN_FACTS] for line in _agreed(fact, out, page)], page)
    return "\n".join([*lines, *(page.paint("dim", row) for row in page.wrap(say_counts(found), "", ""))]) + "\n"


def _agreed(fact: PeerFact, unreachable: int, page: Page) -> list[str]:
    return page.wrap(f"{say_path(fact.path)}  {say_share(fact, unreachable)}", " = ", " " * 5)


def _verdict(found: PeersFound, page: Page) -> list[str]:
    style = {"ODD": "verdict", "SAME": "same"}.get(found.word, "warn")
    rows = page.wrap(found.verdict, pad(found.word, 9), " " * 9)
    return [page.paint(style, rows[0][: len(found.word)]) + rows[0][len(found.word):], *rows[1:]]


def _matrix(found: PeersFound, page: Page) -> list[str]:
    if not found.ways:
        return []
    names = [page.say(hosts_of(one.way)) for one in found.ways]
    width = min(HOST_COLUMNS, max(measure(name) for name in (*names, "all others")))
    lines = [page.paint("dim", " " * (width + 9) + " ".join(pad(name, 3) for name in COLUMNS).rstrip())]
    for one, name in zip(found.ways, names, strict=True):
        cells = " ".join(pad(one.cells[column], 3) for column in COLUMNS).rstrip()
        shown = name if measure(name) <= width else name[: width - 3] + "..."
        lines.append(f"{one.letter:<2}{len(one.way.hosts):>5} {pad(shown, width)} {cells}")
    if found.clean:
        cells = " ".join(pad(SAME, 3) for _ in COLUMNS).rstrip()
        lines.append(f"  {len(found.clean):>5} {pad('all others', width)} {cells}")
    return [*lines, "", *(page.paint("dim", row) for row in page.wrap(LEGEND, "", "")), ""]


def _section(title: str, lines: list[str], page: Page) -> list[str]:
    return [page.paint("head", title), *lines, ""] if lines else []


def _why(one: Lettered, unreachable: int, page: Page) -> list[str]:
    """Return the suspects of a way, then the facts in which its hosts are odd."""
    beside = f"  {one.odd.ref} beside {one.odd.against}" if one.odd.against else ""
    lines = page.wrap(f"{one.letter} {hosts_of(one.way)}{beside}", "", "  ")
    for rank, suspect in enumerate(one.odd.suspects, 1):
        lines += suspect_lines(rank, replace(suspect, commands=suspect.commands[:1]), page)
    plain = [outlier for outlier in one.way.outliers if outlier.follows is None]
    lines += [line for outlier in plain[:SHOWN_OUTLIERS] for line in _outlier(outlier, unreachable, page)]
    left = len(plain) - SHOWN_OUTLIERS
    rest = [f"{left} more"] if left > 0 else []
    rest += [f"{count(len(one.way.outliers) - len(plain), 'fact')} only from these"] if len(one.way.outliers) > len(plain) else []
    lines += page.wrap(" and ".join(rest), "   ", "   ") if rest else []
    return [*lines, *(page.command("look", f"driftwatch diff {one.odd.against} {one.odd.ref}", "", 3) if one.odd.against else [])]


def _outlier(one: Outlier, unreachable: int, page: Page) -> list[str]:
    return page.wrap(f"{say_path(one.fact.path)}  {say_outlier(one, unreachable)} · surprise {one.surprise:.2f}", f" {one.mark} ", " " * 5)


def _silent(one: Lettered, page: Page) -> list[str]:
    if one.way.is_unreachable:
        return page.wrap(f"{hosts_of(one.way)}: {one.way.reason}", " x ", " " * 5)
    if not one.way.unknown:
        return []
    told = (f"{what.removeprefix('probes/')} ({status.replace('_', ' ')})" for what, status in one.way.unknown)
    return page.wrap(f"{hosts_of(one.way)}: {listed(told, 6)}", " ? ", " " * 5)


def _split(fact: PeerFact, page: Page) -> list[str]:
    values = " against ".join(f"{many} {TIMES} {say_peer(value)}" + _holders(fact, place) for place, (value, many) in enumerate(fact.values[:4]))
    left = f" and {len(fact.values) - 4} more values" if len(fact.values) > 4 else ""
    unknown = f", {fact.unknown} unknown" if fact.unknown else ""
    return page.wrap(f"{say_path(fact.path)}  {values}{left}{unknown}", " ~ ", " " * 5)


def _holders(fact: PeerFact, place: int) -> str:
    return f" ({listed(fold(fact.holders[place]), 3)})" if place < len(fact.holders) else ""


def say_counts(found: PeersFound) -> str:
    """Return how many hosts stand how, and the exit code."""
    ways = [one for one in found.ways if one.way.outliers]
    odd = sum(len(one.way.hosts) for one in ways if one.odd.is_odd)
    differ = sum(len(one.way.hosts) for one in ways) - odd
    silent = sum(len(one.way.hosts) for one in found.ways if one.way.is_unreachable)
    unseen = sum(len(one.way.hosts) for one in found.ways if one.way.unknown)
    parts = [count(found.peers.hosts, "host"), f"{odd} odd", f"{differ} different otherwise"]
    parts += [f"{many} {word}" for many, word in ((unseen, "not seen whole"), (silent, "not reached")) if many]
    parts += [f"{count(found.peers.same, 'fact')} the same"]
    parts += [f"{len(found.peers.noise)} different everywhere"] if found.peers.noise else []
    return " · ".join([*parts, f"exit {found.exit_code}"])
