"""A guard against growing costs: ``python benchmarks/guard.py [--update] [--rounds N] [--only NAME ...]``. Exit 1 where something costs more than it did.

Each row is a ratio of ours to a peer that ran in the same rounds on the same machine, never a time: CPU seconds by CPU seconds, and for the agent's start
the clock. benchmarks/ratios.toml holds the ratio of the day it was stored, and by which factor it may be exceeded. A row that exceeds it is measured a
second time, and the better one counts. Nothing is downloaded: the peers are Python itself, grep, sha256sum and DeepDiff, on trees, logs and snapshots made
on the spot. ``--update`` stores what was measured; a row's factor stays as it is.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import agent_start
import compare_cost
import hashing
import log_stream
from local_snapshot import ONLY, ROOT
from peers_fleet import make_fleet
from round_robin import Row, compare, compile_all, ratio, series

STORED = ROOT / "benchmarks/ratios.toml"
HEAD = "# What driftwatch costs by what a peer costs, and the factor by which that may be exceeded. Written by `python benchmarks/guard.py --update`.\n"
USUAL_FACTOR = 1.3
FACTS, EVERY = 4_000, 100
FILES, FILE_BYTES = 5_000, 4_000
LOG_BYTES, SMALL_LOG_BYTES = 90_000_000, 0
HOSTS = 60
UNTRUSTED_S = 2.5  # files younger than two seconds are read again
LOAD = "import json, sys; [json.load(open(one, 'rb')) for one in sys.argv[1:]]"
DRIFTWATCH = (sys.executable, "-m", "driftwatch")
PASS = Row("python -c pass", (sys.executable, "-c", "pass"))


@dataclass(frozen=True)
class Guarded:
    """What is guarded: its name, in words ours and the peer, and how the ratio is measured, given an empty folder and a number of rounds."""

    name: str
    what: str
    measure: Callable[[Path, int], float]


def started_agent(_folder: Path, rounds: int) -> float:
    """Return the agent's way from exec to its first probe, by a bare Python."""
    shipped = agent_start.shipment(ONLY.split(","))
    return statistics.median(agent_start.until_first_probe(shipped) / agent_start.bare() for _ in range(rounds))


def cpu_ratio(rows: Sequence[Row], rounds: int) -> float:
    """Return the CPU time of the first row by that of the second."""
    costs = compare(list(rows), rounds)
    return ratio(costs[rows[0].name], costs[rows[1].name], "cpu_s")


def helped(_folder: Path, rounds: int) -> float:
    """Return ``--help`` by a bare Python."""
    return cpu_ratio((Row("--help", (*DRIFTWATCH, "--help")), PASS), rounds)


def small_diff(_folder: Path, rounds: int) -> float:
    """Return a diff of the two example snapshots by a bare Python."""
    pair = (str(ROOT / "snapshots/good.json"), str(ROOT / "snapshots/bad.json"))
    return cpu_ratio((Row("diff", (*DRIFTWATCH, "diff", *pair)), PASS), rounds)


def made_tree(folder: Path) -> Path:
    """Return a folder that holds a source tree, old enough to be trusted."""
    for number in range(FILES):
        path = folder / f"sglang/part_{number // 50}/module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"VALUE = {number}\n".ljust(FILE_BYTES, "#"), encoding="ascii")
    (folder / "sglang/__init__.py").touch()
    time.sleep(UNTRUSTED_S)
    return folder


def looked_again(folder: Path, rounds: int) -> float:
    """Return another look at an unchanged tree by a bare walk, both less their start."""
    costs = compare(hashing.again_rows(made_tree(folder), folder / "known.json"), rounds)
    ours, walk, idle, blank = (series(costs[name], "cpu_s") for name in (hashing.AGAIN, hashing.WALK, hashing.IDLE, hashing.BLANK))
    return statistics.median((ours[at] - idle[at]) / (walk[at] - blank[at]) for at in range(rounds))


def hashed(folder: Path, rounds: int) -> float:
    """Return the first look at a tree by ``xargs -P2 sha256sum``."""
    tree = made_tree(folder)
    ours = Row("ours", (*hashing.SOURCES, f'{{"source": "{tree}"}}'))
    return cpu_ratio((ours, Row("sha256sum", hashing.piped(tree / "sglang", "sha256sum"))), rounds)


def explained(folder: Path, rounds: int) -> float:
    """Return load, compare and explain in this process by DeepDiff."""
    pair = compare_cost.written(folder, FACTS, EVERY)
    compare_cost.ours(pair), compare_cost.theirs(pair)
    return statistics.median(compare_cost.cpu_s(compare_cost.ours, pair) / compare_cost.cpu_s(compare_cost.theirs, pair) for _ in range(rounds))


