"""The environment of the shell that started driftwatch, or of the process named with --env-from-pid: listed variables only.

| path | what |
|---|---|
| env/NAME | the value; a secret's keyed digest where the name or the text is a secret's |
| env_source | whose environment it is |
| env_kept_back (volatile) | how many variables are not listed, and so told without a value |
| env_left_out (volatile) | the names of those |
"""
from __future__ import annotations

from ..host import Host
from ..probe import Fact, Probe, fact_path
from ..process_facts import cut, names_left_out
from ..processes_seen import environ_of
from ..typed import Dict, Iterator, Tuple


def collect(host: Host) -> Iterator[Fact]:
    """Yield the listed variables in the order of their names."""
    source, variables = _variables(host)
    yield "env_source", source
    shown = sorted(name for name in variables if host.mask.is_shown(name))
    yield "env_kept_back", len(variables) - len(shown)
    if len(variables) > len(shown):
        yield "env_left_out", names_left_out(host, variables)
    for name in shown:
        yield fact_path("env", name), cut(host.mask.value(name, variables[name]))


def _variables(host: Host) -> Tuple[str, Dict[str, str]]:
    """Return whose environment it is, and its variables; raises where it cannot be read."""
    if host.settings.env_from_pid is None:
        return "the shell that started driftwatch", host.environ()
    return "the process named with --env-from-pid", environ_of(host, host.settings.env_from_pid)


PROBES = (Probe(
    "env", collect, deadline_s=2.0, tells=("env", "env/*", "env_source", "env_kept_back", "env_left_out"),
    reads="the agent's own environment, or /proc/PID/environ with --env-from-pid",
    volatile=(
        "env_kept_back", "env_left_out", "env/*_PID", "env/INVOCATION_ID", "env/SLURM_JOB*", "env/SLURM_STEP*", "env/SGLANG_RUN_ID",
        "env/PROMETHEUS_MULTIPROC_DIR"),
    root_shows="the environment of another user's process"),)
