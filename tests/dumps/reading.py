"""Helpers for tests of single formats: what one format alone reads in a paste, without the cleaning and merging of read.py."""

from driftwatch.dumps.format import FENCE, Format
from driftwatch.model import Unknown


def stretches(one: Format, text: str):
    """Return the stretches of a paste that a format wants, and the lines."""
    lines = tuple(FENCE if line.strip().startswith("```") else line for line in text.split("\n"))
    return list(one.find(lines)), lines


def parsed(one: Format, text: str):
    """Return what a format reads in each of its stretches."""
    found, lines = stretches(one, text)
    texts = ["\n".join("" if line == FENCE else line for line in lines[stretch.first:stretch.after]) for stretch in found]
    return [one.parse(body + "\n") for body in texts]


def facts(one: Format, text: str):
    """Return all facts that a format reads in a paste."""
    return {path: value for part in parsed(one, text) for path, value in part.facts.items()}


def is_unknown(value, words=""):
    """Tell whether a fact is unknown, for a reason that holds some words."""
    return isinstance(value, Unknown) and words in value.reason
