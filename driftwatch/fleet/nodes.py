"""Names of hosts from their short form, as Slurm and ClusterShell write it: ``gpu-r[01-12]-[01-16]``. Pure text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from driftwatch.fleet.errors import FleetError

MOST_NAMES = 100_000
EXAMPLE = "write gpu[01-16], gpu[01,03,05-08], or plain names"
_PART = re.compile(r"\[([^\[\]]*)\]")
_ADDRESS = re.compile(r"\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.%]*\]")
_NAME = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\]|[\[\]])+")
_COLONS = re.compile(r"\[(\d+):(\d+)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def expand(text: str) -> tuple[str, ...]:
    """Return the names that a text with bracketed ranges stands for, in its order; one without, or with an IPv6 address in brackets, is one name.

    Numbers keep their leading zeros. Raises FleetError for a bracket that is none, and where more than 100,000 names would come of it.
    """
    if _ADDRESS.search(text):
        return (text,)
    pieces = _PART.split(text)
    if any("[" in one or "]" in one for one in pieces[::2]):
        raise FleetError(f"{text!r}: a bracket without its other half", do=EXAMPLE)
    choices = [_numbers(one, text) if place % 2 else (one,) for place, one in enumerate(pieces)]
    total = 1
    for one in choices:
        total *= len(one)
    if total > MOST_NAMES:
        raise FleetError(f"{text!r} stands for {total:,} names, more than {MOST_NAMES:,}", do="name fewer at once")
    return tuple("".join(parts) for parts in itertools.product(*choices))


def expand_colons(text: str) -> tuple[str, ...]:
    """Return the names that a text with Ansible's ranges stands for: ``gpu[01:16]``."""
    return expand(_COLONS.sub(r"[\1-\2]", text))


def split_names(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas between, where a comma inside brackets separates nothing."""
    return tuple(found for one in _NAME.findall(text) if (found := one.strip()))


def _numbers(inside: str, text: str) -> Sequence[str]:
    found: list[str] = []
    for one in inside.split(","):
        limits = _RANGE.fullmatch(one.strip())
        if limits is None or (limits[2] and int(limits[2]) < int(limits[1])):
            raise FleetError(f"{text!r}: [{inside}] is no range of numbers", do=EXAMPLE)
        low, high = int(limits[1]), int(limits[2] or limits[1])
        if high - low >= MOST_NAMES:
            raise FleetError(f"{text!r} stands for more than {MOST_NAMES:,} names", do="name fewer at once")
        found += [f"{number:0{len(limits[1])}}" for number in range(low, high + 1)]
    return found
