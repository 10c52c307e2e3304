"""A month of 10,000 hosts in an object store: objects, bytes, and what saving, reading, gc and verify cost: ``python benchmarks/fleet_store.py``.

Generated as changes: every run changes about 1 KB of what changes by itself, one a day changes a source file, two a month swap the image (all packages
and files). A few hosts are stored whole, every run of the month, by the store's own code in fsspec's memory; the fleet is that by arithmetic: what
belongs to a host times the hosts, what an image's hosts share times the images. A part of it runs against an S3 on loopback (moto), for the time that a
save takes against a bare put. ``--hosts`` and ``--days`` set the sample; 4 hosts and 30 days take some minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from driftwatch.explain.chronicle import Moment, fact_rows, paths_that_fit, steps
from driftwatch.model import Snapshot
from driftwatch.store import document, object_names
from driftwatch.store.bases import Ages
from driftwatch.store.chain import keep_linked
from driftwatch.store.collecting import sort_out
from driftwatch.store.files import Entry, FileStore
from driftwatch.store.objects import ObjectStore
from driftwatch.store.references import find
from driftwatch.store.retention import parse_rules
from driftwatch.store.slim import Slim
from driftwatch.store.verifying import Demand, verify_host
from tests.lab.s3_server import FaultyLine, S3Server

FLEET, RUNS, DAYS, IMAGES = 10_000, 24, 30, 200
FILES = 5_777
CHANGED_BYTES = 1024
START = datetime(2026, 3, 1, tzinfo=timezone.utc)
RULES = "last=48,daily=14,weekly=8"
ROUNDS = 15
EXAMPLE = Path(__file__).parent.parent / "snapshots" / "good.json"
TREE = "sources/sglang"


@dataclass(frozen=True)
class Cost:
    """What something cost: seconds of wall and of CPU time."""

    wall_s: float
    cpu_s: float


def timed(call: Callable[[], object]) -> Cost:
    """Run something and return what it cost this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(statistics.median(one.wall_s for one in costs), statistics.median(one.cpu_s for one in costs))


def digest(*words: object) -> str:
    return hashlib.sha256(repr(words).encode()).hexdigest()


def image(example: Snapshot, number: int) -> dict[str, object]:
    """Return the facts that all hosts of an image share: its packages, and the digests of its source files."""
    facts = dict(example.facts)
    for path, value in example.facts.items():
        if path.startswith("packages/") and path.endswith(("/version", "/record")):
            facts[path] = f"{value}+{digest(number, path)[:12]}"
    for place in range(FILES):
        facts[f"{TREE}/files/srt%2Fpart_{place % 97}%2Fmodule_{place}.py"] = f"sha256:{digest(number, place)} {place * 13}"
    return facts


def own(host: int, era: int) -> dict[str, object]:
    """Return the facts that only one host has: its GPUs' names, and when its files were written."""
    stamp = 1_770_000_000_000_000_000 + era * 10**15
    times = {
        f"{TREE}/times/srt%2Fpart_{place % 97}%2Fmodule_{place}.py": [stamp + int(digest(host, era, place)[:8], 16), stamp + place * 7919, place + host]
        for place in range(FILES)
    }
    return {**times, "firmware/serial": digest(host)[:16], "git/sglang/root": "/opt/sglang"}


