"""The entry: runs one command and turns whatever comes out into an exit code, here and nowhere else."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

WRONG_USE = 2
NOT_STORED = 4
UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO)  # of a write to what is open; every other write of ours is told by its room
STOPPED = 130
BROKEN_PIPE = 141


def run() -> NoReturn:
    """Run the command of this process and leave with its exit code."""
    gc.set_threshold(50_000, 20, 20)  # a command is short: fewer looks for cycles, about a twentieth off its start
    _stand_in_for_closed()
    sys.exit(main(sys.argv[1:]))


def _stand_in_for_closed() -> None:
    """Give streams that are closed a stand-in: else what is told on one lands on the other, or in the next file that is opened."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # a write to it fails
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Return the exit code of a command line."""
    try:
        code = _obey(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        code = BROKEN_PIPE
    except Exception as failed:  # noqa: BLE001  # the one place where exceptions end
        code = _fail(failed, arguments)
    if code == BROKEN_PIPE:
        _close_quietly()
    return code


def _fail(failed: Exception, arguments: Sequence[str]) -> int:
    """Tell a failure and return its exit code. Where standard output takes nothing, it is no failure of ours."""
    if isinstance(failed, OSError) and failed.errno in UNWRITTEN and failed.filename is None:
        why = (failed.strerror or str(failed)).lower()
        print(f"error: the answer was not written: {why}\n where: standard output\n    do: -o FILE writes it there", file=sys.stderr)  # noqa: T201  # as below
        _close_quietly()
        return NOT_STORED
    if _wants_traceback(arguments):
        import traceback  # noqa: PLC0415  # only for those who ask

        traceback.print_exc()
    return _complain(failed)


def _obey(arguments: Sequence[str]) -> int:
    try:
        from driftwatch.cli.wiring.commands import build_root  # noqa: PLC0415  # so that an error at import is told like any other, and Ctrl-C too

        code = build_root().main(args=list(arguments), prog_name="driftwatch", standalone_mode=False)
    except KeyboardInterrupt:
        code = STOPPED
    except SystemExit as left:
        code = left.code
    if code == STOPPED:
        print("stopped", file=sys.stderr)  # noqa: T201  # the last word of a stopped run
    return code if isinstance(code, int) else 0


def _complain(failed: Exception) -> int:
    """Print what is wrong, where and what to do, and return the exit code."""
    from driftwatch.cli.wiring.faults import tell  # noqa: PLC0415  # so that Ctrl-C is heard of from the first moment
    from driftwatch.report.clean import clean  # noqa: PLC0415  # as above

    told = tell(failed)
    for one in told:
        what, where, do = (clean(" ".join(text.split("\n"))) for text in (one.what, one.where, one.do))
        lines = [f"error: {what}", f" where: {where}" if where else "", f"    do: {do}" if do else ""]
        text = "\n".join(line for line in lines if line)
        print(text.encode(sys.stderr.encoding or "ascii", "backslashreplace").decode(sys.stderr.encoding or "ascii"), file=sys.stderr)  # noqa: T201
    return max((one.code for one in told), default=WRONG_USE)


def _wants_traceback(arguments: Sequence[str]) -> bool:
    """Tell whether -vv was given: the options may not have been read when something failed."""
    return sum(len(one) - 1 for one in arguments if one.startswith("-v") and set(one[1:]) == {"v"}) + list(arguments).count("--verbose") > 1


def _close_quietly() -> None:
    """Point standard output at nothing, so that nobody complains about the broken pipe at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
