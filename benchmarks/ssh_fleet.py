"""A fleet over ssh against plain ssh children: ``python benchmarks/ssh_fleet.py [--hosts 300] [--at-once 64] [--rounds 1] [--only PROBE,..]``.

The hosts are addresses of loopback, 127.0.1.2 and on, behind real sshds of fifteen addresses each. Ours is the whole command, ``driftwatch snapshot HOST...``:
the agent shipped, run and folded, each snapshot stored. The other is ``xargs -P ssh`` running a bare Python that prints as many bytes as the agent does.
CPU seconds are those of the controller alone: the command and its ssh children, not the servers. Goals: at most 1.3 times the CPU, at most 200 MiB.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from round_robin import Row, run_once  # noqa: E402  # both need the folders on the path

from driftwatch.capture.plan import Plan, plan_for  # noqa: E402
from driftwatch.capture.take import Order, take_snapshot  # noqa: E402
from driftwatch.transports.local import LocalTransport  # noqa: E402
from tests.lab.sshd import Place, Server, free_port, running_sshd  # noqa: E402

QUICK = "system,driver,env"
A_SERVER = 15  # sshd takes 16 addresses
LINES = ("MaxStartups 2000:30:4000", "MaxSessions 50")


def addresses(count: int) -> list[str]:
    """Return so many addresses of loopback."""
    return [f"127.0.{1 + number // 250}.{2 + number % 250}" for number in range(count)]


@contextlib.contextmanager
def fleet(folder: Path, hosts: list[str]) -> Iterator[list[str]]:
    """Run the servers and yield the ssh options that reach them."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        servers: list[Server] = []
        for start in range(0, len(hosts), A_SERVER):
            place = Place(port, tuple(hosts[start:start + A_SERVER]))
            servers.append(stack.enter_context(running_sshd(folder / str(start), *LINES, place=place)))
            shutil.copy(servers[0].folder / "client_key.pub", servers[-1].folder / "authorized_keys")
        known = folder / "known_hosts"
        known.write_text("".join(Path(one.known_hosts).read_text() for one in servers))
        yield [f"Port={port}", f"IdentityFile={servers[0].identity}", "IdentitiesOnly=yes", f"UserKnownHostsFile={known}"]


def agent_bytes(plan: Plan) -> int:
    """Return how many bytes of frames the agent sends of this machine."""
    sizes: list[int] = []
    take_snapshot("here", LocalTransport(), Order(plan, watch=lambda frame: sizes.append(len(json.dumps(frame)) + 24)), "2026-03-02T10:00:00Z")
    return sum(sizes)


def ours(folder: Path, hosts: list[str], options: list[str], asked: argparse.Namespace) -> Row:
    """Return our command, with its settings and its store in a folder."""
    config = folder / "driftwatch.toml"
    config.write_text(f"[ssh]\noptions = {json.dumps(options)}\n")
    probes = asked.only.split(",")  # all hosts share this machine's cores: each probe gets the time that this takes
    patience = [word for one in (*probes, "targets") for word in ("--deadline", f"{one}=300")]
    only = ("--only", asked.only, "--save", "--deadline", "600", *patience)
    argv = (sys.executable, "-m", "driftwatch", "snapshot", *hosts, "--jobs", str(asked.at_once), *only, "--config", str(config))
    return Row("driftwatch snapshot", (*argv, "--store", str(folder / "store")), (("PYTHONPATH", str(ROOT)),), good_codes=(0,))


def plain(folder: Path, hosts: list[str], options: list[str], printed: tuple[int, int]) -> Row:
    """Return the plain command; ``printed`` are the bytes that each host prints, and how many hosts are asked at once."""
    size, at_once = printed
    (folder / "hosts").write_text("\n".join(hosts) + "\n")
    named = " ".join(f"-o {one}" for one in ["BatchMode=yes", *options])
    remote = f'exec python3 -I -S -c "print(chr(120) * {size})"'
    script = f"exec xargs -P {at_once} -I HOST ssh -T -n {named} HOST '{remote}' < {folder}/hosts > /dev/null"
    return Row("xargs ssh python3", ("sh", "-c", script), good_codes=(0,))


def main() -> None:
    """Measure both in turn, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default=QUICK, help=f"the probes ({QUICK}); the hosts all run on this machine's cores")
    parser.add_argument("--options", action="append", default=[], help="ssh options for both sides, as KexAlgorithms=curve25519-sha256")
    asked = parser.parse_args()
    size = agent_bytes(plan_for(only=asked.only.split(",")))
    hosts = addresses(asked.hosts)
    with tempfile.TemporaryDirectory() as made, fleet(Path(made), hosts) as reaching:
        folder, options = Path(made), [*reaching, *asked.options]
        ratios, peaks = [], []
        for _ in range(asked.rounds):
            theirs = run_once(plain(folder, hosts, options, (size, asked.at_once)))
            mine = run_once(ours(folder, hosts, options, asked))
            shutil.rmtree(folder / "store")
            ratios.append(mine.cpu_s / theirs.cpu_s)
            peaks.append(mine.peak_mib)
            print(f"  cpu s: ours {mine.cpu_s:.1f}, plain {theirs.cpu_s:.1f}", file=sys.stderr)
    print(f"{asked.hosts} hosts, {asked.at_once} at once, {size} bytes each, {asked.rounds} rounds")
    print(f"controller CPU: {statistics.median(ratios):.2f} of plain ssh (goal 1.3)")
    print(f"controller peak: {max(peaks):.0f} MiB (goal 200)")


if __name__ == "__main__":
    main()
