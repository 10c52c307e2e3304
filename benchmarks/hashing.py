"""Digests of a source tree and of large native libraries, against what people run: ``python benchmarks/hashing.py [--work DIR] [--rounds N]``.

Ours is the agent's sources collector, in a process of its own under ``python3 -I -S``. The tree is that of the sglang 0.5.23 wheel (5,771 files), the
libraries are the ``.so`` files of more than 1 MiB in the sgl-kernel 0.3.21 wheel (1.6 GB); both come from PyPI. AIDE comes from Debian: its check
looks at what its own group R names, with sha256 in place of md5, and once more at no more than digest, size, times, owner, mode, inode and links.
Goals: the tree at most 0.65 times ``find | xargs -P2 sha256sum`` and at most 0.12 times AIDE's check by its group R; the libraries at most 0.6 times one
``openssl sha256``; the unchanged tree again at most 2 times a bare scandir and stat walk in Python, both without what their processes cost before their
first line: that is told by rows of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

from debian import no
from round_robin import BARE, COLLECTOR, HERE, Cost, Row, compare, compile_all, series, table

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (*COLLECTOR, "sources")
PLATFORMS = ("manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64")
ABIS = ("cp312", "abi3", "none")
LARGE = 1 << 20
AGAIN, WALK = "the same, once more, unchanged", "os.scandir and stat walk, filling a dict"
CHECKS = {"aide --check, its group R with sha256 for md5": "R-md5+sha256", "aide --check, sha256 and what stat tells": "p+u+g+i+n+s+m+c+sha256"}
AIDE_CONFIG = """\
database_in=file:{base}
database_out=file:{base}
gzip_dbout=no
log_level=error
report_url=stdout
{tree} {looked_at}
"""
IDLE, BLANK = "the collector imported, with nothing to look at", "python -I -S -c pass"


def fetch(work: Path, name: str, version: str) -> tuple[Path, str]:
    """Return the unpacked wheel of a release and why it is missing ("" if it is there)."""
    tree = work / f"{name}-{version}"
    if any(tree.glob("*.dist-info")):
        return tree, ""
    choice = [word for option, values in (("--platform", PLATFORMS), ("--abi", ABIS)) for value in values for word in (option, value)]
    argv = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp", *choice]
    done = subprocess.run([*argv, "-d", work / "dl", f"{name}=={version}"], check=False, capture_output=True, text=True)
    wheel = next((work / "dl").glob(f"{name.replace('-', '_')}-{version}-*.whl"), None)
    if wheel is None:
        return tree, done.stderr.strip()[-80:]
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tree)
    return tree, ""


def libraries(work: Path, kernel: Path) -> Path:
    """Return a folder with the large libraries of a wheel alone, as hard links."""
    folder = work / "kernel-libraries"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number, path in enumerate(sorted(kernel.rglob("*.so*"))):
        if path.stat().st_size > LARGE:
            os.link(path, folder / f"{number:03d}-{path.name}")
    return folder


def piped(folder: Path, command: str, at_a_time: int = 500, names: str = "*") -> tuple[str, ...]:
    """Return a shell's argv that hands the files of a folder to two processes at once of a command."""
    return ("sh", "-c", f"find {shlex.quote(str(folder))} -type f -name '{names}' -print0 | xargs -0 -P2 -n{at_a_time} {command}")


def tree_rows(work: Path) -> list[Row]:
    """Return what is compared on the source tree; ours comes first."""
    tree, why_not = fetch(work, "sglang", "0.5.23")
    top = tree / "sglang"
    return [
        Row("driftwatch's sources collector, sglang 0.5.23", (*SOURCES, json.dumps({"source": str(tree)})), why_not=why_not),
        Row("find, xargs -P2 -n500 sha256sum", piped(top, "sha256sum"), why_not=why_not),
        Row("find, xargs -P2 -n500 openssl sha256", piped(top, "openssl dgst -sha256"), why_not=why_not or no("openssl")),
        *aide_rows(work, top, why_not or no("aide")),
        *again_rows(tree, work / "known.json", why_not),
    ]


