"""What `schedule` does: words the audit as a command of its own, and writes units or a crontab line where that is asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.inventories import selected
from driftwatch.cli.wiring.keeping import store_address
from driftwatch.cli.wiring.output import write_file
from driftwatch.fleet.schedule import SERVICE, TIMER, Timing, cron_line, service_unit, timer_unit, with_line

SYSTEM_UNITS = Path("/etc/systemd/system")
OWN_UNITS = "systemd/user"
CRONTAB_S = 30.0


@dataclass(frozen=True)
class Wanted:
    """What the options of `schedule` ask for."""

    hosts: tuple[str, ...]
    timing: Timing
    is_cron: bool = False
    against: str | None = None
    only_new: bool = True


@dataclass(frozen=True)
class Piece:
    """A file to be written; a crontab line has no path of its own."""

    path: Path | None
    text: str


def planned(wanted: Wanted, desk: Desk) -> tuple[Piece, ...]:
    """Return the files, or the line, of a scheduled audit."""
    if not wanted.hosts:
        selected((), desk)  # raises where the audit would have no host either
    argv = _argv(wanted, desk)
    if wanted.is_cron:
        return (Piece(None, cron_line(argv, wanted.timing, os.uname().nodename)),)
    folder = _unit_folder()
    return Piece(folder / SERVICE, service_unit(argv)), Piece(folder / TIMER, timer_unit(wanted.timing))


def install(pieces: Sequence[Piece], desk: Desk) -> str:
    """Write the files, or the line into the user's crontab, and return what to do next."""
    if pieces[0].path is None:
        _into_crontab(pieces[0].text)
        return "crontab -l   shows it\n"
    for one in pieces:
        path = Path(str(one.path))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(str(path), one.text.encode())
        desk.say(f"wrote {path}")
    user = "" if os.geteuid() == 0 else " --user"
    return f"systemctl{user} daemon-reload && systemctl{user} enable --now {TIMER}\n"


def _argv(wanted: Wanted, desk: Desk) -> list[str]:
    """Return the command of the audit, with absolute paths: neither cron nor systemd has the user's PATH and folder."""
    config = [f"--config={desk.settings.file.absolute()}"] if desk.settings.file is not None else []
    told = [f"--against={wanted.against}"] if wanted.against else []
    told += ["--only-new"] if wanted.only_new else []
    store = store_address(desk)
    return [sys.executable, "-m", "driftwatch", "audit", "--quiet", f"--store={store}", *config, *told, *(["--", *wanted.hosts] if wanted.hosts else [])]


def _unit_folder() -> Path:
    if os.geteuid() == 0:
        return SYSTEM_UNITS
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / OWN_UNITS


def _into_crontab(line: str) -> None:
    if shutil.which("crontab") is None:
        raise UsageFault("crontab is not installed here", do="leave --install away and put the line where your cron reads it, or take --systemd")
    before = subprocess.run(["crontab", "-l"], capture_output=True, text=True, timeout=CRONTAB_S, check=False)
    done = subprocess.run(["crontab", "-"], input=with_line(before.stdout if before.returncode == 0 else "", line), capture_output=True, text=True,
                          timeout=CRONTAB_S, check=False)
    if done.returncode:
        raise UsageFault(f"crontab refused the line: {done.stderr.strip()}", "crontab -", "see crontab(1)")
