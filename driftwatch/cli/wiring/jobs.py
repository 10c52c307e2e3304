"""From the words of a command line to jobs, each of which takes one snapshot. All is checked here, before any process starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from driftwatch.agent.probe import Refusal
from driftwatch.capture.known import Known
from driftwatch.capture.plan import CaptureError, Plan
from driftwatch.capture.profiles import DEFAULT, plan_of
from driftwatch.capture.take import Order, Transport, take_recorded, take_snapshot
from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.named import is_file, is_folder
from driftwatch.cli.wiring.profiles import Chosen, chosen
from driftwatch.cli.wiring.recalling import recall
from driftwatch.cli.wiring.views import slurm_job, spread, view_of
from driftwatch.model import Snapshot
from driftwatch.settings import HOST_DEADLINE, utc_now
from driftwatch.store import keys
from driftwatch.store.document import read_bounded
from driftwatch.store.errors import NoStore, StoreError
from driftwatch.store.strict_json import parse_own
from driftwatch.transports.destination import Options, parse_destination
from driftwatch.transports.jumps import Jumps
from driftwatch.transports.opening import open_transport
from driftwatch.transports.wire import LinkLost, Shipment

DEFAULT_DEADLINE_S = 60.0
AGENT_PYTHONS = ("python3", "/usr/bin/python3", "/usr/local/bin/python3")
DESCRIBED = "host.json"
LARGEST_DESCRIPTION = 1 << 20
Watch = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Wish:
    """What the options of `snapshot` ask for; paths are paths on the host.

    ``names`` are hosts' own names by destination, where an inventory tells them; ``jumps`` are jump hosts that several calls share.
    """

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    deadlines_s: Mapping[str, float] = field(default_factory=dict)
    pythons: tuple[str, ...] = ()
    source: str | None = None
    log: str | None = None
    env_from_pid: int | None = None
    profile: str | None = None
    is_rehash: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    jumps: Jumps | None = None
    jobid: str | None = None


@dataclass(frozen=True)
class Job:
    """One host to look at. ``take`` asks it, and shows each frame to the watcher; ``lost`` gives its snapshot where that failed, all lost for a reason."""

    host: str
    take: Callable[[Watch], Snapshot]
    lost: Callable[[str], Snapshot]
    probes: int = 0


@dataclass(frozen=True)
class _NoLine:
    """Stands for the line to a host where asking it failed: it breaks at once, for that reason."""

    reason: str

    def stream(self, shipment: Shipment, deadline_s: float) -> Iterator[dict[str, Any]]:  # noqa: ARG002  # what every transport is given
        """Raise LinkLost as soon as a frame is asked for."""
        yield from ()
        raise LinkLost(self.reason, "driftwatch snapshot HOST -vv shows where; report it")


def words(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Return the words of options that may be repeated and may hold several, with commas between."""
    return tuple(word.strip() for text in texts or () for word in text.split(",") if word.strip())


def parse_deadlines(texts: Sequence[str] | None) -> dict[str, float]:
    """Return ``nvml=120`` and ``90`` as seconds by probe; the whole host's stands under ``host``."""
    found = {}
    for text in texts or ():
        name, _, number = text.rpartition("=")
        try:
            seconds = float(number)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= 86_400:
            raise UsageFault(f"--deadline {text}: no number of seconds", do="seconds for the host, or PROBE=S: --deadline 90 --deadline nvml=120")
        found[name or HOST_DEADLINE] = seconds
    return found


def host_jobs(destinations: Sequence[str], wish: Wish, desk: Desk) -> list[Job]:
    """Return a job for each host. All are checked before any process starts."""
    profile = chosen(wish.profile, desk.settings)
    plan = _plan(wish, profile)
    ssh = desk.settings.ssh
    options = Options(ssh_options=desk.settings.ssh_options, is_agent_asked=ssh.is_agent_asked, jumps=wish.jumps or Jumps(ssh.jump_sessions),
                      slurm_job=slurm_job(wish.jobid, os.environ))
    store_key = _store_key(desk)
    is_known_used = not wish.is_rehash and any(offer.probe.name == "sources" for offer in plan.asked)
    jobs = []
    for text in dict.fromkeys(spread(destinations)):
        destination = parse_destination(text, profile.profile.transport or "openssh")
        is_local = destination.scheme == "local"
        view = view_of(destination, options.slurm_job)
        host = wish.names.get(text) or view.name
        transport = open_transport(destination, options)
        order = _order(_here(wish) if is_local else wish, profile, plan, keys.host_key(store_key, view.machine if view.told else host), desk)
        known = partial(recall, desk, host) if is_known_used else dict
        order = replace(order, view=view.told)
        jobs.append(Job(host, partial(_take, (host, transport), order, known), partial(_lose, host, order), len(plan.asked)))
    return jobs


