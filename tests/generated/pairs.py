"""Makes pairs in memory: a host's snapshot, innocent drift, and one planted culprit. The same seed gives the same pair.

The drift is a week's, made up; or what two dates made of one requirement set (benchmarks/resolved_pairs.py), laid over the host's packages.
"""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.explanation import Explanation, Subject
from driftwatch.explain.rules_found import load_rules
from driftwatch.model import Snapshot, Symptom
from driftwatch.store.document import load
from driftwatch.symptom import trace_of
from tests.generated.culprits import CULPRITS, Facts, Planted, Sides
from tests.generated.stories import STORIES, planter

DATED = Path(__file__).parent / "resolved"
KINDS = {**CULPRITS, **{name: planter(name) for name in STORIES}}
BASE = Path(__file__).parent.parent.parent / "snapshots/good.json"
TAKEN_AT = "2026-03-05T15:20:00Z"
INSTALLED_AT = "2026-03-03T02:41:00Z"
RESTARTED_AT = "2026-03-05T15:00:00Z"
FRAME_END = " in run\n"
WEB = ("certifi", "idna", "charset-normalizer", "click", "pygments", "tqdm", "attrs", "rich", "six", "wcwidth", "httpcore",
       "anyio", "prompt-toolkit", "traitlets")
SYSTEM = ("irqbalance", "systemd", "linux-firmware", "unattended-upgrades", "nfs-common", "fuse3", "python3-minimal", "kmod", "libnuma1", "numactl")


@dataclass(frozen=True)
class Pair:
    """A made pair: what was planted, both sides, and what the rules say of it."""

    name: str
    planted: Planted | None
    good: Snapshot
    bad: Snapshot
    explanation: Explanation
    case: Case

    @property
    def rank(self) -> int | None:
        """Return at which place the culprit stands; None where it is no suspect."""
        places = [place for place, one in enumerate(self.explanation.suspects, 1) if self.is_culprit(one.subject)]
        return places[0] if places else None

    @property
    def is_ruled_out(self) -> bool:
        """Tell whether the culprit is said to be ruled out."""
        return any(self.is_culprit(one.subject) for one in self.explanation.ruled_out)

    def is_culprit(self, subject: Subject) -> bool:
        """Tell whether a subject is what was planted."""
        return self.planted is not None and any(subject.kind in kind.split("|") and name in subject.name for kind, name in self.planted.accepts)


def base() -> Snapshot:
    """Return the recorded host that all pairs start from."""
    return load(BASE)


def dated() -> list[tuple[str, str, str]]:
    """Return the date-true pairs that are kept: requirement set, good date, bad date."""
    found: dict[str, list[str]] = {}
    for path in sorted(DATED.glob("*.txt")):
        name, _, date = path.stem.rpartition(".")
        found.setdefault(name, []).append(date)
    return [(name, *pair) for name, dates in found.items() for pair in combinations(dates, 2)]


def dump(name: str, date: str) -> Path:
    """Return where a requirement set as of a date is kept."""
    return DATED / f"{name}.{date}.txt"


def make(name: str, seed: int, start: Snapshot, collateral: tuple[str, str, str] | None = None) -> Pair:
    """Return the pair of one kind of culprit and one seed; ``control`` plants none. ``collateral``: a date-true pair whose packages move besides."""
    random = Random(f"{name} {seed}")
    good: Facts = dict(copy.deepcopy(start.facts))
    bad: Facts = copy.deepcopy(good)
    if collateral is not None:
        _lay_dated(good, bad, collateral)
    planted = None if name == "control" else KINDS[name](Sides(good, bad, random))
    drift(bad, good, random)
    sides = (replace(start, facts=good), replace(start, facts=bad, taken_at=TAKEN_AT))
    symptom, trace = _symptom(planted)
    case = Case(*sides, compare(*sides), symptom, "log" if symptom else None, "bw-a@good", "bw-a@last", trace=trace)
    return Pair(name, planted, *sides, explain(case, load_rules(has_entry_points=False)), case)


def _symptom(planted: Planted | None) -> tuple[Symptom | None, str]:
    """Return the symptom and the traceback's files: of the log where there is one, else as planted, the last line being the error."""
    if planted is None or planted.symptom is None:
        return None, ""
    if planted.log:
        return planted.symptom, trace_of(planted.log)
    trace, _, line = (planted.symptom.signature or "").rpartition(FRAME_END)
    return replace(planted.symptom, signature=line or None), trace


def _lay_dated(good: Facts, bad: Facts, collateral: tuple[str, str, str]) -> None:
    """Let the packages be those of a requirement set as of two dates, told by name and version alone; a host's own that the set lacks stay."""
    name, *dates = collateral
    for facts, date in ((good, dates[0]), (bad, dates[1])):
        for path in [one for one in facts if one.startswith("packages/") and not one.endswith("/version")]:
            del facts[path]
        for line in dump(name, date).read_text(encoding="utf-8").splitlines():
            package, _, version = line.partition("==")
            facts[f"packages/{package}/version"] = version


def drift(bad: Facts, good: Facts, random: Random) -> None:
    """Let a week pass: web and system packages, disks, clocks and counters move as they do by themselves. What was planted stays."""
    for name in random.sample([one for one in WEB if f"packages/{one}/version" in bad], random.randint(2, 5)):
        path = f"packages/{name}/version"
        if bad[path] == good.get(path):
            bad[path] = next_version(str(bad[path]), random)
            bad[f"packages/{name}/record"] = digest(f"{name} {bad[path]}")
    for name in random.sample([one for one in SYSTEM if f"os_packages/{one}/version" in bad], random.randint(1, 4)):
        bad[f"os_packages/{name}/version"] = f"{bad[f'os_packages/{name}/version']}.{random.randint(1, 9)}"
    for path, value in list(bad.items()):
        if type(value) is int and path.startswith(("disks/", "system/memory/")) and path.endswith(("used_bytes", "MemFree_kib")):
            bad[path] = int(value * random.uniform(0.9, 1.1))
    if bad.get("servers/sglang/running") is True:
        bad["servers/sglang/started_at"] = RESTARTED_AT
    bad["system/uptime_s"] = int(bad.get("system/uptime_s") or 0) + 604_800
    bad["servers/sglang/args/random_seed"] = random.randint(1, 1 << 30)
    for path in [one for one in bad if one.startswith("gpus/") and one.endswith("/temperature_c")]:
        bad[path] = random.randint(28, 64)


def next_version(version: str, random: Random) -> str:
    """Return a later version: its last number is higher."""
    numbers = version.split(".")
    last = numbers[-1]
    return ".".join([*numbers[:-1], str(int(last) + random.randint(1, 3)) if last.isdigit() else f"{last}1"])


def digest(text: str) -> str:
    """Return the digest that a RECORD of that text might have."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def told(pair: Pair) -> str:
    """Return one line about a pair: where its culprit stands, and what stands above it."""
    above: list[Any] = [(one.subject.kind, one.subject.name, one.confidence) for one in pair.explanation.suspects[:4]]
    return f"{pair.name}: rank {pair.rank}, ruled out {pair.is_ruled_out}, {pair.explanation.word}: {json.dumps(above)}"
