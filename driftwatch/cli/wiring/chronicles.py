"""What `history` reads: the whole snapshots of a host in the order of time, each with its tags. A damaged one is told and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.explain.chronicle import Moment, Row, Window, fact_rows, has_changed, paths_that_fit, steps, window
from driftwatch.model import Known, Snapshot
from driftwatch.report import history
from driftwatch.report.page import Page
from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry
from driftwatch.store.labels import labels_by_file
from driftwatch.store.references import counted, find

FORMATS = ("text", "json", "html")
UNANSWERED = 3


def moments_of(host: str, oldest: str, desk: Desk) -> list[Moment]:
    """Return the whole snapshots of a host that are not older than a time, oldest first. Raises StoreError where there are none."""
    if "@" in host:
        raise UsageFault(f"{host} is one snapshot, and a history is of a host", do=f"driftwatch history {host.rpartition('@')[0]}")
    entries = [entry for entry in desk.store.entries(host) if not entry.name.is_partial]
    if not entries:
        find(desk.store, host, "last")  # raises, and says whether none is stored or all are partial
    recent = [entry for entry in entries if entry.name.taken_at >= oldest]
    found = list(_read(recent, labels_by_file(desk.store, host), desk))
    if not found:
        raise UsageFault(f"nothing of {host} is so new; the newest is of {entries[-1].name.taken_at}", desk.store.place_of(host), "leave --since away")
    return found


def _read(entries: Sequence[Entry], tags: dict[str, list[str]], desk: Desk) -> Iterator[Moment]:
    for entry, slim in desk.store.load_each(entries):
        if isinstance(slim, StoreError):
            desk.say(f"note: {slim.what} ({slim.where}); it is left out")
        else:
            yield Moment(entry.ref, entry.name.taken_at, tuple(sorted(tags.get(str(entry.name), ()))), slim.whole)


def without_names_of(moments: Sequence[Moment], host: str) -> tuple[list[Moment], str]:
    """Return the moments and the host's name with stand-ins for all that tells whose machine it is (``--anonymise``)."""
    from driftwatch.report.anonymous import Mask  # noqa: PLC0415  # only for those who ask

    mask = Mask(moment.snapshot for moment in moments)

    def masked(thaw: Callable[[], Snapshot]) -> Snapshot:
        whole: Snapshot = mask.value(thaw())
        return whole

    return [replace(one, ref=mask.text(one.ref), thaw=partial(masked, one.thaw)) for one in moments], mask.text(host)


def show_facts(moments: Sequence[Moment], globs: Sequence[str], desk: Desk, *, is_whole: bool) -> tuple[str, int]:
    """Return the history of the facts that fit, and the exit code: 3 where none of them was ever known. Facts of a glob that never changed are counted."""
    every = fact_rows(moments, paths_that_fit(moments, globs))
    shown = {path: rows for path, rows in every.items() if is_whole or path in globs or len(every) == 1 or has_changed(rows)}
    if len(shown) < len(every):
        desk.say(f"note: {len(every) - len(shown):,} more facts fit and never changed; --every shows them")
    known = any(isinstance(row.value, Known) for rows in every.values() for row in rows)
    return _facts(shown, desk, is_whole=is_whole), 0 if known else UNANSWERED


def _facts(shown: dict[str, list[Row]], desk: Desk, *, is_whole: bool) -> str:
    return history.facts_as_json(shown) if desk.given.format == "json" else history.facts_as_text(shown, desk.page, is_whole=is_whole)


def show_steps(moments: Sequence[Moment], desk: Desk, *, is_whole: bool) -> str:
    """Return what changed from each snapshot to the next; in text without those in which nothing did, or gave no answer, or has a tag, unless ``is_whole``."""
    found = steps(moments)
    if desk.given.format == "json":
        return history.steps_as_json(found, moments[0])
    shown = [one for one in found if is_whole or one.changes or one.open or one.newer.tags]
    if len(shown) < len(found):
        desk.say(f"note: nothing changed in {counted(len(found) - len(shown), 'more snapshot')}; --every shows them")
    return history.steps_as_text(shown, moments[0], desk.page)


def show_window(moments: Sequence[Moment], host: str, desk: Desk, *, is_whole: bool) -> tuple[str, int]:
    """Return the window from good to bad, and the exit code: 1 where something changed in it, 3 where only something was not known, else 0."""
    found = window(moments)
    if found is None:
        states = {moment.state for moment in moments}
        lacks = "good" if "good" not in states else "bad after a good one"
        do = f"driftwatch tag {lacks[:4].strip()} {host}@{moments[0 if lacks == 'good' else -1].taken_at[:10]}   says that it was, or: driftwatch list {host}"
        raise UsageFault(f"no snapshot of {host} is known to be {lacks}, so there is no window", desk.store.place_of(host), do)
    text = history.window_as_json(found) if desk.given.format == "json" else history.window_as_text(found, desk.page, is_whole=is_whole)
    return text, _code(found)


def _code(found: Window) -> int:
    return 1 if found.step.changes else UNANSWERED if found.step.open else 0


def draw(moments: Sequence[Moment], host: str, globs: Sequence[str], page: Page) -> str:
    """Return the host's timeline as one HTML file."""
    from driftwatch.report.timeline import render_timeline  # noqa: PLC0415  # jinja2, only where it is drawn

    return render_timeline(host, moments, globs, page)
