"""Facts of some 290 distributions, in a process of its own, against what people run: ``python benchmarks/packages.py [--work DIR] [--rounds N]``.

Ours is the agent's packages collector under ``python3 -I -S``: names, versions, requirements, installers, the digest of each RECORD, and the
interpreter's own version where a row says so. The environment is what pip resolves for a handful of large requirements: some 290 distributions.
Goals: at most 0.03 times ``pip inspect``, at most 2.5 times ``uv pip list``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from local_snapshot import ROOT, pip_install
from round_robin import BARE, COLLECTOR, HERE, Cost, Row, compare, compile_all, series, table

LARGE_ONES = (
    "jupyter", "apache-airflow", "transformers", "fastapi", "openai", "datasets", "scikit-learn", "pandas", "matplotlib", "ray[default]", "gradio", "streamlit",
    "mlflow", "wandb",
)
OURS, IDLE, PIP, UV = "driftwatch's packages collector", "the collector imported, with nothing to look at", "pip inspect", "uv pip list"


def rows(work: Path) -> list[Row]:
    """Return what is compared; a peer that cannot be had says why."""
    python = work / "many/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "many"], check=True)
        pip_install(python, *LARGE_ONES)
    site = next((work / "many/lib").glob("python3*/site-packages"))
    compile_all(site / "pip", str(python))
    uv = work / "tools/bin/uv"
    if not uv.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "tools"], check=True)
    no_uv = "" if uv.exists() else pip_install(work / "tools/bin/python", "uv")
    collector = (*COLLECTOR, "packages")
    return [
        Row(OURS, (*collector, json.dumps({"site": str(site), "python": None}))),
        Row("the same, and the interpreter asked for its version", (*collector, json.dumps({"site": str(site), "python": str(python)}))),
        Row(IDLE, (*collector, "{}")),
        Row(PIP, (str(python), "-m", "pip", "inspect")),
        Row(UV, (str(uv), "pip", "list", "--python", str(python)), why_not=no_uv),
        Row("python -I -S -c pass", (*BARE, "-c", "pass")),
    ]


def main() -> None:
    """Build what is missing, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache/driftwatch-benchmarks")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    compared = rows(given.work)
    compile_all(ROOT / "driftwatch")
    compile_all(HERE)
    costs = compare(compared, given.rounds)
    print(table(compared, costs, OURS), "\n")
    for peer in (PIP, UV):
        if peer in costs:
            print(f"ours less the import / {peer}: wall {net(costs, peer, 'wall_s'):.3f}, CPU {net(costs, peer, 'cpu_s'):.3f}")


def net(costs: dict[str, list[Cost]], peer: str, of: str) -> float:
    """Return the median ratio of ours, less what its process cost before its first line, to a peer's whole process."""
    return statistics.median((ours - idle) / other for ours, idle, other in zip(*(series(costs[name], of) for name in (OURS, IDLE, peer)), strict=True))


if __name__ == "__main__":
    main()
