"""The commits between two HEADs, read with GitPython from a clone that the user named (``--repo``), in a child that is given up if it stalls.

Run as a program it is that child: it prints one JSON list and ends. Looks only at the clone; asks no remote.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.explain.case import Commit

DEADLINE_S = 20.0
MOST = 50
MOST_FILES = 200
_HEAD = re.compile(r"[0-9a-f]{7,64}")


def commits_between(folder: str, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[Commit, ...]]:
    """Return, for each pair of HEADs that both lie in the clone, the newest 50 commits that lead from the first to the second."""
    wanted = [pair for pair in pairs if all(_HEAD.fullmatch(head) for head in pair)]
    return {pair: tuple(Commit(**entry) for entry in found) for pair in wanted if (found := _ask(folder, *pair)) is not None}


def _ask(folder: str, good: str, bad: str) -> list[dict[str, Any]] | None:
    """Return what the child read; None where the clone does not hold both commits. Raises UsageFault where the folder is no clone or does not answer."""
    child = subprocess.Popen([sys.executable, "-m", __name__, folder, good, bad], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True, env={**os.environ, "GIT_PYTHON_REFRESH": "quiet", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"})
    try:
        out, err = child.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        raise UsageFault(f"--repo {folder}: the clone did not answer in {DEADLINE_S:g} s", do="name a clone on a disk of this machine") from None
    if child.returncode != 0:
        last = (err.decode("utf-8", "replace").strip() or "no reason told").splitlines()[-1]
        raise UsageFault(f"--repo {folder}: no git clone can be read there", last[:200], "name the folder of a clone: --repo DIR")
    answer: list[dict[str, Any]] | None = json.loads(out)
    return answer


def _read(folder: str, good: str, bad: str) -> list[dict[str, Any]] | None:
    import git  # noqa: PLC0415  # only the child pays for it: the import runs `git version`

    repo = git.Repo(folder, search_parent_directories=True)
    try:
        commits = list(repo.iter_commits(f"{good}..{bad}", max_count=MOST))
    except git.GitCommandError:
        return None
    return [{"id": commit.hexsha, "at": commit.committed_datetime.isoformat(), "subject": str(commit.summary),
             "files": sorted(map(str, commit.stats.files))[:MOST_FILES]} for commit in commits]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_read(*sys.argv[1:4])))