def read_log(folder: Path, rounds: int) -> float:
    """Return the reading of a server's log, less that of a short one, by ``grep -c``."""
    rows = []
    for name, size in (("ours", LOG_BYTES), ("start", SMALL_LOG_BYTES)):
        log_stream.write_log(folder / name, size, log_stream.lines)
        rows.append(Row(name, (sys.executable, "-c", log_stream.READ, str(folder / name)), (("PYTHONPATH", str(ROOT)),)))
    costs = compare([*rows, Row("grep", ("grep", "-c", "ERROR", str(folder / "ours")))], rounds)
    ours, start, grep = (series(costs[name], "cpu_s") for name in ("ours", "start", "grep"))
    return statistics.median((ours[at] - start[at]) / grep[at] for at in range(rounds))


def peers(folder: Path, rounds: int) -> float:
    """Return ``peers`` over stored snapshots by a plain json.load of the same files."""
    make_fleet(folder, HOSTS)
    ours = Row("peers", (*DRIFTWATCH, "peers", str(folder), "--format", "json", "--out", str(folder / "peers.out")))
    return cpu_ratio((ours, Row("json.load", (sys.executable, "-c", LOAD, *map(str, sorted(folder.glob("host-*.json")))))), rounds)


GUARDED = (
    Guarded("agent-start", "the agent from exec to its first probe / python3 -I -S -c pass, by the clock", started_agent),
    Guarded("help", "driftwatch --help / python -c pass", helped),
    Guarded("small-diff", "driftwatch diff of the two examples / python -c pass", small_diff),
    Guarded("look-again", "the sources collector on an unchanged tree / a bare scandir and stat walk, both less their start", looked_again),
    Guarded("first-look", "the sources collector on a tree of 5,000 files / find | xargs -P2 sha256sum", hashed),
    Guarded("explain", "load, compare and explain of 4,000 facts / DeepDiff of the same files", explained),
    Guarded("log", "reading a server's log, less the start / grep -c ERROR", read_log),
    Guarded("peers", "driftwatch peers over 60 snapshots / json.load of the same", peers),
)


def load_stored(path: Path = STORED) -> Mapping[str, Any]:
    """Return the stored ratios by name; none where there is no file."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    found: Mapping[str, Any] = toml.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def judged(name: str, found: float, stored: Mapping[str, Any]) -> str:
    """Return what is wrong with a ratio, "" where it is as it was or better."""
    if name not in stored:
        return "no ratio is stored: --update stores it"
    most = stored[name]["ratio"] * stored[name]["allowed"]
    return "" if found <= most else f"it was {stored[name]['ratio']:.2f}, and at most {most:.2f} is allowed"


def measured(one: Guarded, rounds: int, stored: Mapping[str, Any]) -> float:
    """Return a row's ratio, the better one of two where the first is too bad."""
    found = _measured(one, rounds)
    return min(found, _measured(one, rounds)) if one.name in stored and judged(one.name, found, stored) else found


def _measured(one: Guarded, rounds: int) -> float:
    with tempfile.TemporaryDirectory(prefix="guard-") as folder:
        return one.measure(Path(folder), rounds)


def written(found: Mapping[str, float], stored: Mapping[str, Any]) -> str:
    """Return the text of the stored ratios with those that were found, in the order of the rows."""
    kept = {**{name: row["ratio"] for name, row in stored.items()}, **found}
    rows = [(one, stored.get(one.name, {}).get("allowed", USUAL_FACTOR)) for one in GUARDED if one.name in kept]
    return HEAD + "".join(f'\n[{one.name}]\nwhat = "{one.what}"\nratio = {kept[one.name]:.2f}\nallowed = {allowed}\n' for one, allowed in rows)


def main() -> int:
    """Measure, print a line for each row, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--update", action="store_true", help="store what is measured")
    parser.add_argument("--only", nargs="*", choices=[one.name for one in GUARDED], help="only these rows")
    given = parser.parse_args()
    stored = load_stored()
    compile_all(ROOT / "driftwatch")
    found, wrong = {}, []
    for one in GUARDED:
        if given.only is None or one.name in given.only:
            found[one.name] = measured(one, given.rounds, {} if given.update else stored)
            said = "" if given.update else judged(one.name, found[one.name], stored)
            wrong += [one.name] if said else []
            print(f"{'WORSE' if said else 'ok':6}{found[one.name]:8.2f}  {one.name}: {one.what}{said and f'; {said}'}", flush=True)
    if given.update:
        STORED.write_text(written(found, stored), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
