"""An audit in a terminal: one line of verdict, one row for each way of differing, then what each of them is."""

from __future__ import annotations

from driftwatch.explain.words import count
from driftwatch.report.audit.night import COLUMNS, DISAGREES, SAME, UNKNOWN, UNREACHABLE, Night, Row, Way
from driftwatch.report.page import Page, measure, pad
from driftwatch.report.short_names import fold

STYLES = {"DRIFT": "verdict", "SAME": "same", "UNKNOWN": "warn"}
LEGEND = ". same  ~ changed  ! disagrees with itself  ? no answer  x unreachable"
SHOWN_DIFFERENCES = 5
SHOWN_SILENT = 4
MARK_COLUMNS = 4
LEAST_NAMES = 20
LEAD = 8


def render(night: Night, page: Page, *, is_whole: bool = False) -> str:
    """Return the audit as text. ``is_whole``: a row for each host instead of one for each way of differing."""
    blocks = [[_head(night, page)], _verdict(night, page), _matrix(night, page, is_whole=is_whole), _notes(night, page)]
    blocks += [_way(way, page) for way in night.told if way.state != "unreachable"]
    blocks.append([page.paint("dim", page.say(last_line(night)))])
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block) + "\n"


def _head(night: Night, page: Page) -> str:
    hosts = count(len(night.rows), "host")
    return page.paint("head", page.say(f"audit  {hosts} against {night.against}  {night.began_at}  took {say_span(night.elapsed_s)}"))


def say_span(seconds: float) -> str:
    """Return a span of time in words."""
    return f"{seconds:.0f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _verdict(night: Night, page: Page) -> list[str]:
    lines = page.wrap(sentence(night), f"{night.word:<9}", " " * 9)
    return [page.paint(STYLES[night.word], night.word) + lines[0][len(night.word):], *lines[1:]]


def sentence(night: Night) -> str:
    """Return the whole audit in one or two sentences."""
    ways = sum(way.state == "drift" for way in night.ways)
    drifted, same = night.count("drift"), night.count("same")
    parts = [f"{count(drifted, 'host')} {'differs' if drifted == 1 else 'differ'} in {count(ways, 'way')}"] if drifted else []
    parts += [f"{number} {word}" for number, word in (
        (night.count("unseen"), "could not be seen whole"), (night.count("unreachable"), "unreachable"), (night.count("no baseline"), "without a baseline"),
        (night.count("not asked"), "not asked any more"),
    ) if number]
    if not parts:
        return ("the host is as its baseline" if same == 1 else f"all {same} hosts are as their baseline") + "." + _left_out(night)
    parts += [f"{same} the same"] if same else []
    new = ", ".join(way.letter for way in night.ways if way.is_new)
    tail = f" New: {new}." if new else " Nothing new since the last audit." if night.ways else ""
    return "; ".join(parts) + "." + tail + _left_out(night)


def _left_out(night: Night) -> str:
    known = sum(row.acknowledged for row in night.rows)
    return f" {count(known, 'acknowledged difference')} left out." if known else ""


def _matrix(night: Night, page: Page, *, is_whole: bool) -> list[str]:
    """Return the marks by column: a row for each way, the others as one."""
    columns = _shown_columns(night)
    room = max(LEAST_NAMES, page.room - LEAD - len(columns) * MARK_COLUMNS)
    rows = _host_rows(night) if is_whole else _way_rows(night)
    if not columns or not rows:
        return []
    names = min(room, max(measure(page.say(name)) for _, _, name, _ in rows))
    head = " " * (names + LEAD) + "".join(column.ljust(MARK_COLUMNS) for column in columns)
    lines = [page.paint("dim", head)]
    for letter, number, name, cells in rows:
        said = _cut(page.say(name), names)
        lines.append(f"{letter:<2}{number:>4} {pad(said, names)} " + "".join(cells.get(column, SAME).ljust(MARK_COLUMNS) for column in columns))
    return [*lines, "", page.paint("dim", page.say(LEGEND))]


def _shown_columns(night: Night) -> list[str]:
    """Return the columns, without the last where nobody differs there: it is the one for whatever has none of its own."""
    first = list(COLUMNS)[:-1]
    last = list(COLUMNS)[-1]
    return [*first, last] if any(way.cells.get(last, SAME) not in (SAME, UNREACHABLE) for way in night.ways) else first