def aide_rows(work: Path, top: Path, why_not: str) -> list[Row]:
    """Return AIDE's checks of a tree. Their databases are made now."""
    found = []
    for number, (name, looked_at) in enumerate(CHECKS.items()):
        config = work / f"aide-{number}.conf"
        argv = ("aide", f"--config={config}")
        if not why_not:
            config.write_text(AIDE_CONFIG.format(base=config.with_suffix(".db"), tree=top, looked_at=looked_at), encoding="utf-8")
            subprocess.run([*argv, "--init"], check=True, stdout=subprocess.DEVNULL)
        found.append(Row(name, (*argv, "--check"), why_not=why_not, good_codes=(0,)))
    return found


def again_rows(tree: Path, known: Path, why_not: str = "") -> list[Row]:
    """Return another look at an unchanged tree, the bare walk, and each process without its work. The first look is taken now, and kept in ``known``."""
    if not why_not:
        subprocess.run([*SOURCES, json.dumps({"source": str(tree)}), known], check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    return [
        Row(AGAIN, (*SOURCES, json.dumps({"source": str(tree), "known_file": str(known)})), why_not=why_not),
        Row(WALK, (*BARE, str(ROOT / "benchmarks/walk.py"), str(tree / "sglang")), why_not=why_not),
        Row(IDLE, (*SOURCES, "{}")),
        Row(BLANK, (*BARE, "-c", "pass")),
    ]


def library_rows(work: Path) -> list[Row]:
    """Return what is compared on the libraries; ours comes first."""
    kernel, why_not = fetch(work, "sgl-kernel", "0.3.21")
    folder = work if why_not else libraries(work, kernel)
    one = ("openssl", "dgst", "-sha256", *map(str, sorted(folder.glob("*.so*"))))
    return [
        Row("driftwatch's sources collector, two processes", (*SOURCES, json.dumps({"source": str(folder)})), why_not=why_not),
        Row("openssl sha256, one process", one, why_not=why_not or no("openssl")),
        Row("find, xargs -P2 -n1 openssl sha256", piped(folder, "openssl dgst -sha256", 1), why_not=why_not or no("openssl")),
    ]


def net(ours: list[Cost], theirs: list[Cost], idle: list[Cost], blank: list[Cost] | None = None) -> str:
    """Return the median ratios of ours to a peer, each less what its process cost before its first line (of a peer in C: nothing)."""
    told = []
    for of in ("wall_s", "cpu_s"):
        before = series(blank, of) if blank else [0.0] * len(theirs)
        rounds = zip(series(ours, of), series(idle, of), series(theirs, of), before, strict=True)
        told.append(statistics.median((mine - mine_idle) / (other - other_idle) for mine, mine_idle, other, other_idle in rounds))
    return f"wall {told[0]:.2f}, CPU {told[1]:.2f}"


def main() -> None:
    """Fetch what is missing, measure, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache/driftwatch-benchmarks")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    compile_all(ROOT / "driftwatch")
    compile_all(HERE)
    small, large = tree_rows(given.work), library_rows(given.work)
    costs = compare(small, given.rounds)
    print(table(small, costs, small[0].name))
    if AGAIN in costs:
        peers, again = small[1:5], small[5:]
        print(f"\n{table(again, costs, AGAIN)}\n")
        print("looking again / the walk, both less their start-up:", net(costs[AGAIN], costs[WALK], costs[IDLE], costs[BLANK]))
        for peer in peers:
            if peer.name in costs:
                print(f"the first look less its start-up / {peer.name}:", net(costs[small[0].name], costs[peer.name], costs[IDLE]))
        print()
    print(table(large, compare(large, given.rounds), large[0].name))


if __name__ == "__main__":
    main()
