"""Fits the table of weights on the public incidents: ``python benchmarks/fit_weights.py [--only software|hosts] [--stiffness N …]``.

Hundreds of weights cannot be fitted on forty incidents: the weights of one group (``GROUPS`` of driftwatch/explain/weights.py, the three tables by
class, what the class makes of a kind) keep their proportions and share one factor, and one figure is added to every prior (fitting.py). Trained on:
the software incidents, asked with log and class, class alone, neither, in every layout that shows the culprit; and the recorded hosts, asked with the
log's symptom, the class alone, neither. Printed beside each other: the judged table, the fitted one, and *left out*, where an incident is asked under
the factors that were fitted without it, in all its layouts and ways. The made pairs of tests/generated are never trained on; both tables are tried on
them. A recorded host takes about two seconds to read, so the whole takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import incidents as software
from benchmarks.fitting import Candidate, Factors, Figures, Question, figures, fit
from driftwatch.capture.plan import offers, plan_for
from driftwatch.capture.take import Order, take_recorded
from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.explain import candidates
from driftwatch.explain.explanation import Subject, Suspect
from driftwatch.explain.rule import Rule
from driftwatch.explain.rules_found import load_rules
from driftwatch.explain.weights import BASE, GROUPS, ROUTE, SCALES, SHOWN
from driftwatch.model import Snapshot, Symptom
from driftwatch.symptom import of_snapshot

HOSTS = Path(__file__).resolve().parent.parent / "tests/hosts"
FITTED = ("route", "layer", "argument", "variable", *GROUPS)
STIFFNESS = (1.0, 3.0, 10.0, 30.0)
ONE_STORY = {"s4-seed-probe-hang": "s1-seed-fraction"}  # recorded twice: left out together
KINDS = {  # the keys' words for a kind, in ours; a package counts only by its name
    "driver-user-kernel-mismatch": "driver", "fabricmanager-version": "service driver", "container-toolkit": "container", "ofed-abi": "kernel-module package",
    "kernel-upgrade-no-module": "kernel-module kernel", "gpu-memory-hardware": "ecc gpu", "gpu-memory-stale-process": "gpu-process gpu-memory",
    "shm-size": "limit package library", "ulimit-nofile": "limit", "host-memory-page-cache": "host-memory", "platform-power-state": "power-clock",
    "gpu-power-or-memory-hardware": "ecc gpu power-clock", "mig-mode": "mig", "ld-path-system-library": "library package", "network-filesystem": "mount",
    "on-disk-cache": "cache", "visible-devices": "env-var", "driver-upgrade": "driver",
}


def question(case: Case, rules: Sequence[Rule], is_culprit: Callable[[Subject], bool], named: tuple[str, str, str]) -> Question:
    """Return a case as a question; ``named`` is incident, corpus and way of asking."""
    return Question(*named, tuple(_candidate(one, case.klass, is_culprit(one.subject)) for _, one in candidates(case, rules)))


def _candidate(suspect: Suspect, klass: str | None, is_culprit: bool) -> Candidate:  # noqa: FBT001  private, and told by name in Candidate
    kind = suspect.subject.kind
    sums = {"route": ROUTE.get(klass or "", {}).get(kind, 0.0)}
    for term in suspect.because:
        if term.group:
            sums[term.group] = sums.get(term.group, 0.0) + term.weight / SCALES.get(term.group, 1.0)
    free = sum(term.weight for term in suspect.because if not term.group)
    return Candidate(f"{kind} {suspect.subject.name}", {group: value for group, value in sums.items() if value}, BASE.get(kind, -3.0) + free, is_culprit)


def of_software(rules: Sequence[Rule], folder: Path = software.FOLDER) -> Iterator[Question]:
    """Yield the software incidents: every way of asking and every layout that shows the culprit."""
    for one in software.incidents(folder):
        hidden = {name for name, seen in one.told.get("culprit_visible_in_alt_layout", {}).items() if not seen}
        for bad in sorted(one.folder.glob("bad*.txt")):
            good = one.folder / bad.name.replace("bad", "good")
            if bad.name not in hidden:
                sides = ((good if good.exists() else one.folder / "good.txt").name, bad.name)
                for way in software.WAYS:
                    case = software.asked(one, way, sides)
                    yield question(case, rules, lambda subject, one=one: software.is_culprit(one, subject), (one.folder.name, "software", way))


def of_hosts(rules: Sequence[Rule], only: str = "") -> Iterator[Question]:
    """Yield the recorded hosts of which both sides were recorded; one whose culprit shows nowhere has none."""
    for path in sorted((HOSTS / "keys").glob("*.json")):
        key = json.loads(path.read_text(encoding="utf-8"))
        if "unreachable" in key or only not in path.stem:
            continue
        good, bad = (recorded(path.stem, side) for side in ("good", "bad"))
        ways = {"log": of_snapshot(bad), "class": Symptom(key["symptom"]["class"]), "none": None}
        for way, symptom in ways.items():
            case = Case(good, bad, compare(good, bad), symptom, way if symptom else None)
            yield question(case, rules, lambda subject, key=key: is_of(key, subject), (ONE_STORY.get(path.stem, path.stem), "hosts", way))


def recorded(name: str, side: str) -> Snapshot:
    """Return the snapshot of one side of a recorded host, every group of probes asked."""
    groups = sorted({offer.probe.group for offer in offers()} - {""})
    return take_recorded(str(HOSTS / f"{name}.tar.xz" / name / side), Order(plan_for(groups=groups), key=b"k" * 32, key_id="k1"))


def is_of(key: dict[str, Any], subject: Subject) -> bool:
    """Tell whether a subject is what a key names: of its kind, and a package by its name too."""
    kind = key["culprit"]["kind"]
    if not key["expect"].startswith("culprit") or subject.kind not in KINDS.get(kind, kind).split():
        return False
    accepted = " ".join((key["culprit"]["name"], *key["culprit"].get("accept", ()))).replace("_", "-")
    return subject.kind not in ("package", "launch-arg") or subject.name.replace("_", "-") in accepted


def weighed(questions: Sequence[Question]) -> list[Question]:
    """Return the questions with weights: those about one incident weigh 1 together."""
    many = {one.incident: sum(other.incident == one.incident for other in questions) for one in questions}
    return [replace(one, weight=1 / many[one.incident]) for one in questions]


def left_out(questions: Sequence[Question], stiffness: float, whole: Factors) -> list[tuple[Question, Factors]]:
    """Return each question with the factors that were fitted without its incident."""
    found: list[tuple[Question, Factors]] = []
    for incident in dict.fromkeys(one.incident for one in questions):
        factors = fit([one for one in questions if one.incident != incident], FITTED, stiffness, whole)
        found += [(one, factors) for one in questions if one.incident == incident]
    return found


def rows(name: str, asked: Sequence[tuple[Question, Factors]]) -> Iterator[str]:
    """Yield the lines of a table: by corpus and way of asking, then all."""
    for corpus, way in sorted({(one.corpus, one.way) for one, _ in asked}):
        yield row(f"{corpus}, {way}", name, figures([pair for pair in asked if (pair[0].corpus, pair[0].way) == (corpus, way)], SHOWN))
    yield row("all", name, figures(asked, SHOWN))


def row(corpus: str, name: str, found: Figures) -> str:
    """Return one line of a table."""
    return f"| {corpus} | {name} | {found.top1:.0%} | {found.top3:.0%} | {found.reciprocal:.3f} | {found.brier:.3f} | {found.loss:.2f} |"


def of_made(rules: Sequence[Rule], seeds: int) -> Iterator[Question]:
    """Yield made pairs with planted culprits, for trying only."""
    from tests.generated.pairs import KINDS, base, dated, make  # noqa: PLC0415  only where they are asked for

    start, pairs = base(), dated()
    for at, name in enumerate(KINDS):
        for seed in range(1, seeds + 1):
            for collateral in (None, pairs[(at * seeds + seed) % len(pairs)]):
                pair = make(name, seed, start, collateral)
                yield question(pair.case, rules, pair.is_culprit, (f"{name} {seed}", "made, a week" if collateral is None else "made, dated", "all"))


def main() -> None:
    """Fit, leave out, and print the figures and the factors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("software", "hosts"), help="train on one corpus alone")
    parser.add_argument("--stiffness", type=float, nargs="+", default=STIFFNESS, help="how hard the ridge draws; the best left-out loss of these is taken")
    given = parser.parse_args()
    rules = load_rules(has_entry_points=False)
    questions = weighed([*(of_software(rules) if given.only != "hosts" else ()), *(of_hosts(rules) if given.only != "software" else ())])
    judged: Factors = {}
    tried = {stiffness: fit(questions, FITTED, stiffness) for stiffness in given.stiffness}
    out = {stiffness: left_out(questions, stiffness, factors) for stiffness, factors in tried.items()}
    best = min(out, key=lambda stiffness: figures(out[stiffness], SHOWN).loss)
    print(f"{len({one.incident for one in questions})} incidents, {len(questions)} questions, {sum(len(one.candidates) for one in questions)} candidates")
    print("left-out loss by stiffness: " + ", ".join(f"{one:g}: {figures(asked, SHOWN).loss:.3f}" for one, asked in out.items()) + f"; taken: {best:g}\n")
    print("| asked | weights | first | in the first three | MRR | Brier at rank 1 | loss |\n|---|---|---|---|---|---|---|")
    for name, asked in (("judged", [(one, judged) for one in questions]), ("fitted", [(one, tried[best]) for one in questions]), ("left out", out[best])):
        print("\n".join(rows(name, asked)))
    made = list(of_made(rules, 2))
    for name, factors in (("judged", judged), ("fitted", tried[best])):
        for corpus in sorted({one.corpus for one in made}):
            print(row(f"{corpus}, never trained on", name, figures([(one, factors) for one in made if one.corpus == corpus], SHOWN)))
    print("\nfactors: " + ", ".join(f'"{name}": {value:.2f}' for name, value in tried[best].items()))


if __name__ == "__main__":
    main()
