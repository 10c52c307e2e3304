"""Makes the fleet of benchmarks/peers.py: ``python benchmarks/peers_fleet.py DIR HOSTS``. Prints what is volatile, as expressions for a database."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from driftwatch.capture.plan import plan_for  # noqa: E402  # found by the line above
from driftwatch.capture.take import Order, take_recorded  # noqa: E402  # found by the line above
from driftwatch.model import ProbeResult, Snapshot  # noqa: E402  # found by the line above
from driftwatch.store import document  # noqa: E402  # found by the line above

FACTS = 3000
ODD_EACH, LATE = 10, 3


def make_fleet(folder: Path, hosts: int) -> None:
    """Write the snapshots that are not there yet."""
    base = take_recorded(str(ROOT / "tests/hosts/fleet-h100.tar.xz/fleet-h100/gpu-f1"), Order(plan_for(), key=b"k" * 32, key_id="k1"))
    facts = dict(base.facts)
    for number in range(FACTS):
        if len(facts) >= FACTS:
            break
        facts[f"packages/further-{number:04d}/version"] = f"1.{number}"
    gpus = sorted({path.split("/")[1] for path in facts if path.startswith("gpus/GPU")})
    text = replace(base, facts=facts)
    for number in range(hosts):
        if not (folder / f"host-{number:04d}.json").exists():
            (folder / f"host-{number:04d}.json").write_bytes(document.to_bytes(_one(text, number, gpus)))


def _one(base: Snapshot, number: int, gpus: list[str]) -> Snapshot:
    """Return the snapshot of one host of the fleet."""
    own = random.Random(number)
    uuids = {gpu: f"GPU-{own.getrandbits(32):08x}-0000-4000-8000-{own.getrandbits(48):012x}" for gpu in gpus}
    facts: dict[str, Any] = {}
    for path, value in base.facts.items():
        parts = path.split("/", 2)
        named = "/".join([parts[0], uuids.get(parts[1], parts[1]), *parts[2:]]) if len(parts) > 1 else path
        facts[named] = own.randrange(10**6) if base.is_volatile(path) and isinstance(value, (int, float)) else value
    if number % ODD_EACH == 0:
        facts["packages/further-0001/version"] = "2.0"
    name = f"host-{number:04d}"
    if number == 1:
        lost = {probe: ProbeResult("lost", reason="no answer on port 22", tells=one.tells) for probe, one in base.probes.items()}
        return replace(base, host=name, probes=lost, facts={})
    if number in range(2, 2 + LATE):
        facts = {path: value for path, value in facts.items() if not path.startswith("gpus/")}
        late = replace(base.probes["nvml"], status="timeout", reason="no answer in 20 s")
        return replace(base, host=name, probes={**base.probes, "nvml": late}, facts=facts)
    return replace(base, host=name, facts=facts)


def volatile_of(file: Path) -> str:
    """Return the globs of what is volatile as expressions for DuckDB."""
    globs = document.load(file).volatile
    return "\n".join((one.removesuffix("/*") + "/.*" if one.endswith("/*") else one).replace("*", "[^/]*").replace(".[^/]*", ".*") for one in globs)


if __name__ == "__main__":
    make_fleet(Path(sys.argv[1]), int(sys.argv[2]))
    print(volatile_of(Path(sys.argv[1]) / "host-0000.json"))
