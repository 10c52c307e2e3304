"""What people and tools put around every line of a paste (quoting, times, pod names, numbers, bullets, table bars, wrapping) taken off again.

Each way gives another reading of the whole paste, and read.py takes the one of which most is understood. Pure text; linear in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

QUOTE_LEVELS = 3
FEWEST_QUOTED = 3
FEWEST_LIKE = 4
MOSTLY = 0.6
NARROWEST, WIDEST = 60, 250
MOST_VARIANTS = 6
MOST_PIECES = 400
ENOUGH = 3000
_QUOTE = re.compile(r"\s{0,3}>(?: |\Z|(?=>))")
_TIGHT_QUOTE = re.compile(r">(?!>> )")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|DEFAULT)"
_PREFIXES = tuple(re.compile(one) for one in (
    rf"\[?(?:{_LEVEL}\s{{1,4}})?{_TIME}\]?(?:\s{{1,4}}\[?{_LEVEL}\]?)?\s[-|:]\s(?=\S)",
    rf"\[?(?:{_LEVEL}\s{{1,4}})?{_TIME}\]?(?:\s{{1,4}}\[?{_LEVEL}\]?)?(?:\sstd(?:out|err)\s[FP])?:?\s?",
    rf"\[?(?:\d{{1,2}}/\d{{1,2}}/\d{{2,4}},?\s)?{_CLOCK}(?:\s[AP]M)?\]?\s?",
    rf"(?:\d{{4}}[-/])?\d\d[-/]\d\d {_CLOCK} - [\w.]{{1,40}} - {_LEVEL} -(?: |\Z)",
    r"[\w.-]{1,80}\s{0,40}\|\s?",
    r"[A-Z][a-z]{2}\s{1,2}\d{1,2}\s\d\d:\d\d:\d\d\s[\w.-]{1,80}\s[\w./@-]{1,80}(?:\[\d+\])?:\s",
    r"\([\w=,.: -]{1,120}\)\s",
    r"\[(?!(?:pip3?|conda)\])[\w:./-]{1,120}\]:?\s",
    r"[A-Z]\d{4}\s\d\d:\d\d:\d\d\.\d+\s+\d+\s[\w./-]+:\d+\]\s",
    rf"{_LEVEL}\s{{1,4}}\d\d-\d\d\s\d\d:\d\d:\d\d\s\[?[\w./-]+:\d+\]\s",
    r"(?: {4}|\t)",
    r"\s{0,3}[-*\u2022+]\s",
))
_NUMBERED = tuple(re.compile(one) for one in (r"\s{0,8}(\d{1,5})(?: \| ?|:\t? ?|\. |\t|  )", r"\s{0,8}(\d{1,5})[ \t]{1,4}(?=\S)"))
_AROUND = tuple(re.compile(one) for one in (r"\s*\*\*(.*?)\*\*\s*\Z", r"\s*`(.*?)`\s*\Z"))
_ROW = re.compile(r"\s*\|(.*)\|\s*\Z")
_ARGUMENTS = re.compile(r"server_args=ServerArgs(?=\()|args: Namespace(?=\()|non-default args: (?=\{)")
_SIGN = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|['\"]|[()\[\]{}]")
_OTHER_LINE = re.compile(r"\s*(?:\[?\d{4}-\d\d-\d\d|\[|\(|[A-Z]{4,8} |Traceback|[\w.-]{1,80}\s{0,40}\|)")
_ROLE = re.compile(r"(?<=\w) (?:backend|library|package)\Z", re.IGNORECASE)  # what a component is for, behind its name
_TABLE_RULE = re.compile(r"\s*(?:\|\s*)?(?::?-{2,}:?\s*\|\s*)+(?::?-{2,}:?\s*)?\Z")


def variants(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield a paste as it is, and without each layer that most of its lines have around them, one layer and several."""
    readings = [list(lines)]
    for reading in readings:
        yield reading
        for way in _WAYS if len(readings) < MOST_VARIANTS else ():
            bare = way(reading)
            if bare is not None and (found := unquoted(bare)) not in readings:
                readings.append(found)


def unquoted(lines: Sequence[str]) -> list[str]:
    """Return lines without ``> `` where at least three in a row have it: a single one is a shell's prompt."""
    bare = list(lines)
    for _ in range(QUOTE_LEVELS):
        marks = [_QUOTE.match(line) for line in bare]
        if not any(marks):
            break
        runs = _run_lengths([mark is not None for mark in marks])
        bare = [line[mark.end():] if mark and run >= FEWEST_QUOTED else line for line, mark, run in zip(bare, marks, runs, strict=True)]
    return bare


def _run_lengths(flags: Sequence[bool]) -> list[int]:
    """Return for each flag how many in a row are like it."""
    lengths: list[int] = []
    for flag in flags:
        lengths.append(lengths[-1] + 1 if lengths and flags[len(lengths) - 1] == flag else 1)
    for at in range(len(lengths) - 2, -1, -1):
        if flags[at] == flags[at + 1]:
            lengths[at] = lengths[at + 1]
    return lengths


def _filled(lines: Sequence[str]) -> list[str]:
    """Return the lines that say something, of a long text those of its beginning."""
    return [line for line in lines[:ENOUGH] if line.strip() and not _FENCE.match(line)]


