"""Values as a reader sees them: numbers with a true minus sign, short texts, times in UTC. Values stay raw otherwise: reports clean them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

MOST_CHARACTERS = 72
MINUS, TIMES = "\u2212", "\u00d7"


def show(value: Any, *, absent: str = "absent") -> str:
    """Return a JSON value in words, cut to one short line."""
    if value is None:
        return absent
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict) and "keyed" in value:
        return "(secret)"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return shorten(text)


def shorten(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text on one line, with its end cut off where it is too long."""
    line = " ".join(text.split("\n"))
    return line if len(line) <= most else line[: most - 1] + "…"


def moved(good: Any, bad: Any, *, absent: str = "absent") -> str:
    """Return ``0.85 → 0.55``."""
    return f"{show(good, absent=absent)} → {show(bad, absent=absent)}"


def number(value: Any) -> float | None:
    """Return a finite number from a JSON number or a numeric text, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < 1e15 else None


def fixed(value: float, places: int = 2) -> str:
    """Return a number with so many decimals, halves away from zero, and a true minus sign."""
    rounded = Decimal(str(round(value, 6))).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return f"{rounded}".replace("-", MINUS)


def signed(value: float, places: int = 2) -> str:
    """Return a number with its sign, always."""
    text = fixed(value, places)
    return text if text.startswith(MINUS) else "+" + text


def count(many: int, one: str, more: str = "") -> str:
    """Return ``1 file`` or ``1,936 files``."""
    return f"{many:,} {one if many == 1 else more or one + 's'}"


def listed(names: Iterable[str], most: int = 4) -> str:
    """Return names as ``a, b and 3 more``."""
    every = list(names)
    shown = every[:most]
    if len(every) > most:
        return f"{', '.join(shown)} and {len(every) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def command(words: Sequence[str]) -> str:
    """Return a command line that a shell reads as these words; ``~/`` at the beginning of one stays the home."""
    return " ".join(f"~/{shlex.quote(word[2:])}" if word[:2] == "~/" and word[2:] else shlex.quote(word) for word in words)


def utc_minute(nanoseconds: Any) -> str:
    """Return a time since 1970 in nanoseconds as ``2026-03-02 02:31Z``; empty where it is none."""
    if isinstance(nanoseconds, bool) or not isinstance(nanoseconds, int) or not 0 <= nanoseconds < 1 << 62:
        return ""
    days, second = divmod(nanoseconds // 1_000_000_000, 86400)
    year, month, day = _civil(days)
    return f"{year:04d}-{month:02d}-{day:02d} {second // 3600:02d}:{second % 3600 // 60:02d}Z"


def _civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a count of days since 1970-01-01 (proleptic Gregorian calendar, years that begin in March)."""
    era, of_era = divmod(days + 719468, 146097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1
