"""A page of plain text: how wide a line may be, whether it has colour and Unicode, how text is wrapped and a command continued.

Knows nothing of explanations. All text that it lays out goes through :func:`~driftwatch.report.clean.clean` first, and into ASCII before it
is wrapped where the output cannot show more. Lines are plain; colour is put on afterwards, so that it never counts as width.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from types import MappingProxyType

from driftwatch.report.clean import clean

SGR = MappingProxyType({
    "head": "1", "good": "32", "bad": "31", "unknown": "33", "code": "36", "dim": "2", "verdict": "1;31", "same": "1;32", "warn": "1;33",
})
ASCII = str.maketrans({
    "→": "->", "\N{MINUS SIGN}": "-", "\N{MULTIPLICATION SIGN}": "x", "≥": ">=", "≤": "<=", "…": "...", "≠": "!=", "·": "-", "\N{EN DASH}": "-", "—": "-",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
})
LEAST_WIDTH = 40
LARGEST_WIDTH = 120
_SHELL_WORD = re.compile(r"""#.*|(?:\\.|'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$)|[^ '"\\]|\\$)+""")
_WORD = re.compile(r"( ? ?) *([^ ]+)")
_NESTED_QUOTES = re.compile(r"\$[('{]|`")


def measure(text: str) -> int:
    """Return how many columns of a terminal a text takes: 2 for a wide character, 0 for a combining mark."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def pad(text: str, columns: int) -> str:
    """Return the text with blanks behind it, so that it takes at least so many columns."""
    return text + " " * (columns - measure(text))


@dataclass(frozen=True)
class Page:
    """How wide a line may be, in columns, and what it may use."""

    width: int = 80
    color: bool = False
    unicode: bool = True

    @property
    def room(self) -> int:
        """Return the columns that text is laid out for: the width, but at least 40 and at most 120."""
        return max(LEAST_WIDTH, min(self.width, LARGEST_WIDTH))

    def paint(self, style: str, text: str) -> str:
        """Return the text in a style, if styles are wanted."""
        return f"\x1b[{SGR[style]}m{text}\x1b[0m" if self.color and text else text

    def say(self, text: str) -> str:
        """Return a text that is safe to print: nothing in it steers the terminal, and it is ASCII where the page has no Unicode."""
        shown = clean(text)
        return shown if self.unicode else shown.translate(ASCII).encode("ascii", "backslashreplace").decode("ascii")

    def wrap(self, text: str, first: str, rest: str) -> list[str]:
        """Return the text as lines no wider than the page that begin with ``first``, then with ``rest`` (both plain blanks or said already).

        Breaks stand at blanks; two blanks inside a line are kept, a word that fits on no line is cut. A text without words gives ``first`` alone.
        """
        lines: list[str] = []
        line, is_empty = first, True
        for gap, word in _WORD.findall(self.say(text)):
            left = word
            if not is_empty and measure(line) + len(gap) + measure(left) > self.room:
                lines.append(line)
                line, is_empty = rest, True
            while left and is_empty and measure(line) + measure(left) > self.room:
                head, left = _cut(left, self.room - measure(line))
                lines.append(line + head)
                line = rest
            line += left if is_empty else gap + left
            is_empty = False
        return [*lines, line]

    def command(self, label: str, run: str, note: str, indent: int) -> list[str]:
        """Return a command so that it can be pasted: continued only with a closing backslash, its note on lines of its own.

        A command that has no place to be continued runs over the width; everything else stays inside it.
        """
        lead = " " * indent + f"{label:<9}"
        more = " " * (len(lead) + 2)
        rows = continued(self.say(run), self.room - len(lead), self.room - len(more))
        lines = [(self.paint("dim", lead) if number == 0 else more) + self.paint("code", row) for number, row in enumerate(rows)]
        return lines + ([self.paint("dim", line) for line in self.wrap(note, more, more)] if note else [])


def _cut(word: str, columns: int) -> tuple[str, str]:
    """Return the part of a word that fits into so many columns (at least one character), and the rest."""
    taken = 1
    while taken < len(word) and measure(word[: taken + 1]) <= columns:
        taken += 1
    return word[:taken], word[taken:]


def continued(command: str, first: int, rest: int) -> list[str]:
    """Return a shell command as rows of at most ``first``, then ``rest`` columns, all but the last closed by a backslash.

    A row ends only at a blank outside quotes, and never within or before a ``#`` comment: a break there would change what runs. Where
    quotes may stand inside quotes (``$(…)``, ``$'…'``) there is no row end at all.
    """
    if _NESTED_QUOTES.search(command):
        return [command]
    rows: list[str] = []
    row, end = "", 0
    for found in _SHELL_WORD.finditer(command):
        gap, word = command[end : found.start()], found.group()
        end = found.end()
        room = (rest if rows else first) - len(" \\")
        if row and gap and measure(row + gap + word) > room and not word.startswith("#"):
            rows.append(row + " \\")
            row = word
        else:
            row += gap + word if row else word
    return [*rows, row]
