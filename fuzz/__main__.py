"""Runs fuzz targets: ``python -m fuzz TARGET [-max_total_time=60 ...]``; ``python -m fuzz --each SECONDS [TARGET ...]``; ``python -m fuzz --list``.

What stands behind a target goes to libFuzzer, whose bounds are set where none is given: 10 s and 1 GiB for one input of at most 64 KiB. ``--each`` runs
targets one after another, each in a process of its own, all where none is named (``agent.`` names all that begin so), and ends with 1 where one found
something. What is learnt, and the inputs that failed, are kept below ``--work DIR`` (default ~/.cache/driftwatch-fuzz). It needs atheris, which the extra
``fuzz`` brings.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

WORK = Path.home() / ".cache/driftwatch-fuzz"
BOUNDS = {"-timeout": 10, "-rss_limit_mb": 1024, "-max_len": 65536}
TOLD = re.compile(r"(?m)^(?:.*Done (\d+) runs.*|(?:==\d+== )?(ERROR: .*)| === (Uncaught Python exception: )===\n(.*))$")


def main() -> int:
    """Run what is asked for, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--list", action="store_true", help="print the targets")
    parser.add_argument("--each", type=int, metavar="SECONDS", help="run each target for so long")
    parser.add_argument("--work", type=Path, default=WORK)
    given, options = parser.parse_known_args()
    if given.list or given.each is not None:
        names = chosen(given.targets)
        if given.list:
            print("\n".join(names))
            return 0
        return 1 if [name for name in names if not is_calm(name, given.work, [f"-max_total_time={given.each}", *options])] else 0
    if len(given.targets) != 1:
        parser.error("name one target; --list tells them, --each SECONDS runs several")
    fuzz(given.targets[0], given.work / given.targets[0], options)
    return 0


def chosen(wanted: Sequence[str]) -> list[str]:
    """Return the names of the targets that begin as one of the wanted words does, all where there is none."""
    from fuzz.targets import targets  # noqa: PLC0415  # not before atheris can see what is imported

    return [name for name in targets() if not wanted or any(name == one or (one.endswith(".") and name.startswith(one)) for one in wanted)]


def is_calm(name: str, work: Path, options: Sequence[str]) -> bool:
    """Run one target in a process of its own, print a line, and tell whether it found nothing."""
    done = subprocess.run([sys.executable, "-m", "fuzz", name, f"--work={work}", *options], check=False, capture_output=True, text=True, errors="replace")
    told = ["; ".join(filter(None, one)) for one in TOLD.findall(done.stdout + done.stderr)]
    print(f"{'ok' if done.returncode == 0 else 'FOUND':6}{name}: {' '.join(told) or done.stderr.strip()[-200:]}", flush=True)
    return done.returncode == 0


def fuzz(name: str, work: Path, options: Sequence[str]) -> None:
    """Fuzz one target until libFuzzer ends this process. Its seeds are written below ``work`` first, and what it finds stays there."""
    import atheris  # noqa: PLC0415  # the extra `fuzz` brings it; --list does without

    with atheris.instrument_imports(include=["driftwatch"], enable_loader_override=False):
        from fuzz.targets import targets  # noqa: PLC0415  # imported here, so that it is seen from inside
    from fuzz.seeds import dictionary, seeds  # noqa: PLC0415  # after the targets, as above

    entry = targets().get(name)
    if entry is None:
        raise SystemExit(f"no target {name}: python -m fuzz --list tells them")
    corpus, begun, words = work / "corpus", work / "seeds", work / "words.dict"
    for folder in (corpus, begun):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds()):
        (begun / f"{number:05d}").write_bytes(seed)
    words.write_text(dictionary(), encoding="ascii")
    bounds = [f"{key}={value}" for key, value in BOUNDS.items() if not any(one.startswith(f"{key}=") for one in options)]
    atheris.Setup([sys.argv[0], str(corpus), str(begun), f"-dict={words}", f"-artifact_prefix={work}/", *bounds, *options], entry)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
