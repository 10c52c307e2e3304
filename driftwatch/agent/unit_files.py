"""What systemd prints of a unit, and what a unit file orders for its process: limits, commands, variables. Pure text to values."""
from __future__ import annotations

import re

from .host import Ran
from .probe import Unreadable
from .typed import Any, Dict, List, Regex, Tuple

TOLD = Regex(
    r"(?:Limit\w+|Exec\w+|EnvironmentFile|User|Group|WorkingDirectory|Type|Restart\w*|Memory\w+|CPU\w+|Allowed\w+|NUMA\w+|Tasks\w+|Slice|Device\w+|Nice|OOM\w+|IO\w+|Private\w+"
    r"|Protect\w+|Restrict\w+|System\w+|No(?:New|Exec)\w+|\w*Capabilit\w+|Inaccessible\w+|Read\w+|Temporary\w+|Root\w+|Bind\w+|IPAddress\w+|After|Requires|Wants|BindsTo|KillMode|Timeout\w+)$")
_PAIR = Regex(r"\"([A-Za-z_]\w*)=((?:[^\"\\]|\\.)*)\"|'([A-Za-z_]\w*)=([^']*)'|([A-Za-z_]\w*)=(\S*)")
_MONTH_DAY = Regex(r"\w{3} (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC")


def parse_show(ran: Ran, count: int) -> List[Dict[str, str]]:
    """Return the properties of each unit that ``systemctl show`` was asked for, in that order; Unreadable where it told of another number."""
    blocks = [dict(re.findall(r"^(\w+)=((?:.*[^ \t\n])?)[ \t]*$", one, re.MULTILINE)) for one in re.split(r"\n[ \t]*\n", ran.stdout.strip())]
    if ran.rc != 0 or len(blocks) != count or not all("ActiveState" in one for one in blocks):
        raise Unreadable("systemctl show: exit code %d: %s" % (ran.rc, (ran.stderr.strip() or ran.stdout.strip() or "no text")[:200]))
    return blocks


def parse_moment(text: str) -> str:
    """Return systemd's time stamp as ISO 8601 in UTC; one of another zone as it stands."""
    found = _MONTH_DAY.fullmatch(text)
    return "%sT%sZ" % found.groups() if found else text


def parse_unit(texts: List[str]) -> Tuple[Dict[str, Any], Dict[str, str]]:
    """Return what a unit file and its drop-ins order (a list where a word stands several times), and the variables that they set."""
    orders: Dict[str, List[str]] = {}
    variables: Dict[str, str] = {}
    for name, value in _lines(texts):
        if name == "Environment":
            variables = _with(variables, value)
        elif TOLD.match(name):
            orders[name] = [*orders.get(name, []), value] if value else []
    return {name: values[0] if len(values) == 1 else values for name, values in sorted(orders.items()) if values}, variables


def _lines(texts: List[str]) -> List[Tuple[str, str]]:
    joined = (re.sub(r"\\\n[ \t]*", " ", text) for text in texts)
    return [pair for text in joined for pair in re.findall(r"^(\w+)[ \t]*=[ \t]*((?:.*[^ \t\n])?)[ \t]*$", text, re.MULTILINE)]


def _with(variables: Dict[str, str], value: str) -> Dict[str, str]:
    """Return the variables with those of one more line; an empty line takes back all before it."""
    words = [[part for part in found.groups() if part is not None] for found in _PAIR.finditer(value)]
    return dict(variables, **dict(words)) if value else {}
