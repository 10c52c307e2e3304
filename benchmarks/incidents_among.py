"""How the public incidents rank among what months moved besides: ``python benchmarks/incidents_among.py [--step N]``. For testing only; nothing is fitted.

Both dumps of an incident get the distributions of a date-true pair (benchmarks/resolved_pairs.py) that neither of them names, as of the two dates: real
drift around a real culprit. ``--step``: every Nth pair of dates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.incidents import FOLDER, Incident, Outcome, asked, brier, incidents, rank_of, shares
from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.rule import Rule
from driftwatch.explain.rules_found import load_rules
from tests.generated.pairs import dated, dump


def versions(name: str, date: str) -> dict[str, str]:
    """Return the facts of a requirement set as of a date: path to version."""
    lines = dump(name, date).read_text(encoding="utf-8").splitlines()
    return {f"packages/{package}/version": version for package, _, version in (line.strip().partition("==") for line in lines)}


def among(case: Case, moved: tuple[str, str, str]) -> Case:
    """Return a case with what a date-true pair moved besides."""
    own = {path.split("/")[1] for side in (case.good, case.bad) for path in side.facts if path.startswith("packages/")}
    sides = [
        replace(side, facts={**side.facts, **{path: version for path, version in versions(moved[0], date).items() if path.split("/")[1] not in own}})
        for side, date in ((case.good, moved[1]), (case.bad, moved[2]))
    ]
    return replace(case, good=sides[0], bad=sides[1], changes=compare(*sides))


def outcomes(incident: Incident, way: str, rules: Sequence[Rule], pairs: Sequence[tuple[str, str, str]]) -> Iterator[Outcome]:
    """Yield how an incident came out among each of the pairs."""
    case = asked(incident, way)
    for pair in pairs:
        found = explain(among(case, pair), rules)
        yield Outcome(incident, found, rank_of(incident, [(one.confidence, one.subject) for one in found.suspects]))


def main() -> None:
    """Print the figures by way of asking."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=3)
    given = parser.parse_args()
    rules, pairs = load_rules(has_entry_points=False), dated()[:: given.step]
    print("| asked with | first | in the first three | Brier at rank 1 | asked |\n|---|---|---|---|---|")
    for way in ("log", "class"):
        found = [one for incident in incidents(FOLDER) for one in outcomes(incident, way, rules, pairs)]
        first, three = shares([one.rank for one in found])
        print(f"| {way} | {first:.0%} | {three:.0%} | {brier(found):.3f} | {len(found)} |")


if __name__ == "__main__":
    main()
