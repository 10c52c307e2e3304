"""Date-true pairs: ``python benchmarks/resolved_pairs.py [--write]``. One requirement set, resolved as of two dates, gives what a rebuilt image really gets.

Each set of ``SETS`` is resolved with ``uv pip compile --exclude-newer DATE`` (uv is installed from PyPI into a folder of its own) and written as a
pip-freeze dump; ``--write`` keeps the dumps under tests/generated/resolved, which the tests read. Nothing is downloaded but metadata.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests/generated/resolved"
UV = "uv>=0.8,<1"
TARGET = ("--python-version", "3.12", "--python-platform", "x86_64-manylinux_2_28", "--no-header", "--no-annotate", "--quiet")
SETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "sglang-0.4.9": (("sglang[srt]==0.4.9.post2", "torch==2.7.1"), ("2025-07-20", "2025-09-20", "2025-12-20")),
    "sglang-0.5.2": (("sglang==0.5.2", "torch==2.8.0", "transformers==4.56.1"), ("2025-09-20", "2025-11-20", "2026-02-10")),
    "sglang-0.5.5": (("sglang==0.5.5",), ("2025-11-15", "2026-01-15", "2026-04-15")),
    "vllm-0.8.5": (("vllm==0.8.5.post1",), ("2025-05-10", "2025-07-10", "2025-10-10")),
    "vllm-0.9.2": (("vllm==0.9.2",), ("2025-07-20", "2025-09-20", "2025-12-20")),
    "vllm-0.10.2": (("vllm==0.10.2",), ("2025-09-20", "2025-12-01", "2026-03-01")),
    "vllm-0.11.0": (("vllm==0.11.0",), ("2025-10-10", "2025-12-10", "2026-03-10")),
    "transformers-serving": (
        ("torch==2.7.1", "transformers>=4.52,<5", "fastapi", "uvicorn[standard]", "accelerate"), ("2025-07-01", "2025-11-01", "2026-03-01")),
    "embeddings": (("sentence-transformers", "fastapi", "uvicorn[standard]", "prometheus-fastapi-instrumentator"), ("2025-06-01", "2025-10-01", "2026-02-01")),
    "ray-serve": (("ray[serve]==2.48.0", "vllm==0.10.0"), ("2025-08-01", "2025-10-15", "2026-01-15")),
    "trainer": (("trl", "peft", "accelerate", "datasets", "bitsandbytes", "torch==2.8.0"), ("2025-09-01", "2025-12-01", "2026-03-01")),
    "gateway": (("litellm[proxy]", "openai", "anthropic", "huggingface-hub"), ("2025-07-01", "2025-10-01", "2026-01-01")),
}


def install_uv(folder: Path) -> Path | None:
    """Return the uv that was installed into a folder, or None, having said why, where it could not be."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    done = subprocess.run([folder / "bin/pip", "install", "-q", UV], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"uv could not be installed: {done.stderr.strip().splitlines()[-1][:160]}")
        return None
    return folder / "bin/uv"


def resolve(uv: Path, requirements: tuple[str, ...], date: str) -> str | None:
    """Return what requirements resolve to as of a date, as ``pip freeze`` prints it; None, having said why, where they do not."""
    argv = [uv, "pip", "compile", "-", "--exclude-newer", f"{date}T00:00:00Z", *TARGET]
    done = subprocess.run(argv, input="\n".join(requirements), check=False, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        print(f"not resolved as of {date}: {' '.join(requirements)}: {done.stderr.strip()[-300:]}")
        return None
    return "".join(line.partition(" ;")[0].strip() + "\n" for line in done.stdout.splitlines() if "==" in line)


def moved(good: str, bad: str) -> int:
    """Return how many distributions are not the same in two dumps."""
    return len({line.partition("==")[0] for line in set(good.splitlines()) ^ set(bad.splitlines())})


def main() -> None:
    """Resolve each set as of its dates and print what came out; two dates of one set are a pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the dumps for the tests")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        uv = install_uv(Path(folder) / "uv")
        if uv is None:
            return
        print("| set | good | bad | distributions | moved |\n|---|---|---|---|---|")
        for name, (requirements, dates) in SETS.items():
            found = {date: text for date in dates if (text := resolve(uv, requirements, date)) is not None}
            for good, bad in combinations(found, 2):
                print(f"| {name} | {good} | {bad} | {found[bad].count('==')} | {moved(found[good], found[bad])} |", flush=True)
            for date, text in found.items() if given.write else ():
                (KEPT / f"{name}.{date}.txt").write_text(text)


if __name__ == "__main__":
    main()
