"""Services of the GPU, container and network stack, of clock and names, and those that the site itself made, as systemd tells them. Starts and stops nothing.

| path | what |
|---|---|
| services/NAME/active | systemd's ActiveState: active, inactive, failed, activating … (a unit that is not installed counts as inactive) |
| services/NAME/sub | its SubState: running, dead, exited, auto-restart … |
| services/NAME/exit | exit code of its main process |
| services/NAME/since (volatile) | when it became active, ISO 8601 in UTC |
| services/NAME/unit/WORD | what its unit file and drop-ins in /etc/systemd/system order: limits, commands, user, order of start, what it hides … |
| services/NAME/env/VARIABLE | listed variables that they set |
| services/NAME/env_left_out | the names of the others that they set |
| services/NAME/said | of a unit of the driver that is not well: the last lines of its journal that tell why, without times |

``services`` as a whole is unknown where /etc/systemd/system cannot be listed: there may be more, and what units order is not known.
"""
from __future__ import annotations

import re

from ..host import Host, Ran, Stat
from ..probe import Absent, Fact, Probe, Unknown, Unreadable, fact_path
from ..process_facts import names_left_out
from ..typed import Any, Dict, Generator, Iterator, List, Regex
from ..unit_files import parse_moment, parse_show, parse_unit

SHOW = ["systemctl", "show", "-p", "ActiveState,SubState,ExecMainStatus,ActiveEnterTimestamp"]
DRIVER = ("nvidia-persistenced", "nvidia-fabricmanager")
SINGLE = ("nvidia-dcgm", "docker", "containerd", "openibd", "slurmd")
BESIDE = (  # licenses of virtual GPUs, locks of NFS, the clock, names of hosts and of users
    "nvidia-gridd", "rpc-statd", "rpcbind", "chrony", "chronyd", "systemd-timesyncd", "systemd-resolved", "sssd")
FOLDER = "/etc/systemd/system"
MOST_OWN = 12
IN_UTC = {"TZ": "UTC"}
TELLING = Regex(r"error|fail|match|not |unable|refus|version|abort|denied", re.IGNORECASE)


def collect(host: Host) -> Iterator[Fact]:
    """Yield the state of the driver's units, what unit files order, then the other units' states; Absent where systemd does not run."""
    states = _ask(host, DRIVER)
    for place, name in enumerate(DRIVER):
        yield from _one(host, name, states if isinstance(states, Unknown) else states[place])
    files = yield from _files(host)
    own = [name for name, paths in files.items() if name not in SINGLE + DRIVER and any(_is_own(name, one) for one in paths[:1])][:MOST_OWN]
    for name in own + [name for name in files if name in SINGLE + DRIVER]:
        yield from _ordered(host, name, files[name])
    states = _unless_hung(host, states, BESIDE)
    told = {} if isinstance(states, Unknown) else dict(zip(BESIDE, states))
    for name in dict.fromkeys((*SINGLE, *own, *BESIDE)):
        states = [told[name]] if name in told else _unless_hung(host, states, (name,))
        yield from _one(host, name, states if isinstance(states, Unknown) else states[0])


def _unless_hung(host: Host, before: Any, names: Any) -> Any:
    """Return the properties of some units; what was said before, where systemd did not answer that in time."""
    return before if isinstance(before, Unknown) and before.status == "timeout" else _ask(host, names)


def _ask(host: Host, names: Any) -> Any:
    """Return the properties of some units, or Unknown; raises Absent where there is no systemd to ask."""
    ran = host.attempt(host.run, [*SHOW, *names], 2.0, IN_UTC)
    if ran is None:
        raise Absent("no systemctl here: systemd is not installed")
    if isinstance(ran, Ran) and ran.rc != 0 and host.attempt(host.exists, "/run/systemd/system") is False:
        raise Absent("systemd does not run here: %s" % (ran.stderr.strip().splitlines() or ["systemctl: exit code %d" % ran.rc])[0])
    return host.attempt(parse_show, ran, len(names)) if isinstance(ran, Ran) else ran


