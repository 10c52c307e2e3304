"""A plain table: columns set by the widest cell, the last one wrapped. For commands that list things; knows nothing of what it lists."""

from __future__ import annotations

from collections.abc import Sequence

from driftwatch.report.page import Page, measure, pad

LEAST_TEXT = 24


def columns(rows: Sequence[Sequence[str]], page: Page) -> str:
    """Return rows of cells as aligned lines, each ending with a line feed, none wider than the page; no rows give an empty text.

    The last cell of a row is wrapped under itself. Where the others leave it less than 24 columns, the cells are run on with two blanks between.
    """
    said = [[page.say(cell) for cell in row] for row in rows]
    widths = [max(map(measure, column)) for column in _columns(said)]
    lead_columns = sum(width + 2 for width in widths)
    lines: list[str] = []
    for row in said:
        if lead_columns > page.room - LEAST_TEXT:
            lines += page.wrap("  ".join(cell for cell in row if cell), "", " " * 4)
        else:
            lead = "".join(pad(cell, width) + "  " for cell, width in zip(row[:-1], widths, strict=False))
            lines += page.wrap(row[-1], lead, " " * lead_columns) if row else [""]
    return "".join(line.rstrip() + "\n" for line in lines)


def _columns(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the cells by column, without the last of each row."""
    longest = max((len(row) for row in rows), default=0)
    return [[row[place] for row in rows if place < len(row) - 1] or [""] for place in range(longest - 1)]
