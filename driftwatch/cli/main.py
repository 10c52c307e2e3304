"""The entry: runs one command and turns whatever comes out into an exit code, here and nowhere else."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from driftwatch.cli.wiring.faults import WRONG_USE, tell
from driftwatch.report.clean import clean

STOPPED = 130
BROKEN_PIPE = 141


def run() -> NoReturn:
    """Run the command of this process and leave with its exit code."""
    gc.set_threshold(50_000, 20, 20)  # a command is short: fewer looks for cycles, about a twentieth off its start
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Return the exit code of a command line."""
    try:
        code = _obey(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        code = BROKEN_PIPE
    except Exception as failed:  # noqa: BLE001  # the one place where exceptions end
        if _wants_traceback(arguments):
            import traceback  # noqa: PLC0415  # only for those who ask

            traceback.print_exc()
        code = _complain(failed)
    if code == BROKEN_PIPE:
        _close_quietly()
    return code


def _obey(arguments: Sequence[str]) -> int:
    from driftwatch.cli.wiring.commands import build_root  # noqa: PLC0415  # so that an error at import is told like any other

    try:
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
    told = tell(failed)
    for one in told:
        lines = [f"error: {clean(one.what)}", f" where: {clean(one.where)}" if one.where else "", f"    do: {clean(one.do)}" if one.do else ""]
        text = "\n".join(line for line in lines if line)
        print(text.encode(sys.stderr.encoding or "ascii", "backslashreplace").decode(sys.stderr.encoding or "ascii"), file=sys.stderr)  # noqa: T201
    return max((one.code for one in told), default=WRONG_USE)


def _wants_traceback(arguments: Sequence[str]) -> bool:
    """Tell whether -vv was given: the options may not have been read when something failed."""
    return sum(len(one) - 1 for one in arguments if one.startswith("-v") and set(one[1:]) == {"v"}) + list(arguments).count("--verbose") > 1


def _close_quietly() -> None:
    """Point standard output at nothing, so that nobody complains about the broken pipe at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