def _way_rows(night: Night) -> list[tuple[str, str, str, dict[str, str]]]:
    rows = [(way.letter, f"{len(way.hosts):,}", ", ".join(fold(way.hosts)), dict(way.cells)) for way in night.told]
    others = [row for row in night.rows if row.state == "same"]
    if others:
        name = "all others" if rows else ", ".join(fold(row.host for row in others))
        rows.append(("", f"{len(others):,}", name, {}))
    return rows


def _host_rows(night: Night) -> list[tuple[str, str, str, dict[str, str]]]:
    cells = {way.letter: dict(way.cells) for way in night.ways}
    return [(row.way, "", row.host, cells.get(row.way, {})) for row in night.rows if row.state not in ("no baseline", "not asked")]


def _cut(text: str, columns: int) -> str:
    """Return a text of at most so many columns, closed by dots where it was cut."""
    if measure(text) <= columns:
        return text
    while measure(text) > columns - 2:
        text = text[:-1]
    return text + ".."


def _notes(night: Night, page: Page) -> list[str]:
    """Return a line for whatever is no row of the matrix."""
    return [line for mark, says in say_notes(night) for line in page.wrap(says, f"{mark} ", "  ")]


def say_notes(night: Night) -> list[tuple[str, str]]:
    """Return a mark and a sentence for hosts without a baseline, out of reach, or with two names for one machine."""
    told = []
    for state, word in (("unreachable", "no answer"), ("no baseline", "no baseline"), ("not asked", "not asked")):
        rows = [row for row in night.rows if row.state == state and (row.new or state != "unreachable" or not night.only_new)]
        mark = UNREACHABLE if state == "unreachable" else UNKNOWN
        told += [(mark, f"{', '.join(fold(hosts))}: {reason or word}") for reason, hosts in _by_reason(rows)]
    told += [(DISAGREES, f"{', '.join(twins)}: one machine (the same boot id), counted {len(twins)} times") for twins in night.twins]
    return told


def _by_reason(rows: list[Row]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.reason.replace(row.host, "HOST"), []).append(row.host)
    return [(reason.replace("HOST", hosts[0]) if len(hosts) == 1 else reason, hosts) for reason, hosts in found.items()]


def _way(way: Way, page: Page) -> list[str]:
    """Return what a way of differing is: its sentence, its suspects with their evidence, what differs, what gave no answer, and the next look."""
    says = way.says if way.state == "drift" else "seen in part"
    lines = page.wrap(f"{count(len(way.hosts), 'host')}{', new' if way.is_new else ''}: {says}", f"{way.letter} ", "  ")
    lines[0] = page.paint("head", lines[0])
    for one in way.suspects:
        lines += page.wrap(f"{one.strength}: {one.says}", "  ", "    ") if one.says != way.says else []
        for term in one.because:
            lines += page.wrap(term, "  + ", "    ")
    if not way.suspects:
        for difference in way.differences[:SHOWN_DIFFERENCES]:
            lines += page.wrap(f"{difference.path}  {difference.good} → {difference.bad}", f"  {difference.mark} ", "      ")
    for silent in way.silent[:SHOWN_SILENT]:
        lines += page.wrap(f"{silent.what}: {silent.status.replace('_', ' ')}{': ' + silent.reason if silent.reason else ''}", "  ? ", "    ")
    more = ((_left(way), "more difference", ""), (len(way.silent) - SHOWN_SILENT, "more without an answer", "more without an answer"))
    rest = [count(number, *words) for number, *words in more if number > 0]
    lines += page.wrap(", ".join(rest), "  ", "  ") if rest else []
    return lines + (page.command("look", way.look, "", 2) if way.look else [])


def _left(way: Way) -> int:
    """Return how many differences are not shown: those that suspects tell count as told only as far as they are single ones."""
    return way.total - (len(way.suspects) if way.suspects else min(len(way.differences), SHOWN_DIFFERENCES))


def last_line(night: Night) -> str:
    """Return the counts and the exit code."""
    stopped = "stopped by Ctrl-C · " if night.is_stopped else ""
    return f"{stopped}{count(len(night.rows), 'host')} · {count(len(night.ways), 'way')} of differing · exit {night.exit_code}"
