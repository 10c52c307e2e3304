"""Puts an answer where it belongs: standard output, a pager, or the file of --out. Text is laid out and made harmless before it comes here."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from driftwatch.cli.wiring.desk import Desk
from driftwatch.store import durable
from driftwatch.store.errors import NOT_STORED, StoreError

if TYPE_CHECKING:
    from driftwatch.model import Snapshot

T = TypeVar("T")

PAGER = "less -FRX"
SCREEN = (80, 24)
PIECE = 1 << 15


def answer(desk: Desk, text: str) -> None:
    """Put the answer of a command where the user wants it."""
    if desk.given.out not in (None, "-"):
        write_file(str(desk.given.out), text.encode("utf-8", "backslashreplace"))
    elif not _page_through(desk, text):
        print_text(text)


def answer_either(desk: Desk, text: str, value: Any) -> None:
    """Put an answer where the user wants it, as text or as JSON."""
    answer(desk, json.dumps(value, indent=1) + "\n" if desk.given.format == "json" else text)


def without_names(told: T, snapshots: Iterable[Snapshot]) -> T:
    """Return what is told without what tells whose machines the snapshots are of (``--anonymise``)."""
    from driftwatch.report.anonymous import anonymise  # noqa: PLC0415  # only for those who ask

    return anonymise(told, snapshots)


def print_text(text: str) -> None:
    """Write to standard output in pieces: CPython 3.11 does not notice that the reader went away in the middle of one long write."""
    for start in range(0, len(text), PIECE):
        sys.stdout.write(text[start : start + PIECE])
    sys.stdout.flush()


def write_file(path: str, data: bytes) -> None:
    """Write a file that the user named, over one that stands there, whole or not at all. Raises StoreError (code 4) where that fails."""
    place = Path(path)
    try:
        if place.exists() and not place.is_file():
            _write_into(place, data)
        else:
            target = place.resolve()
            durable.write_over(target.parent, target.name, data)
    except (OSError, RuntimeError) as failed:
        why = (getattr(failed, "strerror", None) or str(failed)).lower()
        raise StoreError(f"{place.name or path} was not written: {why}", path, "name another place with --out, or - for standard output", NOT_STORED) from None


def _write_into(place: Path, data: bytes) -> None:
    """Write into a device or a FIFO; one that nobody reads is refused at once."""
    if stat.S_ISDIR(place.stat().st_mode):
        raise OSError(0, "it is a folder")
    descriptor = os.open(place, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _page_through(desk: Desk, text: str) -> bool:
    """Show a text in the pager if it is longer than the terminal; False where it was not shown."""
    if not (desk.given.has_pager and sys.stdout.isatty()) or text.count("\n") < shutil.get_terminal_size(SCREEN).lines:
        return False
    told = desk.settings.environment.pager
    words = shlex.split(PAGER if told is None else told)
    if not words or shutil.which(words[0]) is None:
        return False
    with contextlib.suppress(KeyboardInterrupt):
        subprocess.run(words, input=text.encode("utf-8", "backslashreplace"), check=False)
    return True
