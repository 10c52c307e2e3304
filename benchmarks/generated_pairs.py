"""How high planted culprits rank: ``python benchmarks/generated_pairs.py [--seeds N] [--missed]``. Made pairs, for testing only; nothing is fitted on them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.generated.culprits import CULPRITS
from tests.generated.pairs import Pair, base, make, told


def brier(pairs: list[Pair]) -> float:
    """Return the Brier score of the confidence at rank 1: 0 is perfect, 0.25 a guess."""
    scores = [(pair.explanation.suspects[0].confidence - (pair.rank == 1)) ** 2 for pair in pairs if pair.explanation.suspects]
    return sum(scores) / len(scores) if scores else float("nan")


def row(name: str, pairs: list[Pair]) -> str:
    """Return one line of the table."""
    first, three = (sum(pair.rank is not None and pair.rank <= most for pair in pairs) for most in (1, 3))
    shown = sum(len(pair.explanation.suspects) for pair in pairs) / len(pairs)
    return f"| {name} | {first}/{len(pairs)} | {three}/{len(pairs)} | {brier(pairs):.3f} | {shown:.1f} | {sum(pair.is_ruled_out for pair in pairs)} |"


def main() -> None:
    """Make the pairs and print the table by kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--missed", action="store_true", help="print each pair whose culprit is not first, and what stands above it")
    given = parser.parse_args()
    start = base()
    found = {name: [make(name, seed, start) for seed in range(1, given.seeds + 1)] for name in CULPRITS}
    every = [pair for pairs in found.values() for pair in pairs]
    print("| culprit | top-1 | top-3 | Brier at rank 1 | shown | ruled out |\n|---|---|---|---|---|---|")
    print("\n".join(row(name, pairs) for name, pairs in found.items()))
    print(row("all", every))
    controls = [make("control", seed, start) for seed in range(1, given.seeds + 1)]
    print(f"\ncontrols: {sum(len(pair.explanation.suspects) for pair in controls)} suspects in {len(controls)} pairs without a culprit")
    if given.missed:
        print("\n".join(told(pair) for pair in (*every, *controls) if pair.rank != 1 and (pair.planted or pair.explanation.suspects)))


if __name__ == "__main__":
    main()
