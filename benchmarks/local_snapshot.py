"""A snapshot of this machine against what people run instead: ``python benchmarks/local_snapshot.py [--work DIR] [--rounds N]``.

One virtual environment with torch (CPU build) and 250 distributions, and the source tree of sglang 0.5.9 (1,936 files). The distributions that
fill up to 250 are made on the spot: 40 modules each, a RECORD, a METADATA with ten requirements. facter comes from Debian. Goals: at most 0.3 times
``torch.utils.collect_env``, at most 0.35 times ``ansible -m setup``, at most 1.2 times ``facter``; over loopback SSH at most one ssh login more.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from debian import no
from round_robin import Row, compare, compile_all, table

ONLY = "system,driver,packages,sources,git,servers,env"
DISTRIBUTIONS = 250
ROOT = Path(__file__).resolve().parent.parent


def build_environment(work: Path) -> tuple[Path, str]:
    """Return the interpreter of the environment that is looked at, and why its torch is missing ("" if it is there)."""
    python = work / "serve/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "serve"], check=True)
    why_not = pip_install(python, "torch==2.13.0")
    site = next((work / "serve/lib").glob("python3*/site-packages"))
    for number in range(DISTRIBUTIONS - len(list(site.glob("*.dist-info")))):
        fill(site, f"filler_{number:03d}")
    return python, why_not


def pip_install(python: Path, *requirements: str) -> str:
    """Install into an environment; return "" or why it could not be done."""
    done = subprocess.run([python, "-m", "pip", "install", "-q", *requirements], check=False, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1][:80]


def fill(site: Path, name: str) -> None:
    """Make one distribution of 40 modules."""
    package, facts = site / name, site / f"{name}-1.0.0.dist-info"
    package.mkdir()
    facts.mkdir()
    record = []
    for number in range(40):
        text = f"VALUE = {number}\n" * 50
        (package / f"module_{number}.py").write_text(text)
        record.append(f"{name}/module_{number}.py,sha256=AAAA,{len(text)}")
    requires = "".join(f"Requires-Dist: other-{number}>=1.{number}\n" for number in range(10))
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n{requires}\nlong text\n" + "words and words\n" * 200)
    (facts / "INSTALLER").write_text("pip\n")
    (facts / "RECORD").write_text("\n".join(record) + "\n")


def fetch_tree(work: Path) -> tuple[Path, str]:
    """Return the sglang 0.5.9 tree and why it is missing ("" if it is there)."""
    tree = work / "sglang-0.5.9"
    if not tree.exists():
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--python-version", "3.12", "--only-binary=:all:", "-d", work, "sglang==0.5.9"]
        done = subprocess.run(fetch, check=False, capture_output=True, text=True)
        wheel = next(work.glob("sglang-0.5.9-*.whl"), None)
        if wheel is None:
            return tree, done.stderr.strip()[-80:]
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tree)
    return tree, ""


def rows(work: Path) -> list[Row]:
    """Return what is compared; a peer that cannot be had says why."""
    python, no_torch = build_environment(work)
    tree, no_tree = fetch_tree(work)
    ansible = work / "ansible"
    if not (ansible / "bin/ansible").exists():
        subprocess.run([sys.executable, "-m", "venv", ansible], check=True)
    no_ansible = pip_install(ansible / "bin/python", "ansible-core")
    snapshot = (sys.executable, "-m", "driftwatch", "snapshot", "local", "--python", str(python), "--source", str(tree), "--out", str(work / "out.json"))
    return [
        Row("driftwatch snapshot --only " + ONLY, (*snapshot, "--only", ONLY), why_not=no_tree),
        Row("driftwatch snapshot", snapshot, why_not=no_tree),
        Row("python -m torch.utils.collect_env", (str(python), "-m", "torch.utils.collect_env"), why_not=no_torch),
        Row("ansible -m setup", (str(ansible / "bin/ansible"), "localhost", "-m", "setup"), why_not=no_ansible),
        Row("facter", ("facter",), why_not=no("facter")),
        Row("driftwatch --help", (sys.executable, "-m", "driftwatch", "--help")),
        Row("python -c pass", (sys.executable, "-c", "pass")),
    ]


@contextlib.contextmanager
def over_ssh(work: Path, local: Row) -> Iterator[list[Row]]:
    """Yield the rows over loopback SSH: a bare login, and the first row's snapshot through the same sshd. Its goal: at most one login more."""
    sys.path.insert(0, str(ROOT))
    from tests.lab import sshd  # noqa: PLC0415  # the tests' own sshd: a free port, its own keys

    if not Path(sshd.SSHD).exists():
        yield [Row("ssh HOST true", (), why_not="no sshd here")]
        return
    shutil.rmtree(work / "sshd", ignore_errors=True)
    with sshd.running_sshd(work / "sshd") as server:
        options = [f"UserKnownHostsFile={server.known_hosts}", f"IdentityFile={server.identity}", "IdentitiesOnly=yes"]
        (work / "ssh.toml").write_text(f"ssh_options = {json.dumps(options)}\n")
        target = f"ssh://{server.user}@127.0.0.1:{server.port}"
        argv = [target if word == "local" else word for word in local.argv]
        login = ["ssh", "-F", "none", "-p", str(server.port), *(word for option in options for word in ("-o", option)), f"{server.user}@127.0.0.1", "true"]
        yield [Row("ssh HOST true", tuple(login)), Row("the first row over loopback SSH", (*argv, "--config", str(work / "ssh.toml")))]


def main() -> None:
    """Build what is missing, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache/driftwatch-benchmarks")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    compared = rows(given.work)
    compile_all(ROOT / "driftwatch")
    with over_ssh(given.work, compared[0]) as further:
        compared += further
        costs = compare(compared, given.rounds)
    first = next(row.name for row in compared if not row.why_not)
    print(table(compared, costs, first))
    if further[-1].name in costs:
        login, through, local = (statistics.median(one.wall_s for one in costs[name]) for name in (further[0].name, further[1].name, first))
        print(f"\nover SSH less the same here: {(through - local) / login:.2f} of a bare ssh login")


if __name__ == "__main__":
    main()
