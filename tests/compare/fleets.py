"""Fleets made of one recorded host: each host has its own name, GPU UUIDs, addresses, times, process ids and readings, and nothing else of its own."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from pathlib import Path

from driftwatch.capture.plan import plan_for
from driftwatch.capture.take import Order, take_recorded
from driftwatch.cli.wiring.roles import built_in
from driftwatch.compare.peers import weigh
from driftwatch.compare.peers_lines import Sorter
from driftwatch.compare.peers_tally import Tally
from driftwatch.explain.peers import Beside, explain_way
from driftwatch.explain.rules_found import load_rules
from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store import document
from driftwatch.store.fact_lines import LineReader

HOSTS = Path(__file__).parent.parent / "hosts"
ROLE = built_in()["serving"]


@cache
def recorded(archive, folder):
    """Return the snapshot of a recorded host; its environment is that of nobody."""
    return take_recorded(f"{HOSTS / archive}.tar.xz/{folder}", Order(plan_for(), key=b"k" * 32, key_id="k1"))


def one_host():
    return recorded("fleet-h100", "fleet-h100/gpu-f1")


def fleet(many, base=None, **changed):
    """Return so many hosts of one make; ``changed`` is, by the host's place as h0, h1 …, a function from facts to facts."""
    base = base or one_host()
    hosts = [_own(base, place) for place in range(many)]
    return [replace(host, facts=changed[f"h{place}"](dict(host.facts))) if f"h{place}" in changed else host for place, host in enumerate(hosts)]


def _own(base: Snapshot, place: int) -> Snapshot:
    own = random.Random(place)
    name = f"gpu-r07-{place + 1:02d}"
    gpus = sorted({path.split("/")[1] for path in base.facts if path.startswith("gpus/GPU")})
    uuids = {gpu: f"GPU-{own.getrandbits(32):08x}-1111-4111-8111-{own.getrandbits(48):012x}" for gpu in gpus}
    facts = {}
    for path, value in base.facts.items():
        parts = path.split("/", 2)
        named = "/".join([parts[0], uuids.get(parts[1], parts[1]), *parts[2:]]) if len(parts) > 1 else path
        facts[named] = _reading(own, value) if base.is_volatile(path) else _text(value, base.host, name, uuids)
    facts["kernel/cmdline"] = f"BOOT_IMAGE=/vmlinuz root=UUID={own.getrandbits(32):08x}-0000-4000-8000-000000000001 ro"
    facts["system/memory/total_kib"] = base.facts.get("system/memory/total_kib", 1 << 30) - own.randrange(64)
    facts["servers/sglang/given/dist_init_addr"] = f"192.0.2.{place}:5000"
    facts["env/NODE_ADDRESS"] = f"192.0.2.{place}"
    facts["packages/torch/installed_at"] = f"2026-03-0{place % 9 + 1}T10:00:00Z"
    return replace(base, host=name, taken_at=f"2026-03-18T10:{place:02d}:00Z", facts=facts)


def _reading(own, value):
    return own.randrange(1, 10**6) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _text(value, old, new, uuids):
    if not isinstance(value, str):
        return value
    for uuid, other in uuids.items():
        value = value.replace(uuid, other)
    return value.replace(old, new) if old else value


def gpu_fact(place, fact, value):
    """Return a change of one fact of one GPU, by its place in the order of the addresses on the bus."""
    def change(facts):
        at = sorted((value_, path) for path, value_ in facts.items() if path.startswith("gpus/") and path.endswith("/pci"))
        return {**facts, at[place][1].replace("/pci", f"/{fact}"): value}

    return change


def put(path, value):
    return lambda facts: {**facts, path: value}


def without(path):
    return lambda facts: {other: value for other, value in facts.items() if other != path}


def silent(host, probe, status="timeout"):
    """Return a host that a probe did not answer: its facts are not told."""
    kept = {path: value for path, value in host.facts.items() if host.owner(path) != probe}
    return replace(host, facts=kept, probes={**host.probes, probe: replace(host.probes[probe], status=status, reason="no answer in 10 s")})


def unreachable(host):
    lost = {name: ProbeResult("lost", reason="no answer on port 22", tells=one.tells) for name, one in host.probes.items()}
    return replace(host, facts={}, probes=lost)


def peers(hosts, only=()):
    """Return what the hosts have in common, as the command finds it."""
    reader, sorter = LineReader(), Sorter(ROLE)
    tally = Tally(sorter, only)
    files = [document.to_bytes(host) for host in hosts]
    read = [reader.read(data, "a host") for data in files]
    told = [tally.add(one.snapshot, one.lines) for one in read]
    silences = [tally.silence(one.snapshot, one.lines, telling) for one, telling in zip(read, told, strict=True)]
    tally.finish()
    for host, one, telling, silence in zip(hosts, read, told, silences, strict=True):
        tally.place(host.host, one.lines, telling.made, silence)
    return weigh(tally, ROLE, only)


def way_of(found, host):
    return next(way for way in found.ways if host.host in way.hosts)


def paths(way):
    return [one.fact.path for one in way.outliers]


def explained(hosts, place):
    """Return why a host is odd, beside the first that is not."""
    found = peers(hosts)
    clean = next(way for way in found.ways if way.is_clean)
    usual = next(host for host in hosts if host.host in clean.hosts)
    return explain_way(way_of(found, hosts[place]), Beside(hosts[place], hosts[place].host), Beside(usual, usual.host), load_rules(has_entry_points=False))
