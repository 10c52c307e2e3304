"""An audit as Markdown for an issue thread or a chat: the verdict, a table of the ways of differing, each folded below. Only lays out."""

from __future__ import annotations

from driftwatch.explain.words import count
from driftwatch.report.audit.night import COLUMNS, SAME, Night, Way
from driftwatch.report.audit.text import last_line, say_notes, sentence
from driftwatch.report.markdown import BUDGET, cell, code, say, summary
from driftwatch.report.page import Page
from driftwatch.report.short_names import fold

LONGEST_NAMES = 300


def render(night: Night, _page: Page) -> str:
    """Return the audit, shorter than 60,000 characters: ways of differing that do not fit are counted."""
    head = [f"**{night.word}** {say(sentence(night))}", "", f"{say(count(len(night.rows), 'host'))} against {code(night.against)}, {night.began_at}", ""]
    head += [*_table(night), *(f"- {mark} {say(says)}" for mark, says in say_notes(night)), ""]
    tail = [f"<sub>driftwatch · {say(last_line(night))}</sub>"]
    left = BUDGET - sum(len(line) + 1 for line in (*head, *tail)) - LONGEST_NAMES
    body: list[str] = []
    for place, way in enumerate(night.told):
        lines = _way(way)
        left -= sum(len(line) + 1 for line in lines)
        if left < 0:
            body.append(f"and {count(len(night.told) - place, 'more way')} of differing")
            break
        body += lines
    return "\n".join([*head, *body, *tail]) + "\n"


def _table(night: Night) -> list[str]:
    if not night.told:
        return []
    rows = ["| | hosts | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 2) + "|"]
    for way in night.told:
        names = ", ".join(fold(way.hosts))
        shown = names if len(names) <= LONGEST_NAMES else names[:LONGEST_NAMES] + "…"
        marks = " | ".join(f"`{way.cells.get(column, SAME)}`" for column in COLUMNS)
        rows.append(f"| {way.letter} | {len(way.hosts)}: {cell(shown)} | {marks} |")
    return [*rows, ""]


def _way(way: Way) -> list[str]:
    title = f"{way.letter}: {count(len(way.hosts), 'host')}{', new' if way.is_new else ''}: {way.says or 'seen in part'}"
    lines = [f"- {one.strength}: {say(one.says)}" + "".join(f"\n  - + {say(term)}" for term in one.because) for one in way.suspects]
    lines += [f"- {code(one.mark)} {code(one.path)} {code(one.good)} → {code(one.bad)}" for one in way.differences]
    lines += [f"- and {count(way.total - len(way.differences), 'more difference')}"] if way.total > len(way.differences) else []
    lines += [f"- {code('?')} {code(one.what)} {say(one.status)} {say(one.reason)}" for one in way.silent]
    lines += [f"- look: {code(way.look)}"] if way.look else []
    return [f"<details><summary>{summary(title)}</summary>", "", *lines, "", "</details>", ""]
