"""Limits as configuration files state them: limits.conf, and the unit files of systemd. Pure text; knows no default."""
from __future__ import annotations

import re

from .typed import Dict, Iterator, Regex, Tuple

_UNIT = Regex(
    r"^[ \t]*((?:Default)?(?:Limit[A-Z]+|TasksMax|Memory(?:Max|High|SwapMax))|CPUQuota|CPUAffinity|AllowedCPUs|AllowedMemoryNodes|NUMAPolicy|NUMAMask|OOMPolicy"
    r"|OOMScoreAdjust|DevicePolicy)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)
EVERYONE = "everyone"


def parse_limits_conf(text: str) -> Iterator[Tuple[Tuple[str, str, str], str]]:
    """Yield ``((domain, soft or hard, name), value)`` of each line of a limits.conf, in order: later ones count. ``*`` is everyone, ``-`` both types."""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) == 4 and words[1] in ("soft", "hard", "-"):
            domain = EVERYONE if words[0] == "*" else words[0]
            for kind in ("soft", "hard") if words[1] == "-" else (words[1],):
                yield (domain, kind, words[2]), words[3]


def parse_unit_limits(text: str) -> Dict[str, str]:
    """Return what a unit file, or one of its drop-ins, sets of limits, by systemd's own names; the last of a name counts."""
    return dict(_UNIT.findall(text.replace("\\\n", " ")))
