"""The nightly audit as a systemd service and timer, or as a line for crontab. Pure text; nothing is written or started here."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from driftwatch.fleet.errors import FleetError

SERVICE, TIMER = "driftwatch-audit.service", "driftwatch-audit.timer"
CRON_MARK = "# driftwatch audit"
DELAY_S = 900
PERIODS = {"1d": "*-*-* {at}:00", "1w": "Mon *-*-* {at}:00", "1h": "*-*-* *:{minute}:00"}
CRON_PERIODS = {"1d": "{minute} {hour} * * *", "1w": "{minute} {hour} * * 1", "1h": "{minute} * * * *"}
_AT = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\Z")


@dataclass(frozen=True)
class Timing:
    """When to audit: every 1h, 1d or 1w, and at which time of the day (the machine's own clock and zone)."""

    every: str = "1d"
    hour: int = 2
    minute: int = 0

    @property
    def at(self) -> str:
        """Return the time as ``02:00``."""
        return f"{self.hour:02}:{self.minute:02}"


def parse_timing(every: str, at: str) -> Timing:
    """Return when to audit. Raises FleetError for a period or time that cannot be scheduled."""
    found = _AT.match(at)
    if every not in PERIODS:
        raise FleetError(f"--every {every}: no such period", do=f"one of: {', '.join(PERIODS)}")
    if found is None:
        raise FleetError(f"--at {at}: no time of day", do="HH:MM, as in 02:00")
    return Timing(every, int(found[1]), int(found[2]))


def service_unit(argv: Sequence[str]) -> str:
    """Return the service that runs one audit. Findings are no failure of the unit: exit codes 1 and 3 count as success, and the journal has the report."""
    return f"""[Unit]
Description=driftwatch audit: what changed on the GPU hosts since they were good
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart={' '.join(_systemd_word(word) for word in argv)}
SuccessExitStatus=1 3
Nice=10
IOSchedulingClass=idle
NoNewPrivileges=yes
"""


def timer_unit(timing: Timing) -> str:
    """Return the timer: with a random delay, so that many controllers do not begin at once, and made up for after a night without power."""
    when = PERIODS[timing.every].format(at=timing.at, minute=f"{timing.minute:02}")
    return f"""[Unit]
Description=driftwatch audit, {timing.every} at {timing.at}

[Timer]
OnCalendar={when}
RandomizedDelaySec={DELAY_S}
Persistent=true

[Install]
WantedBy=timers.target
"""


def cron_line(argv: Sequence[str], timing: Timing, machine: str) -> str:
    """Return the crontab line. cron knows no random delay, so the minute moves by up to 15, by the machine's name: always the same here, spread over many."""
    moved = timing.hour * 60 + timing.minute + int(hashlib.sha256(machine.encode("utf-8", "surrogatepass")).hexdigest(), 16) % (DELAY_S // 60)
    when = CRON_PERIODS[timing.every].format(minute=moved % 60, hour=moved // 60 % 24)
    command = " ".join(shlex.quote(word) for word in argv).replace("%", r"\%")  # an unescaped % ends the command for cron
    return f"{when} {command} {CRON_MARK}\n"


def with_line(crontab: str, line: str) -> str:
    """Return a crontab with the line in it, in place of an older one of ours."""
    kept = [one for one in crontab.splitlines() if not one.rstrip().endswith(CRON_MARK)]
    return "\n".join([*kept, line.rstrip("\n")]) + "\n"


def _systemd_word(word: str) -> str:
    """Return a word of ExecStart: specifiers and variables are not expanded, and what is no plain word stands in quotes."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return escaped if re.fullmatch(r"[\w@%+=:,./$-]+", escaped, re.ASCII) else f'"{escaped}"'