def _is_most(count: int, lines: Sequence[str]) -> bool:
    return count >= max(FEWEST_LIKE, MOSTLY * len(lines))


def _without_prefix(lines: Sequence[str]) -> list[str] | None:
    """Return lines without the kind of prefix that most of them have; None where they have none."""
    filled = _filled(lines)
    for prefix in (*_PREFIXES, _TIGHT_QUOTE):
        if _is_most(sum(prefix.match(line) is not None for line in filled), filled):
            return [prefix.sub("", line, count=1) if prefix.match(line) else line for line in lines]
    return None


def _without_numbers(lines: Sequence[str]) -> list[str] | None:
    """Return lines without the numbers that an editor or ``cat -n`` put before them: most follow each other."""
    filled = _filled(lines)
    for pattern in _NUMBERED:
        numbers = [int(found.group(1)) if (found := pattern.match(line)) else -9 for line in lines[:ENOUGH]]
        in_order = sum(numbers[at] == numbers[at - 1] + 1 > 0 for at in range(1, len(numbers)))
        if _is_most(in_order + 1, filled):
            return [pattern.sub("", line, count=1) if pattern.match(line) else line for line in lines]
    return None


def _without_around(lines: Sequence[str]) -> list[str] | None:
    """Return lines without the stars or backticks around most of them."""
    filled = _filled(lines)
    for pattern in _AROUND:
        if _is_most(sum(pattern.match(line) is not None for line in filled), filled):
            return [pattern.sub(r"\1", line) for line in lines]
    return None


def _without_bars(lines: Sequence[str]) -> list[str] | None:
    """Return the rows of a Markdown table as texts: two cells as a row of packages below such a heading, else as label and value."""
    if not any("|" in line and _TABLE_RULE.match(line) for line in lines) and not _is_most(sum(map(_is_barred, lines[:ENOUGH])), _filled(lines)):
        return None
    rows = [_ROW.match(line) for line in lines]
    is_packages = False
    bare: list[str] = []
    for line, row in zip(lines, rows, strict=True):
        cells = [cell.strip() for cell in row.group(1).split("|")] if row and "|" in row.group(1) else []
        is_packages = cells[0].lower() in ("package", "name", "library", "module") if len(cells) > 1 and not _is_row_before(bare, cells) else is_packages
        if _TABLE_RULE.match(line):
            continue
        if len(cells) > 1:
            bare.append("  ".join(cells) if is_packages or len(cells) > 2 else f"{_ROLE.sub('', cells[0].strip('*`'))}: {cells[1].strip('`')}")
        else:
            bare.append(row.group(1).removeprefix(" ").rstrip() if row else line)
    return bare


def _is_barred(line: str) -> bool:
    return _ROW.match(line) is not None


def _is_row_before(bare: Sequence[str], cells: Sequence[str]) -> bool:
    return bool(bare) and bool(bare[-1].strip()) and cells[0].lower() not in ("package", "name", "library", "module")


def _without_every_other(lines: Sequence[str]) -> list[str] | None:
    """Return lines without the empty ones between, where each second line is empty."""
    head = [bool(line.strip()) for line in lines[:ENOUGH]]
    alone = sum(filled and not before for before, filled in pairwise(head))
    return [line for line in lines if line.strip()] if alone > FEWEST_LIKE and alone >= 0.9 * sum(head) - 1 else None


def _unwrapped(lines: Sequence[str]) -> list[str] | None:
    """Return lines with those joined again that a terminal cut: the longest are all of one length, and some shorter ones follow them in the same fence."""
    width = max(map(len, lines), default=0)
    if not NARROWEST <= width <= WIDEST:
        return None
    bare: list[list[str]] = []
    for at, line in enumerate(lines):
        if at and len(lines[at - 1]) == width and line.strip() and not _FENCE.match(line):
            bare[-1].append(line)
        else:
            bare.append([line])
    is_wrapped = len(bare) < len(lines) and max(map(len, bare)) <= MOST_PIECES
    return ["".join(pieces) for pieces in bare] if is_wrapped else None


def _with_whole_arguments(lines: Sequence[str]) -> list[str] | None:
    """Return lines with a server's arguments joined again that were wrapped, at whatever width, before their bracket closed; not within a text."""
    bare: list[list[str]] = []
    depth = 0
    for line in lines:
        if depth > 0 and "=" in line and not _OTHER_LINE.match(line) and not _FENCE.match(line) and len(bare[-1]) < MOST_PIECES:
            bare[-1].append(line)
            depth = _opened(line, depth)
        else:
            bare.append([line])
            start = _ARGUMENTS.search(line) if "args" in line else None
            depth = _opened(line[start.end():], 0) if start else 0
    return ["".join(pieces) for pieces in bare] if len(bare) < len(lines) else None


def _opened(text: str, depth: int) -> int:
    """Return how many brackets are open behind a text, of those open before it; 0 where one closes that it begins in, or it ends within a text."""
    for sign in _SIGN.findall(text):
        depth += 1 if sign in "([{" else -1 if sign in ")]}" else 0
        if depth <= 0 or sign in "'\"":
            return 0
    return depth


_WAYS: tuple[Callable[[Sequence[str]], list[str] | None], ...] = (
    _without_prefix, _without_numbers, _without_around, _without_bars, _without_every_other, _unwrapped, _with_whole_arguments)
