"""An audit whose store has no room: the night is told all the same, and the exit code says that it was not stored."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from driftwatch.capture.plan import offers

QUICK = ("--skip", ",".join(offer.probe.name for offer in offers() if offer.probe.name != "env"))
SCRIPT = """
set -e
mount -t tmpfs -o size=256k,mode=700 none disk
tool() { SGLANG_A=$1 "$PYTHON" -m driftwatch --store disk/store "$2" "$3" "$4" "$5" "$6"; }
tool 1 snapshot local "$@" --label=good > first.out 2>&1
head -c 300000 /dev/zero > disk/filler 2> /dev/null || true
tool 2 audit local "$@" --json
"""


def test_a_full_disk_takes_no_night_from_the_reader(cli):
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a file system of its own needs root and unshare")
    (cli.home / "disk").mkdir()
    argv = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", *QUICK]
    ran = subprocess.run(argv, env=cli.environ(PYTHON=sys.executable), cwd=cli.home, capture_output=True, text=True, timeout=60, check=False)
    if "unshare" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip(f"no mount here: {ran.stderr.strip()}")
    assert ran.returncode == 4, ran.stderr
    assert [row["state"] for row in json.loads(ran.stdout)["hosts"]] == ["drift"]
    assert "no space left on device" in ran.stderr
