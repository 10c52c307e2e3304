"""How high driftwatch ranks the known culprit of public software incidents: good and bad dump, sometimes a log, with what it was in case.json.

python benchmarks/incidents.py [--table] [FOLDER]. Prints the figures of docs/accuracy.md; ends with 1 where a bar is missed. Printed
beside them: *shaken*, the same ranking with every single term's weight off by up to 40 %, and *without a rule*, the worst top-1 and top-3 when any one
rule is taken away. Fitted weights, and what is left when an incident is left out of the fit, are fit_weights.py's.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from driftwatch.compare.pair import compare
from driftwatch.dumps.read import read_dump
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.explanation import Explanation, Subject
from driftwatch.explain.rule import Rule
from driftwatch.explain.rules_found import load_rules
from driftwatch.model import Symptom
from driftwatch.symptom import classify, trace_of

FOLDER = Path(__file__).parent.parent / "tests/incidents/software"
WAYS = ("log", "class", "none")
SHAKES, SHAKEN_BY = 200, 0.4
BARS = {"top1": 0.86, "top3": 1.0, "top3 without the log": 0.8, "brier": 0.15, "shown": 7.0}


@dataclass(frozen=True)
class Incident:
    """One settled incident: its folder and its case.json."""

    folder: Path
    told: dict[str, Any]

    @property
    def klass(self) -> str:
        """Return the class of the symptom."""
        return str(self.told["symptom"]["class"])

    @property
    def names(self) -> tuple[str, ...]:
        """Return the culprit's name and those that may also stand first."""
        return (str(self.told["culprit"]["name"]), *map(str, self.told.get("culprit_accept", ())))


@dataclass(frozen=True)
class Outcome:
    """What one way of asking gave: the culprit's rank (ties share the middle place; None: not shown), and what was said beside it."""

    incident: Incident
    explanation: Explanation
    rank: float | None

    @property
    def first(self) -> float:
        """Return the confidence at rank 1, 0 where nobody is blamed."""
        return self.explanation.suspects[0].confidence if self.explanation.suspects else 0.0


def incidents(folder: Path) -> list[Incident]:
    """Return the incidents of a folder, by name."""
    return [Incident(path.parent, json.loads(path.read_text())) for path in sorted(folder.glob("*/case.json"))]


def explained(incident: Incident, way: str, rules: Sequence[Rule], sides: tuple[str, str] = ("good.txt", "bad.txt")) -> Explanation:
    """Return the explanation of an incident."""
    return explain(asked(incident, way, sides), rules)


def asked(incident: Incident, way: str, sides: tuple[str, str] = ("good.txt", "bad.txt")) -> Case:
    """Return an incident as a case, asked with its log and class, with its class alone, or with neither."""
    good, bad = (read_dump((incident.folder / side).read_text(encoding="utf-8"), side) for side in sides)
    log = incident.folder / "log.txt"
    text = log.read_text(encoding="utf-8") if way == "log" and log.exists() else ""
    found = classify(text) if text else None
    symptom = None if way == "none" else replace(found or Symptom(), klass=incident.klass)
    return Case(good, bad, compare(good, bad), symptom, way if symptom else None, trace=trace_of(text) if text else "")


def is_culprit(incident: Incident, subject: Subject) -> bool:
    """Tell whether a subject is the culprit or an accepted name: the same name, one path of which the other is the end, or the kind itself."""
    return subject.kind in incident.names or any(_same(subject.name, name) for name in incident.names)


def _same(one: str, other: str) -> bool:
    first, second = (_parts(name) for name in (one, other))
    short, long = sorted((first, second), key=len)
    return bool(short) and long[len(long) - len(short):] == short


def _parts(name: str) -> list[str]:
    bare = re.sub(r"\s*\([^()]*\)\Z", "", name).removesuffix(" working tree").lstrip("-")
    return [part for part in bare.lower().replace("_", "-").split("/") if part not in ("", "~", "home", "user", "root")]


def rank_of(incident: Incident, ranked: Sequence[tuple[float, Subject]]) -> float | None:
    """Return the culprit's rank among (confidence, subject); it shares the middle of the places with what is no accepted name and as sure."""
    for confidence, subject in ranked:
        if is_culprit(incident, subject):
            before = sum(other > confidence for other, _ in ranked)
            beside = sum(other == confidence and not is_culprit(incident, one) for other, one in ranked)
            return before + 1 + beside / 2
    return None


def outcome(incident: Incident, way: str, rules: Sequence[Rule], sides: tuple[str, str] = ("good.txt", "bad.txt")) -> Outcome:
    """Return how an incident came out."""
    found = explained(incident, way, rules, sides)
    return Outcome(incident, found, rank_of(incident, [(one.confidence, one.subject) for one in found.suspects]))


def shares(ranks: Sequence[float | None]) -> tuple[float, float]:
    """Return the shares of culprits first, and in the first three."""
    return tuple(sum(rank is not None and rank <= most for rank in ranks) / len(ranks) for most in (1, 3))  # type: ignore[return-value]  # two of them