def recorded_job(path: str, wish: Wish, desk: Desk) -> Job:
    """Return the job that takes a snapshot of a recorded host."""
    profile = chosen(wish.profile, desk.settings)
    host = _recorded_name(path)
    plan = _plan(wish, profile)
    order = _order(wish, profile, plan, keys.host_key(_store_key(desk), host), desk)
    place = str(Path(path).absolute())
    return Job(host, partial(_take_recorded, place, order), partial(_lose, host, order), len(plan.asked))


def _take(where: tuple[str, Transport], order: Order, known: Callable[[], Known], watch: Watch) -> Snapshot:
    return take_snapshot(*where, replace(order, watch=watch, known=known()), utc_now())


def _lose(host: str, order: Order, reason: str) -> Snapshot:
    return take_snapshot(host, _NoLine(reason), order, utc_now())


def _take_recorded(path: str, order: Order, watch: Watch) -> Snapshot:
    try:
        return take_recorded(path, replace(order, watch=watch))
    except CaptureError as refused:
        raise UsageFault(str(refused), path, "name a folder or archive that holds one recorded host of format 1") from None


def _plan(wish: Wish, profile: Chosen) -> Plan:
    return plan_of(profile.choice, wish.only, wish.skip, wish.groups, wish.deadlines_s)


def _order(wish: Wish, profile: Chosen, plan: Plan, key: keys.HostKey, desk: Desk) -> Order:
    choice, where = profile.choice, profile.profile
    deadline_s = wish.deadlines_s.get(HOST_DEADLINE, choice.deadlines_s.get(HOST_DEADLINE, DEFAULT_DEADLINE_S))
    pythons = wish.pythons or where.pythons
    return Order(
        plan, deadline_s, pythons, wish.source or where.source, wish.log, wish.env_from_pid, desk.settings.also_show,
        agent_pythons=tuple(dict.fromkeys((*pythons, *AGENT_PYTHONS))), key=key.key, key_id=key.key_id,
        packages=choice.packages, env_prefixes=choice.env_prefixes, profile="" if choice.name == DEFAULT else choice.name,
    )


def _here(wish: Wish) -> Wish:
    """Return the wish with paths that hold from any folder, for this machine; what is not there is refused before anything is asked."""
    if wish.log is not None and not is_file(wish.log):
        raise UsageFault(f"{Path(wish.log).name} is no file that can be read", wish.log, "check the path of --log")
    for python in wish.pythons:
        if not is_file(python):
            raise UsageFault(f"--python {python}: no such program here", do="name the interpreter's own file, as in /opt/venv/bin/python")
    if wish.source is not None and not is_folder(wish.source):
        raise UsageFault(f"--source {wish.source}: no such folder here", do="name the folder that holds SGLang's sources")
    if wish.env_from_pid is not None and not is_folder(f"/proc/{wish.env_from_pid}"):
        raise UsageFault(f"--env-from-pid {wish.env_from_pid}: no such process here", do="pgrep -af sglang")
    return replace(
        wish, pythons=tuple(str(Path(one).absolute()) for one in wish.pythons), source=wish.source and str(Path(wish.source).absolute()),
        log=wish.log and str(Path(wish.log).absolute()),
    )


def _store_key(desk: Desk) -> bytes:
    """Return the store's key; where it cannot be had, one for this run alone, and say what that means."""
    try:
        return desk.store.store_key()
    except NoStore:
        raise
    except StoreError as failed:
        desk.say(f"note: {failed.what} ({failed.where}); secrets of this snapshot will compare as unknown with others")
        return keys.new_key()


def _described(path: str) -> Any:
    """Return what host.json says. A folder that has none, or no regular file of that name, raises StoreError."""
    if not is_folder(path):
        from driftwatch.agent import recorded  # noqa: PLC0415  # only an archive of a recorded host pays for tarfile

        return recorded.load(path).described
    if not os.path.lexists(Path(path) / DESCRIBED):
        raise StoreError(f"{Path(path).name} is no recorded host: the folder holds no {DESCRIBED}", path, "name a folder or archive with host.json in it")
    return parse_own(read_bounded(Path(path) / DESCRIBED, LARGEST_DESCRIPTION))


def _recorded_name(path: str) -> str:
    """Return the host name that a recorded host gives, or "" where it gives none: taking the snapshot then says why."""
    try:
        described = _described(path)
    except (Refusal, OSError, ValueError):
        return ""
    name = described.get("hostname") if isinstance(described, dict) else None
    return name if isinstance(name, str) else ""
