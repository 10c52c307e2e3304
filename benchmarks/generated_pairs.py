"""How high planted culprits rank: ``python benchmarks/generated_pairs.py [--seeds N] [--each N] [--missed]``. Made pairs, for testing only.

Nothing is fitted on them. *A week*: each kind of culprit on the recorded host with a week of drift, several seeds. *Dated*: on the same host with what
two dates made of one requirement set (benchmarks/resolved_pairs.py), some kinds for each of those pairs, so that all kinds come round.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.generated.pairs import KINDS, Pair, base, dated, make, told


def brier(pairs: list[Pair]) -> float:
    """Return the Brier score of the confidence at rank 1: 0 is perfect, 0.25 a guess; an answer that blames nobody has confidence 0."""
    firsts = [(pair.explanation.suspects[0].confidence if pair.explanation.suspects else 0.0, pair.rank == 1) for pair in pairs]
    return statistics.fmean((confidence - is_right) ** 2 for confidence, is_right in firsts)


def row(name: str, pairs: list[Pair]) -> str:
    """Return one line of the table."""
    first, three = (sum(pair.rank is not None and pair.rank <= most for pair in pairs) for most in (1, 3))
    shown = statistics.fmean(len(pair.explanation.suspects) for pair in pairs)
    return f"| {name} | {first}/{len(pairs)} | {three}/{len(pairs)} | {brier(pairs):.3f} | {shown:.1f} | {sum(pair.is_ruled_out for pair in pairs)} |"


def main() -> None:
    """Make the pairs and print the table by kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="weeks for each kind")
    parser.add_argument("--each", type=int, default=8, help="kinds for each dated pair")
    parser.add_argument("--missed", action="store_true", help="print each pair whose culprit is not first, and what stands above it")
    given = parser.parse_args()
    start, names = base(), list(KINDS)
    week = {name: [make(name, seed, start) for seed in range(1, given.seeds + 1)] for name in names}
    pairs = dated()
    turns = [(names[(at * given.each + turn) % len(names)], at, one) for at, one in enumerate(pairs) for turn in range(given.each)]
    old = [make(name, at, start, one) for name, at, one in turns]
    every = [pair for some in week.values() for pair in some]
    print("| culprit | top-1 | top-3 | Brier at rank 1 | shown | ruled out |\n|---|---|---|---|---|---|")
    print("\n".join(row(name, some) for name, some in week.items()))
    print(row("a week, all kinds", every))
    if old:
        print(row(f"dated, {len(pairs)} pairs of dates", old))
    controls = [make("control", seed, start) for seed in range(1, given.seeds + 1)]
    print(f"\ncontrols: {sum(len(pair.explanation.suspects) for pair in controls)} suspects in {len(controls)} pairs without a culprit")
    if given.missed:
        print("\n".join(told(pair) for pair in (*every, *old, *controls) if pair.rank != 1 and (pair.planted or pair.explanation.suspects)))


if __name__ == "__main__":
    main()
