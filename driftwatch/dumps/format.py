"""The nouns of the room: Format, Stretch, Parsed. A format is one file that offers ``FORMAT``; the folder is scanned.

The whole paste is cleaned once (driftwatch/dumps/clean.py: Windows line ends, quoting, escapes, log prefixes, links made by a forge) and cut
into lines; a line that was a code fence or an HTML tag is FENCE. Each format finds its own stretches among those lines, so several dumps in
one paste, even without a separator, are each read by the format that knows them. Lines that two formats want go to the surer one; the other
keeps what is left. A format with ``is_nested`` is also looked for inside the stretches of others (a topology matrix inside check_env).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driftwatch.model import Symptom

FENCE = "\f"


class NoDump(Exception):
    """A text that no format knows, or that is too large. The message says what was looked for."""


class NoFacts(NoDump):
    """A text that formats know, and in which no fact stands. The message says as what it was read."""


@dataclass(frozen=True)
class Stretch:
    """Lines ``first`` up to, not including, ``after``, that one format wants; ``sure`` runs from 0 (a guess) to 1 (its own title stands there).

    ``is_spare``: wanted as a whole, and only where no surer format takes a line of it behind its first.
    """

    first: int
    after: int
    sure: float
    is_spare: bool = False


@dataclass(frozen=True)
class Parsed:
    """What one stretch told.

    ``facts``: path -> JSON value, or ``model.Unknown(status, reason)`` where the text says that a thing could not be read.
    ``tells``: globs of paths that were printed *whole*: a path below them that is no fact is known to be absent (``pip list`` of a whole
    environment: ``packages/*/version``). Leave a glob out where the text may be cut or where the tool looks for a fixed list of names only.
    """

    facts: Mapping[str, Any]
    tells: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    host: str | None = None
    taken_at: str | None = None
    symptom: Symptom | None = None
    targets: tuple[Mapping[str, Any], ...] = ()
    volatile: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """One layout: the ``source`` of docs/explanation.md, how its stretches are found, how one is read, and what it can never print.

    ``never_prints`` are globs for people and for *not checked*: what no fact tells is not recorded unless a stretch says ``tells``.
    ``find`` gets the cleaned lines (no line ends, no blanks at their ends); it must be linear in the text (no nested quantifiers).
    ``parse`` gets a stretch's lines joined by newlines; its text ends in a newline unless the paste itself was cut in that last line, whose last
    value may then be a piece of one. Facts hold texts as printed: secrets are masked by read.py, once, for all formats (variables below
    ``env/`` or ``.../env/`` by their names). Several stretches that tell one path differently become Unknown there, not in the formats.
    ``knows_cuts``: ``parse`` itself judges a last line that was cut; for any other format read.py takes what only that line tells as unknown.
    ``marks``: words of which every dump of this layout holds one, so that a long text without any of them is not searched line by line.
    """

    name: str
    find: Callable[[Sequence[str]], Iterable[Stretch]]
    parse: Callable[[str], Parsed]
    looks_like: str
    never_prints: tuple[str, ...] = ()
    is_nested: bool = False
    marks: tuple[str, ...] = ()
    knows_cuts: bool = False
