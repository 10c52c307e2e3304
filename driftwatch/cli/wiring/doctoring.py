"""What `doctor` does, in order: understand the destinations, look at all of them at once, tell each as it ends. Returns the exit code."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.examining import Patient, examine
from driftwatch.cli.wiring.inventories import LOCAL, jumping, selected
from driftwatch.cli.wiring.jobs import AGENT_PYTHONS
from driftwatch.cli.wiring.output import answer, print_text
from driftwatch.cli.wiring.profiles import chosen
from driftwatch.cli.wiring.stages import Examined, document_of, rows_of
from driftwatch.cli.wiring.stopping import STOPPED, Stop
from driftwatch.cli.wiring.views import slurm_job, spread
from driftwatch.fleet.inventory import Member
from driftwatch.report.table import columns
from driftwatch.settings import Group
from driftwatch.store.references import counted
from driftwatch.transports.destination import Options, parse_destination
from driftwatch.transports.opening import open_transport

AT_ONCE = 32
TURN_S = 0.1
INDENT = "  "
STAGE_FAILED = 1
Told = Examined | Exception
Asked = tuple[tuple[str, ...], str | None, str | None]


def patients(dests: Sequence[str], asked: Asked, deadline_s: float, desk: Desk) -> list[Patient]:
    """Return what to look at; ``asked`` are the Pythons, the profile and the Slurm job of the command line. All is checked before anything is asked."""
    members = selected(dests, desk) if dests else (Member(LOCAL, LOCAL),)
    return [_patient(text, member, asked, (deadline_s, desk)) for member in members for text in spread([member.dest])]


def _patient(text: str, member: Member, asked: Asked, how: tuple[float, Desk]) -> Patient:
    """Return what to look at for one destination, reached as its group in the config file says and as the command line says, which goes before it."""
    (pythons, profile, jobid), (deadline_s, desk) = asked, how
    group = desk.settings.groups.get(member.group, Group())
    where = chosen(profile or group.profile or (member.group if member.group in desk.settings.profiles else None), desk.settings).profile
    settings = jumping(desk, group).settings
    options = Options(ssh_options=settings.ssh_options, is_agent_asked=settings.ssh.is_agent_asked, slurm_job=slurm_job(jobid, os.environ))
    candidates = tuple(dict.fromkeys((*(pythons or group.pythons or where.pythons), *AGENT_PYTHONS)))
    destination = parse_destination(text, where.transport or "openssh")
    shown = text if member.name == member.dest or text != member.dest else f"{member.name} ({text})"
    return Patient(shown, destination, options, open_transport(destination, options), candidates, deadline_s)


def tell_all(asked: Sequence[Patient], desk: Desk) -> int:
    """Look at all, tell each as it ends, and return the exit code: 0 all answered, 1 a stage failed somewhere, 130 stopped."""
    stop, ended = Stop(), []
    is_text = desk.given.format == "text"
    for one in _look(asked, stop):
        ended.append(one)
        if is_text and desk.given.out in (None, "-"):
            _tell(one, desk)
    places = {patient.text: place for place, patient in enumerate(asked)}
    ended.sort(key=lambda one: places[one.dest])
    failed = sum(not one.is_well for one in ended)
    code = STOPPED if stop.is_asked else STAGE_FAILED if failed else 0
    if not is_text:
        answer(desk, json.dumps([document_of(one) for one in ended], indent=1) + "\n")
    elif desk.given.out not in (None, "-"):
        answer(desk, "".join(_text(one, desk) for one in ended))
    if not desk.given.quiet:
        desk.say(f"{counted(len(ended), 'destination')} · {len(ended) - failed} answered · exit {code}")
    return code


def _tell(one: Examined, desk: Desk) -> None:
    if not (desk.given.quiet and one.is_well):
        print_text(_text(one, desk))


def _text(one: Examined, desk: Desk) -> str:
    lines = columns(rows_of(one), replace(desk.page, width=desk.page.room - len(INDENT))).splitlines()
    return "".join(f"{line}\n" for line in [desk.page.say(one.dest), *(INDENT + line for line in lines)])


def _look(asked: Sequence[Patient], stop: Stop) -> Iterator[Examined]:
    """Yield each as it ends. Threads look, at most 32 at once, and none of them can hold the end."""
    waiting, lock = iter(asked), threading.Lock()
    ended: queue.SimpleQueue[Told] = queue.SimpleQueue()

    def work() -> None:
        while not stop.is_asked:
            with lock:
                patient = next(waiting, None)
            if patient is None:
                return
            ended.put(_attempt(patient, stop))

    with stop.listening():
        for _ in range(min(AT_ONCE, len(asked))):
            threading.Thread(target=work, daemon=True).start()
        for _ in asked:
            one = _next(ended, stop)
            if one is None:
                return
            if isinstance(one, Exception):
                raise one
            yield one


def _next(ended: queue.SimpleQueue[Told], stop: Stop) -> Told | None:
    """Return the next that ended; None after Ctrl-C."""
    while not stop.is_asked:
        with contextlib.suppress(queue.Empty):
            return ended.get(timeout=TURN_S)
    return None


def _attempt(patient: Patient, stop: Stop) -> Told:
    try:
        with stop.asking():
            return examine(patient)
    except Exception as failed:  # noqa: BLE001  # raised again by the thread that waits
        return failed
