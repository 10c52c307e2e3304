"""Which view of which host a destination gives: inside a container or outside, and under which name it is kept. Also node sets of Slurm, spread out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.fleet.nodes import expand, split_names
from driftwatch.transports import views
from driftwatch.transports.destination import Destination

SLURM_SCHEME = f"{views.NODES}://"
LONGEST_JOB = 10


@dataclass(frozen=True)
class View:
    """A view: the name that it has in the store, the machine whose secrets it may show, and what the snapshot says of it (nothing: the host from outside)."""

    name: str
    machine: str
    told: Mapping[str, str] = field(default_factory=dict)


def view_of(destination: Destination, slurm_job: str = "") -> View:
    """Return the view that a destination gives."""
    scheme, inside = destination.scheme, destination.inside
    machine = os.uname().nodename if destination.host == views.HERE else destination.host
    if scheme == views.CLUSTER:
        name = views.name_of(scheme, inside, machine)
        parts = dict(zip(("namespace", "pod", "container"), inside.split("/"), strict=False))
        return View(name, name, {"inside": "kubernetes", **parts})
    if inside and scheme in views.ENGINES:
        return View(views.name_of(scheme, inside, machine), machine, {"inside": scheme, "container": inside, "of": machine})
    if scheme == views.NODES:
        return View(machine, machine, {"inside": "slurm step", **({"job": slurm_job} if slurm_job else {})})
    return View(machine, machine)


def spread(destinations: Iterable[str]) -> list[str]:
    """Return the destinations with ``slurm://[gpu[001-064]]`` (the outer brackets may be left out) as one for each node."""
    found: list[str] = []
    for text in destinations:
        if not text.startswith(SLURM_SCHEME):
            found.append(text)
            continue
        nodes = text.removeprefix(SLURM_SCHEME)
        is_wrapped = nodes.startswith("[") and nodes.endswith("]")
        found += [f"{SLURM_SCHEME}{node}" for one in split_names(nodes[1:-1] if is_wrapped else nodes) for node in expand(one)] or [text]
    return found


def slurm_job(given: str | None, environ: Mapping[str, str]) -> str:
    """Return the job of --jobid, else the one that this shell runs in (SLURM_JOB_ID), else "". Raises UsageFault for what is no job's number."""
    told = given if given is not None else environ.get("SLURM_JOB_ID", "")
    if told and not (told.isascii() and told.isdigit() and len(told) <= LONGEST_JOB):
        if given is None:
            return ""
        raise UsageFault(f"--jobid {told}: no number of a job", do="squeue --me lists your jobs")
    return told
