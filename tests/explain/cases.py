"""Small snapshots made by hand, with probes that own the facts as the real collectors do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.explanation import Explanation, Suspect
from driftwatch.explain.rules_found import load_rules
from driftwatch.model import ProbeResult, Snapshot, Symptom

TELLS = {
    "system": ("os/*", "kernel/*", "system/*"),
    "driver": ("driver/*",),
    "nvml": ("driver/version", "cuda/driver", "nvml/*", "gpus/*"),
    "servers": ("servers/*",),
    "env": ("env/*", "env_source"),
    "packages": ("python/*", "packages/*", "leftovers/*"),
    "versions": ("packages/*/text_version", "torch/*"),
    "record": ("packages/*/altered/*", "packages/*/missing/*", "packages/*/verified"),
    "caches": ("caches/*",),
    "sources": ("sources/*",),
    "git": ("git/*",),
}
VOLATILE = (
    "system/uptime_s",
    "gpus/*/memory_used_mib",
    "gpus/*/unattributed_mib",
    "gpus/*/holders/*",
    "gpus/*/temperature_c",
    "sources/*/times/*",
    "servers/*/started_at",
)
OOM = Symptom("oom", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.55")


def unknown(status: str, reason: str = "") -> dict[str, str]:
    """Return a stored value that stands for no answer."""
    return {"unknown": status, "reason": reason}


def snapshot(facts: dict[str, Any] | None = None, **probes: ProbeResult) -> Snapshot:
    """Return a snapshot with these facts; every probe answered but those given."""
    answered = {name: ProbeResult("ok", tells=tells) for name, tells in TELLS.items()}
    given = {name: replace(result, tells=result.tells or TELLS.get(name, ())) for name, result in probes.items()}
    return Snapshot("gpu-a", "2026-03-02T10:00:00Z", probes={**answered, **given}, volatile=VOLATILE, facts=facts or {})


def without(snap: Snapshot, *names: str) -> Snapshot:
    """Return the snapshot as if these probes had never been planned."""
    return replace(snap, probes={name: result for name, result in snap.probes.items() if name not in names})


def package(name: str, version: str, **more: Any) -> dict[str, Any]:
    """Return the facts of one installed distribution."""
    facts = {
        "version": version,
        "location": "/opt/venv/lib",
        "installer": "pip",
        "record": f"sha256:{name}-{version}",
        "verified": {"files": 3, "altered": 0, "missing": 0, "unhashed": 0},
    }
    return {f"packages/{name}/{key}": value for key, value in {**facts, **more}.items()}


def start(before: float, after: float, fraction: float, **more: Any) -> dict[str, Any]:
    """Return what a server's log tells of one start."""
    facts = {
        "log/path": "/var/log/server.log",
        "log/free_before_load_gib": before,
        "log/free_after_load_gib": after,
        "args/mem_fraction_static": fraction,
        "args/tp_size": 8,
        "running": False,
    }
    return {f"servers/sglang/{key}": value for key, value in {**facts, **more}.items()}


def no_server(reason: str = "no server runs, and no log was named: --log FILE") -> dict[str, Any]:
    """Return what is told where no server runs."""
    return {"servers/sglang/running": False, **{f"servers/sglang/{name}": unknown("not_recorded", reason) for name in ("given", "env", "limits", "libraries")}}


def case_of(good: Snapshot, bad: Snapshot, symptom: Symptom | None = None) -> Case:
    """Return the case of two snapshots."""
    return Case(good, bad, compare(good, bad), symptom, "test" if symptom else None, "gpu-a@good", "gpu-a@last")


def told(good: Snapshot, bad: Snapshot, symptom: Symptom | None = None, trace: str = "") -> Explanation:
    """Return the explanation of two snapshots by our own rules; ``trace`` holds the lines of a traceback that name files."""
    return explain(replace(case_of(good, bad, symptom), trace=trace), load_rules(has_entry_points=False))


def suspect(explanation: Explanation, kind: str, name: str) -> Suspect | None:
    """Return the suspect of that kind and name."""
    return next((one for one in explanation.suspects if (one.subject.kind, one.subject.name) == (kind, name)), None)


def places(explanation: Explanation, name: str) -> list[str]:
    """Return where a subject's name stands: suspects, ruled_out, not_checked."""
    return [place for place in ("suspects", "ruled_out", "not_checked") if any(entry.subject.name == name for entry in getattr(explanation, place))]
