"""What load, compare and explain cost beside DeepDiff and diff: ``python benchmarks/compare_cost.py [--rounds N]``. Prints the rows of docs/performance.md.

Three pairs: a checkout that was deployed anew, so that each file has other times and one in a hundred other bytes; packages, variables, sysctl values and
source files of which one fact in a hundred is another; and the same where all are. In process, CPU time alone, in turn A B A B, with the collector of
cycles set as the command sets it; both read the two JSON files first. Beside that whole processes: 100,000 facts against ``diff -u`` of pretty JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from deepdiff import DeepDiff

from benchmarks import round_robin
from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.rules_found import load_rules
from driftwatch.model import ProbeResult, Snapshot, Symptom
from driftwatch.store import document

ERROR = "AttributeError: module 'pkg_77' has no attribute 'x'"
TELLS = {"packages": ("packages/*",), "env": ("env/*",), "sysctl": ("sysctl/*",), "sources": ("sources/*",)}


def snapshot(facts: int, every: int, side: str) -> Snapshot:
    """Return a snapshot of so many facts, of which one in ``every`` is of this side alone."""
    found: dict[str, Any] = {}
    for at in range(facts // len(TELLS)):
        own = side if at % every == 0 else ""
        found.update({f"packages/pkg-{at}/version": f"1.{at}.0{own}", f"env/NCCL_X{at}": f"v{at}{own}", f"sysctl/net.ipv4.k{at}": f"{at}{own}",
                      f"sources/sglang/files/a%2Fb{at}.py": f"sha256:{at:064x} 1{own}"})
    return Snapshot("gpu-a", "2026-03-02T10:00:00Z", probes={name: ProbeResult("ok", tells=tells) for name, tells in TELLS.items()}, facts=found)


def checkout(facts: int, every: int, side: str) -> Snapshot:
    """Return a snapshot of a source tree: the digest and the times of each file, which are of this side alone, and the bytes of one file in ``every``."""
    found: dict[str, Any] = {}
    deployed_ns = 1_700_000_000_000_000_000 + (10**15 if side else 0)
    for at in range(facts // 2):
        own = side if at % every == 0 else ""
        found[f"sources/sglang/files/srt/layers/module_{at}.py"] = f"sha256:{at:060x}{'beef' if own else '0000'} {1000 + at}"
        found[f"sources/sglang/times/srt/layers/module_{at}.py"] = [deployed_ns + at, deployed_ns + 7 * at]
    probes = {"sources": ProbeResult("ok", tells=("sources/*",))}
    return Snapshot("gpu-a", "2026-03-02T10:00:00Z", probes=probes, volatile=("sources/*/times/*",), facts=found)


def written(folder: Path, facts: int, every: int, make: Callable[[int, int, str], Snapshot] = snapshot) -> tuple[Path, Path]:
    """Return the files of a pair."""
    paths = tuple(folder / f"{make.__name__}-{facts}-{every}-{side}.json" for side in ("good", "bad"))
    for path, side in zip(paths, ("", "rc1"), strict=True):
        path.write_bytes(document.to_bytes(make(facts, every, side)))
    return paths[0], paths[1]


def ours(pair: Sequence[Path]) -> object:
    """Load, compare and explain a pair."""
    good, bad = (document.load(path) for path in pair)
    return explain(Case(good, bad, compare(good, bad), Symptom("startup-crash", ERROR), "log"), load_rules(has_entry_points=False))


def theirs(pair: Sequence[Path]) -> object:
    """Load a pair and give it to DeepDiff."""
    good, bad = (json.loads(path.read_text(encoding="utf-8")) for path in pair)
    return DeepDiff(good, bad)


def cpu_s(work: Callable[[Sequence[Path]], object], pair: Sequence[Path]) -> float:
    """Return the CPU seconds of one call, which does not pay for the garbage of the one before it."""
    gc.collect()
    begun = time.process_time()
    work(pair)
    return time.process_time() - begun


def in_process(pair: Sequence[Path], what: str, rounds: int) -> str:
    """Return one row: both in turn, medians, and the median of the ratios round by round."""
    ours(pair), theirs(pair)
    costs = [(cpu_s(ours, pair), cpu_s(theirs, pair)) for _ in range(rounds)]
    mine, other = (statistics.median(series) for series in zip(*costs, strict=True))
    ratio = statistics.median(one / two for one, two in costs)
    return f"| {what} | {mine:.2f} | {other:.2f} | {ratio:.2f} |"


def beside_diff(folder: Path, facts: int, rounds: int) -> str:
    """Return a table of whole processes: driftwatch on a pair, and ``diff -u`` of the same as pretty JSON."""
    pair = written(folder, facts, 100)
    pretty = [path.with_suffix(".txt") for path in pair]
    for path, text in zip(pair, pretty, strict=True):
        text.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")), indent=1, sort_keys=True), encoding="utf-8")
    rows = [
        round_robin.Row("driftwatch diff", (sys.executable, "-m", "driftwatch", "diff", *map(str, pair), "--symptom", "startup-crash")),
        round_robin.Row("diff -u of pretty JSON", ("diff", "-u", *map(str, pretty))),
    ]
    return round_robin.table(rows, round_robin.compare(rows, rounds), rows[0].name)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    gc.set_threshold(50_000, 20, 20)  # as driftwatch.cli.main.run does
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("| 20,000 facts | load + compare + explain, CPU s | DeepDiff, CPU s | ours / this |\n|---|---|---|---|")
        print(in_process(written(folder, 20_000, 100, checkout), "a checkout deployed anew, 1 file in 100 edited", given.rounds), flush=True)
        for every, what in ((100, "1 fact in 100 differs"), (1, "all differ")):
            print(in_process(written(folder, 20_000, every), what, given.rounds), flush=True)
        print("\n100,000 facts, 1 in 100 differ:\n" + beside_diff(folder, 100_000, given.rounds))


if __name__ == "__main__":
    main()
