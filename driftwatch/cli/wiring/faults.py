"""Errors of the command line, and the one place where every room's exception becomes an exit code and three lines: what, where, what to do."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

WRONG_USE = 2
OUR_OWN = 70
LONGEST_CAUSE = 200
CODES = MappingProxyType({
    "driftwatch.store.errors.StoreError": WRONG_USE,
    "driftwatch.settings.SettingsError": WRONG_USE,
    "driftwatch.capture.plan.CaptureError": WRONG_USE,
    "driftwatch.transports.destination.BadDestination": WRONG_USE,
    "driftwatch.explain.rule.ExplainError": WRONG_USE,
    "driftwatch.cli.wiring.faults.UsageFault": WRONG_USE,
    "driftwatch.fleet.errors.FleetError": WRONG_USE,
})


@dataclass(frozen=True)
class Told:
    """An error as it is told: its exit code, and what, where and what to do."""

    code: int
    what: str
    where: str = ""
    do: str = ""


class UsageFault(Exception):
    """A command line that cannot be followed, or a file that it names and that cannot be used."""

    def __init__(self, what: str, where: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.do = do


class SeveralFaults(Exception):
    """More than one thing is wrong, and each is told."""

    def __init__(self, faults: list[Exception]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


def tell(failed: Exception) -> list[Told]:
    """Return an exception as what is told of it. One that no room raises on purpose is our own fault."""
    if isinstance(failed, SeveralFaults):
        return list(dict.fromkeys(told for one in failed.faults for told in tell(one)))
    for name in _names(failed):
        if name in CODES:
            told = [str(getattr(failed, key, "")) for key in ("what", "where", "do")]
            return [Told(getattr(failed, "code", CODES[name]), told[0] or str(failed), *told[1:])]
    if hasattr(failed, "format_message"):
        return [_of_typer(failed)]
    return [_own(failed)]


def _names(failed: Exception) -> Iterator[str]:
    for one in type(failed).__mro__:
        yield f"{one.__module__}.{one.__qualname__}"


def _of_typer(failed: Exception) -> Told:
    """Return typer's own complaint about a command line. Its classes moved between releases, so it is known by its method."""
    path = getattr(getattr(failed, "ctx", None), "command_path", "driftwatch")
    said: str = failed.format_message()  # type: ignore[attr-defined]  # asked for by the caller
    return Told(WRONG_USE, said[:1].lower() + said[1:].rstrip("."), do=f"{path} --help")


def _own(failed: Exception) -> Told:
    frames = traceback.extract_tb(failed.__traceback__)
    where = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
    return Told(OUR_OWN, own_failure(failed), where, "repeat it with -vv for the traceback, and report it")


def own_failure(failed: Exception) -> str:
    """Return what is told of an exception that no room raises on purpose."""
    cause = f"{type(failed).__name__}: {failed}"[:LONGEST_CAUSE]
    return f"driftwatch itself failed ({cause})"