def month(example: Snapshot, host: int, images: Sequence[dict[str, object]], days: int) -> Iterator[Snapshot]:
    """Yield every run of a host, each as the one before with its changes."""
    chance = random.Random(host)
    moving = [path for path, value in sorted(example.facts.items()) if example.is_volatile(path) and isinstance(value, (int, float)) and value is not True]
    swaps = {DAYS // 3: 1, 2 * DAYS // 3: 2}
    facts = {**images[0], **own(host, 0)}
    for run in range(days * RUNS):
        day, hour = divmod(run, RUNS)
        if hour == 9 and day in swaps:
            facts = {**images[swaps[day] % len(images)], **own(host, swaps[day])}
        if hour == 14:
            name = f"srt%2Fpart_{day % 97}%2Fmodule_{day}.py"
            facts[f"{TREE}/files/{name}"] = f"sha256:{digest(host, day)} {day * 17}"
            facts[f"{TREE}/times/{name}"] = [1_780_000_000_000_000_000 + run, 1_780_000_000_000_000_000 + run, run]
        facts.update(moved(moving, chance))
        probes = {name: replace(one, elapsed_s=round(chance.uniform(0.001, 2), 3)) for name, one in example.probes.items()}
        taken_at = (START + timedelta(hours=run, seconds=host % 3000)).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield replace(example, host=f"gpu-{host:05}", taken_at=taken_at, facts=dict(facts), probes=probes, volatile=(*example.volatile, f"{TREE}/times/*"))


def moved(moving: Sequence[str], chance: random.Random) -> dict[str, object]:
    """Return about 1 KB of new values."""
    facts: dict[str, object] = {}
    size = 0
    while size < CHANGED_BYTES:
        path = moving[len(facts) % len(moving)] if len(facts) < len(moving) else f"system/counter_{len(facts)}"
        facts[path] = chance.randrange(10**6)
        size += len(path) + 12
    return facts


@dataclass(frozen=True)
class Sample:
    """What a few hosts' month came to."""

    store: ObjectStore
    hosts: list[str]
    saves: list[Cost]
    plain_bytes: int


def store_sample(hosts: int, days: int, local: Path) -> Sample:
    """Store every run of a few hosts, all of the same images, and return what it cost."""
    example = document.load(EXAMPLE)
    images = [image(example, number) for number in range(3)]
    store = ObjectStore("memory://fleet", FileStore(local), Ages())
    saves, plain = [], 0
    for host in range(hosts):
        for snapshot in month(example, host, images, days):
            saves.append(timed(lambda one=snapshot: keep_linked(store, one)))
        plain += len(document.to_bytes(snapshot)) * days * RUNS
        print(f"  host {host + 1} of {hosts}: {len(saves):,} snapshots", file=sys.stderr)
    return Sample(store, list(store.hosts()), saves, plain)


def pieces_by_hosts(sample: Sample) -> tuple[dict[str, set[str]], dict[str, int]]:
    """Return which hosts need each list, and each list's bytes."""
    sizes = {object_names.digest_of(one.key): one.size_bytes for one in sample.store.bucket.below(object_names.LISTS)}
    users: dict[str, set[str]] = {one: set() for one in sizes}
    for host in sample.hosts:
        for stem in {entry.stem for entry in sample.store.entries(host)}:
            whole = next(one for one in sizes if one.startswith(stem))
            for one in (whole, *sample.store.bases.piece_digests(whole)):
                users[one].add(host)
    return users, sizes


def tell_bytes(sample: Sample, days: int) -> None:
    """Print the sample's objects and bytes, and the fleet's."""
    count = len(sample.hosts)
    snapshots = [one.size_bytes for host in sample.hosts for one in sample.store.bucket.below(object_names.host_key(host))]
    users, sizes = pieces_by_hosts(sample)
    shared = [sizes[one] for one, hosts in users.items() if len(hosts) == count]
    single = [sizes[one] for one, hosts in users.items() if len(hosts) < count]
    scale, images, length = FLEET / count, IMAGES / 3, DAYS / days
    rows = [
        ("snapshots", len(snapshots), sum(snapshots), scale * length),
        ("lists of one host", len(single), sum(single), scale * length),
        ("lists that an image's hosts share", len(shared), sum(shared), images),
    ]
    print(f"\n{count} hosts, {days} days, {RUNS} runs a day, stored whole; median snapshot {statistics.median(snapshots):,.0f} B")
    print(f"{'':36}{'sample':>10}{'bytes':>14}{'fleet':>14}{'GB':>9}")
    for name, number, size, factor in rows:
        print(f"{name:36}{number:>10,}{size:>14,}{number * factor:>14,.0f}{size * factor / 1e9:>9.2f}")
    total = sum(size * factor for _, _, size, factor in rows)
    print(f"{'all':36}{sum(row[1] for row in rows):>10,}{sum(row[2] for row in rows):>14,}{sum(n * f for _, n, _, f in rows):>14,.0f}{total / 1e9:>9.2f}")
    print(f"whole JSON: {sample.plain_bytes * scale * length / 1e12:.1f} TB; goal: at most 15 GB")


def tell_costs(sample: Sample) -> None:
    """Print what saving, reading, gc and verify cost this process, in fsspec's memory: no network and no disk but the local base."""
    save = median(sample.saves)
    host = sample.hosts[0]
    entries = sample.store.entries(host)
    cold = ObjectStore(sample.store.bucket.url, FileStore(sample.store.local.root / "cold"))
    first = timed(lambda: cold.load(entries[-1]))
    read = timed(lambda: list(cold.load_each(entries)))
    follow = follow_month(cold, entries)
    look = timed(lambda: [find(sample.store, one, "last") for one in sample.hosts])
    verify = timed(lambda: list(verify_host(cold, host, Demand())))
    gc = timed(lambda: [sort_out(sample.store, one, parse_rules(RULES), START + timedelta(days=40)) for one in sample.hosts])
    sweep = timed(lambda: sample.store.sweep(sample.hosts, (), is_real=False))
    print("\nCPU of this process, objects in memory")
    print(f"save: {save.cpu_s * 1e3:.1f} ms ({1 / save.cpu_s:.0f}/s); a run of {FLEET:,} hosts: {save.cpu_s * FLEET:,.0f} CPU s of an hour's 3,600 a core")
    print(f"load, nothing known yet: {first.cpu_s * 1e3:.0f} ms; a month of one host ({len(entries)}): {read.cpu_s:.1f} s ({len(entries) / read.cpu_s:.0f}/s)")
    print(f"history of a month: its versions {follow[0].cpu_s:.1f} s, all that changed {follow[1].cpu_s:.1f} s, reading included")
    print(f"HOST@last: {look.cpu_s / len(sample.hosts) * 1e3:.2f} ms")
    month_h = verify.cpu_s * DAYS * RUNS / len(entries) * FLEET / 3600
    newest_min = month_h / DAYS / RUNS * 60
    print(f"verify: {verify.cpu_s / len(entries) * 1e3:.1f} ms a snapshot; the fleet's newest {newest_min:.0f} CPU min, its month {month_h:,.0f} CPU h")
    for name, cost in ((f"gc ({RULES}), sorting", gc), ("gc, the sweep of lists", sweep)):
        print(f"{name}: {cost.cpu_s / len(sample.hosts) * 1e3:.0f} ms a host, the fleet {cost.cpu_s / len(sample.hosts) * FLEET / 60:.1f} min")


def follow_month(store: ObjectStore, entries: Sequence[Entry]) -> tuple[Cost, Cost]:
    """Return what `history` costs for a month of one host: when its packages' versions changed, and all that changed."""

    def moments() -> list[Moment]:
        read = ((entry, slim) for entry, slim in store.load_each(entries) if isinstance(slim, Slim))
        return [Moment(entry.ref, entry.name.taken_at, (), slim.whole) for entry, slim in read]

    def versions(found: list[Moment]) -> object:
        return fact_rows(found, paths_that_fit(found, ("packages/*/version",)))

    return timed(lambda: versions(moments())), timed(lambda: steps(moments()))


def tell_s3(local: Path, rounds: int) -> None:
    """Print what a save takes against a bare put of the same bytes, on an S3 on loopback, and how many requests each question costs."""
    server = S3Server()
    line = FaultyLine(server.port)
    try:
        server.make_bucket("fleet")
        os.environ.update(server.environ())
        against_bare_put(ObjectStore("s3://fleet/timed", FileStore(local / "timed")), rounds)
        os.environ.update(server.environ(line.port))
        tell_requests(ObjectStore("s3://fleet/counted", FileStore(local / "counted")), line)
    finally:
        line.close()
        server.close()


def against_bare_put(store: ObjectStore, rounds: int) -> None:
    example = document.load(EXAMPLE)
    runs = month(example, 1, [image(example, 0)], 1 + rounds // RUNS)
    first = next(runs)
    keep_linked(store, first)
    store.bucket.write_over("bare/warm", document.to_bytes(first))
    sides: dict[str, list[Cost]] = {"its bytes made and put bare": [], "bytes put bare": [], "save": []}
    for number, snapshot in zip(range(rounds), runs, strict=False):
        again = replace(snapshot)  # whose id nobody has worked out yet
        data = document.to_bytes(replace(snapshot))
        sides["its bytes made and put bare"].append(timed(lambda n=number, one=snapshot: store.bucket.write_over(f"made/{n}", document.to_bytes(one))))
        sides["bytes put bare"].append(timed(lambda n=number, d=data: store.bucket.write_over(f"bare/{n}", d)))
        sides["save"].append(timed(lambda one=again: keep_linked(store, one)))
    print(f"\nS3 on loopback, {len(data):,} B a snapshot, {rounds} rounds in turn; goal: a save takes at most 2 times a bare put")
    for name, costs in sides.items():
        ratios = sorted(one.wall_s / other.wall_s for one, other in zip(sides["save"], costs, strict=True))
        spread = f"{statistics.median(ratios):.2f} ({ratios[len(ratios) // 4]:.2f} to {ratios[3 * len(ratios) // 4]:.2f})"
        print(f"{name}: {median(costs).wall_s * 1e3:.0f} ms wall, {median(costs).cpu_s * 1e3:.0f} ms CPU; a save is {spread} of it")


def tell_requests(store: ObjectStore, line: FaultyLine) -> None:
    example = document.load(EXAMPLE)
    runs = list(month(example, 2, [image(example, number) for number in range(3)], 2))
    rows = []

    def counted(name: str, call: Callable[[], object]) -> None:
        line.requests.clear()
        call()
        verbs = Counter("LIST" if "list-type" in path else verb for verb, path in line.requests)
        rows.append(f"{name}: {len(line.requests)} ({', '.join(f'{count} {verb}' for verb, count in sorted(verbs.items()))})")

    counted("the first save of a host and its image", lambda: keep_linked(store, runs[0]))
    counted("the next save", lambda: keep_linked(store, runs[1]))
    for one in runs[2:30]:
        keep_linked(store, one)
    counted("HOST@last", lambda: find(store, "gpu-00002", "last"))
    counted("load of it, nothing known yet", lambda: ObjectStore(store.bucket.url, store.local).load(find(store, "gpu-00002", "last")))
    counted("all names of a host", lambda: store.entries("gpu-00002"))
    print("requests: " + "; ".join(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tell_s3(Path(folder), given.rounds)
        sample = store_sample(given.hosts, given.days, Path(folder) / "sample")
        tell_bytes(sample, given.days)
        tell_costs(sample)


if __name__ == "__main__":
    main()
