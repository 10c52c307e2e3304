"""From the bytes of a file or of standard input to a snapshot: our own file, or a dump of another tool, known by looking at its text."""

from __future__ import annotations

from itertools import chain
from pathlib import Path, PurePath

from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.named import is_file
from driftwatch.model import Snapshot
from driftwatch.store import document
from driftwatch.store.errors import StoreError

MARKS = ('"format"', '"facts"', '"agent"', '"probes"')
HEAD = 4096
GZIP = b"\x1f\x8b"
LOG = "server-log"
LOG_HEAD = 256 << 10
ADVICE = "paste the whole output of one of these, or name its kind with --as"


def snapshot_of(data: bytes, name: str, read_as: str | None = None) -> Snapshot:
    """Return the snapshot that bytes hold, or that a dump in them tells. ``read_as`` names a dump's format where looking at it is not enough.

    Raises StoreError: for a damaged snapshot as that, for any other text with what was looked for.
    """
    if read_as is None and _is_snapshot(data):
        return document.parse(data, name)
    from driftwatch.dumps.clean import decode  # noqa: PLC0415  # stored snapshots need no parser of dumps
    from driftwatch.dumps.format import NoDump, NoFacts  # noqa: PLC0415  # as above
    from driftwatch.dumps.read import read_dump  # noqa: PLC0415  # as above

    short = PurePath(name).name or name
    if data.startswith(GZIP):
        raise StoreError(f"{short} is compressed with gzip, and of that only a server's log is read", name, f"gunzip {short}, and name what comes out")
    try:
        return read_dump(decode(data), short, read_as=_known(read_as))
    except NoDump as none:
        why, _, kinds = str(none).partition(f"{short} was searched for ")
        is_known = isinstance(none, NoFacts)
        what = f"{short} {'tells nothing' if is_known else 'is no snapshot, and no dump that is known'}{': ' if why else ''}{why.rstrip('; ')}"
        raise StoreError(what, name, f"{ADVICE}{': ' if kinds else ''}{kinds if is_known or read_as or not kinds else ', '.join(_names())}") from None


def snapshot_of_log(path: Path, read_as: str | None = None) -> Snapshot | None:
    """Return what a server's log tells that is gzip'd or too long for a dump, read as a stream; None for a file that is neither, or begins like no log."""
    from driftwatch.dumps.clean import LARGEST_TEXT  # noqa: PLC0415  # as above
    from driftwatch.dumps.read import read_dump  # noqa: PLC0415  # as above
    from driftwatch.dumps.server_log import FORMAT  # noqa: PLC0415  # as above
    from driftwatch.log_stream import condense  # noqa: PLC0415  # as above
    from driftwatch.store.log_file import log_chunks  # noqa: PLC0415  # as above

    if read_as not in (None, LOG) or not is_file(path) or (path.stat().st_size <= LARGEST_TEXT and path.suffix != ".gz"):
        return None
    chunks = log_chunks(path)
    first = next(chunks, b"")
    if not any(True for _ in FORMAT.find(first[:LOG_HEAD].decode("utf-8", "replace").splitlines())):
        return None
    return read_dump(condense(chain((first,), chunks)).text.replace("\0", ""), path.name, read_as=LOG)


def _is_snapshot(data: bytes) -> bool:
    """Tell whether bytes were meant to be a snapshot of ours: JSON with one of its keys near its beginning."""
    head = data[:HEAD]
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = head.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
    return text.startswith(("{", "[")) and any(mark in text for mark in MARKS)


def _known(read_as: str | None) -> str | None:
    if read_as is not None and read_as not in _names():
        raise UsageFault(f"--as {read_as}: there is no such dump", do=f"one of: {', '.join(_names())}")
    return read_as


def _names() -> list[str]:
    from driftwatch.dumps.read import formats  # noqa: PLC0415  # as above

    return sorted({one.name for one in formats()})
