"""Which snapshots of a host stay: the newest ones, and the newest whole one of each day, week, month or year, as rules say. Pure: names and a time.

What a label names stays for ever, the newest whole one always, and nothing goes that is less than a day old: a writer may be building on it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone

from driftwatch.store.errors import StoreError
from driftwatch.store.files import Entry

COMPACT = "%Y%m%dT%H%M%SZ"
SPARED = timedelta(days=1)
PERIODS = {"hourly": "%Y%m%d%H", "daily": "%Y%m%d", "weekly": "%G-%V", "monthly": "%Y%m", "yearly": "%Y"}
_RULE = re.compile(r"(last|hourly|daily|weekly|monthly|yearly)=(\d{1,6})\Z")
Rules = Mapping[str, int]


def parse_rules(text: str) -> Rules:
    """Return ``last=30,daily=14,weekly=8`` as counts by name. Raises StoreError for what is no such list, and for rules that keep nothing."""
    rules: dict[str, int] = {}
    for word in text.split(","):
        found = _RULE.match(word.strip())
        if found is None or found[1] in rules:
            raise StoreError(f"{word.strip()!r} is no rule, or stands twice", do=f"names of last, {', '.join(PERIODS)} with counts: last=30,daily=14,weekly=8")
        rules[found[1]] = int(found[2])
    if not any(rules.values()):
        raise StoreError(f"{text!r} keeps nothing", do="give at least one rule a count, as in last=30")
    return rules


def to_remove(entries: Sequence[Entry], rules: Rules, labelled: Collection[str], now: datetime) -> list[Entry]:
    """Return the entries that no rule keeps, oldest first. ``entries`` are a host's, oldest first; ``labelled`` are file names."""
    kept = {str(entry.name) for entry in _kept(entries, rules)} | set(labelled)
    young = (now.astimezone(timezone.utc) - SPARED).strftime(COMPACT)
    return [entry for entry in entries if str(entry.name) not in kept and entry.name.compact < young]


def _kept(entries: Sequence[Entry], rules: Rules) -> Iterator[Entry]:
    newest = [entry for entry in reversed(entries) if not entry.name.is_partial]
    yield from newest[: max(rules.get("last", 0), 1)]
    for name, layout in PERIODS.items():
        periods: dict[str, Entry] = {}
        for entry in newest if rules.get(name) else ():
            periods.setdefault(_moment(entry).strftime(layout), entry)
            if len(periods) == rules[name]:
                break
        yield from periods.values()


def _moment(entry: Entry) -> datetime:
    try:
        return datetime.strptime(entry.name.compact, COMPACT).replace(tzinfo=timezone.utc)
    except ValueError:  # a file name with a 31st of February: kept by no period, and no reason to fail
        return datetime.min.replace(tzinfo=timezone.utc)