def _one(host: Host, name: str, state: Any) -> Iterator[Fact]:
    """Yield how one unit does. One that never ran is told by its ``active`` alone."""
    if isinstance(state, Unknown):
        yield fact_path("services", name, "active"), state
        return
    active, sub, since = state["ActiveState"], state.get("SubState", ""), state.get("ActiveEnterTimestamp", "")
    code = state.get("ExecMainStatus", "")
    yield fact_path("services", name, "active"), active
    if (active, sub) != ("inactive", "dead") or since or code not in ("", "0"):
        yield fact_path("services", name, "sub"), sub
        if code.lstrip("-").isdigit():
            yield fact_path("services", name, "exit"), int(code)
    if since and since != "n/a":
        yield fact_path("services", name, "since"), parse_moment(since)
    if name in DRIVER and (active in ("failed", "activating") or sub == "auto-restart"):
        ran = host.try_run(["journalctl", "-u", name, "-n", "50", "--no-pager"], 2.0)
        said = host.attempt(parse_journal, ran) if isinstance(ran, Ran) else ran
        if said is not None:
            yield fact_path("services", name, "said"), said


def parse_journal(ran: Ran) -> List[str]:
    """Return the last five different lines of a unit's journal that tell of a trouble, without time, host and PID."""
    if ran.rc != 0 or ("Hint:" in ran.stderr and "-- No entries --" in ran.stdout):
        raise Unreadable("journalctl: exit code %d: %s" % (ran.rc, (ran.stderr.strip() or "no text")[:200]))
    lines = re.findall(r"^\S.*?\S\[\d+\]: (.*\S)[^\S\n]*$", ran.stdout, re.MULTILINE)
    return list(dict.fromkeys(line[:400] for line in lines if TELLING.search(line)))[-5:]


def _files(host: Host) -> Generator[Fact, None, Dict[str, List[Any]]]:
    """Return, by the name of a service, the unit file that the site made and its drop-ins, in systemd's order; Unknown for what cannot be looked at.

    Where the folder of all of them cannot be listed, yield that what units order is unknown.
    """
    entries = host.attempt(host.entries, FOLDER)
    found: Dict[str, List[Any]] = {}
    if isinstance(entries, Unknown):
        yield "services", entries
        return {name: [entries] for name in SINGLE + DRIVER}
    for entry, stat in sorted(entries or (), key=lambda one: isinstance(one[1], Stat) and one[1].kind != "file"):
        name, _, ending = entry.partition(".service")
        if "@" in name or name in ("", entry) or ending not in ("", ".d"):
            continue
        if isinstance(stat, Unknown):
            found.setdefault(name, []).append(stat)
        elif ending == "" and stat.kind == "file":
            found.setdefault(name, []).append(FOLDER + "/" + entry)
        elif ending and stat.kind == "dir":
            names = host.try_list(FOLDER + "/" + entry)
            drop_ins: List[Any] = [names] if isinstance(names, Unknown) else ["%s/%s/%s" % (FOLDER, entry, one) for one in names or () if one.endswith(".conf")]
            found.setdefault(name, []).extend(drop_ins)
    return found


def _is_own(name: str, first: Any) -> bool:
    """Tell whether the first file of a service makes it the site's own, or cannot be told."""
    return isinstance(first, Unknown) or first == "%s/%s.service" % (FOLDER, name)


def _ordered(host: Host, name: str, paths: List[Any]) -> Iterator[Fact]:
    texts: List[Any] = [path if isinstance(path, Unknown) else host.try_read(path) for path in paths]
    refused = next((text for text in texts if isinstance(text, Unknown)), None)
    if refused is not None:
        yield fact_path("services", name, "unit"), refused
        yield fact_path("services", name, "env"), refused
        return
    orders, variables = parse_unit([text for text in texts if text is not None])
    for word, value in orders.items():
        yield fact_path("services", name, "unit", word), _masked(host, value)
    for variable, text in sorted(variables.items()):
        if host.mask.is_shown(variable):
            yield fact_path("services", name, "env", variable), host.mask.value(variable, text)
    left_out = names_left_out(host, variables)
    if left_out:
        yield fact_path("services", name, "env_left_out"), left_out


def _masked(host: Host, value: Any) -> Any:
    """Return a command line, or several, without secrets."""
    if isinstance(value, list):
        return [_masked(host, one) for one in value]
    return " ".join(host.mask.arguments(host.mask.text(value).split()))


PROBES = (
    Probe(
        "services", collect, deadline_s=10.0, tells=("services", "services/*"), volatile=("services/*/since",),
        reads="systemctl show of the driver's, containers', network's and the site's own units, /etc/systemd/system, the journal of a failed driver unit",
        root_shows="the journal of failed units",
    ),
)