def brier(outcomes: Sequence[Outcome]) -> float:
    """Return the mean squared error of the confidence at rank 1; an answer that blames nobody counts as one of confidence 0."""
    return statistics.fmean((one.first - (one.rank == 1)) ** 2 for one in outcomes)


def shaken(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """Return the mean shares where every term's weight is off by up to 40 %, over many seeded draws, among the suspects that were shown."""
    drawn = random.Random(1)
    found = [shares([rank_of(one.incident, _shaken(one.explanation, drawn)) for one in outcomes]) for _ in range(SHAKES)]
    return statistics.fmean(one for one, _ in found), statistics.fmean(three for _, three in found)


def _shaken(explanation: Explanation, drawn: random.Random) -> list[tuple[float, Subject]]:
    sums = [(one.prior + sum(term.weight * drawn.uniform(1 - SHAKEN_BY, 1 + SHAKEN_BY) for term in one.because), one.subject) for one in explanation.suspects]
    return sorted(sums, key=lambda pair: -pair[0])


def without_a_rule(cases: Sequence[Incident], rules: Sequence[Rule]) -> Iterator[tuple[str, float, float]]:
    """Yield for each rule the shares that remain without it."""
    for rule in rules:
        rest = [other for other in rules if other is not rule]
        yield rule.name, *shares([outcome(one, "log", rest).rank for one in cases])


def blind(cases: Sequence[Incident], rules: Sequence[Rule]) -> Iterator[tuple[str, bool]]:
    """Yield each layout that never prints the culprit, and whether the answer is honest: a suspect or named as not checked, never ruled out."""
    for one in cases:
        for name, is_visible in one.told.get("culprit_visible_in_alt_layout", {}).items():
            if name.startswith("bad.") and not is_visible:
                found = explained(one, "log", rules, ("good" + name.removeprefix("bad"), name))
                open_ = any(is_culprit(one, entry.subject) for entry in (*found.suspects, *found.not_checked))
                yield f"{one.folder.name} {name}", open_ and not any(is_culprit(one, entry.subject) for entry in found.ruled_out)


def table(by_way: dict[str, list[Outcome]]) -> Iterator[str]:
    """Yield the rows of docs/accuracy.md's table of cases."""
    yield "| incident | class | culprit | " + " | ".join(WAYS) + " | confidence at 1 |"
    yield "|---|---|---|" + "---|" * (len(WAYS) + 1)
    for rows in zip(*(by_way[way] for way in WAYS), strict=True):
        one = rows[0]
        ranks = " | ".join(f"{row.rank:g}" if row.rank else "not shown" for row in rows)
        culprit = one.incident.told["culprit"]
        yield f"| {one.incident.folder.name} | {one.incident.klass} | {culprit['kind']} {Path(str(culprit['name'])).name} | {ranks} | {one.first:.2f} |"


def main() -> int:
    """Print the figures; return 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--table", action="store_true", help="print the table of cases for docs/accuracy.md too")
    given = parser.parse_args()
    rules, cases = load_rules(has_entry_points=False), incidents(given.folder)
    by_way = {way: [outcome(one, way, rules) for one in cases] for way in WAYS}
    if given.table:
        print("\n".join(table(by_way)), end="\n\n")
    for way, outcomes in by_way.items():
        one, three = shares([found.rank for found in outcomes])
        shown = statistics.median(len(found.explanation.suspects) for found in outcomes)
        print(f"{way:<8} top-1 {one:.0%}  top-3 {three:.0%}  shown (median) {shown:g}  Brier at rank 1 {brier(outcomes):.3f}  ({len(outcomes)} incidents)")
    print("shaken   top-1 {:.0%}  top-3 {:.0%}".format(*shaken(by_way["log"])))
    worst = min(without_a_rule(cases, rules), key=lambda row: (row[2], row[1]))
    print(f"without  top-1 {worst[1]:.0%}  top-3 {worst[2]:.0%}  (the rule missed most: {worst[0]})")
    honest = list(blind(cases, rules))
    print(f"layouts that cannot show the culprit: {sum(ok for _, ok in honest)} of {len(honest)} honest")
    return 1 if list(missed(by_way, honest)) else 0


def missed(by_way: dict[str, list[Outcome]], honest: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """Yield the bars that are missed, printing each."""
    (one, three), outcomes = shares([found.rank for found in by_way["log"]]), by_way["log"]
    wrongly = [found for rows in by_way.values() for found in rows if any(is_culprit(found.incident, entry.subject) for entry in found.explanation.ruled_out)]
    blindly = shares([found.rank for found in by_way["class"]])[1]
    bars = {
        "top-1": one >= BARS["top1"], "top-3": three >= BARS["top3"], "top-3 without the log": blindly >= BARS["top3 without the log"],
        "Brier": brier(outcomes) <= BARS["brier"], "a culprit ruled out": not wrongly, "blind layouts": all(ok for _, ok in honest),
        "shown": statistics.median(len(found.explanation.suspects) for found in outcomes) <= BARS["shown"],
    }
    for name, is_met in bars.items():
        if not is_met:
            print(f"missed: {name}")
            yield name


if __name__ == "__main__":
    sys.exit(main())
