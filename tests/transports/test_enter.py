"""The machine around a container, seen through its first process: made real with a mount namespace inside another."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from driftwatch.transports.destination import Options, parse_destination
from driftwatch.transports.opening import open_transport
from tests.transports.listen import listen
from tests.transports.payload import shipment

ROOT = Path(__file__).parents[2]
# the "machine" has a file where its "container" has another; PID 1 of a new process namespace is the machine's first process
MACHINE = """\
mount -t tmpfs none "$0" && echo machine >"$0/which" || exit 77
unshare --mount sh -c 'mount -t tmpfs none "$0" && echo container >"$0/which" && exec "$@"' "$0" "$@"
exit $?
"""
SAY = """\
import json, sys
sys.path.insert(0, sys.argv[1])
from driftwatch.transports.destination import Options, parse_destination
from driftwatch.transports.opening import open_transport
from tests.transports.payload import shipment
frames = list(open_transport(parse_destination(sys.argv[3]), Options()).stream(shipment("reads", ("python3", sys.executable), path=sys.argv[2]), 10))
print(json.dumps([frame["text"] for frame in frames if "text" in frame]))
"""


@pytest.mark.parametrize(("to", "seen"), [("enter://1", "machine\n"), ("local", "container\n")])
def test_the_machine_around_the_container_is_seen_and_not_the_container(tmp_path, to, seen):
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("it needs root, unshare and nsenter")
    (tmp_path / "place").mkdir()
    ran = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c", MACHINE, tmp_path / "place",
                          sys.executable, "-c", SAY, ROOT, tmp_path / "place/which", to], capture_output=True, text=True, timeout=30, check=False)
    if "unshare" in ran.stderr or ran.returncode == 77:
        pytest.skip(f"no namespaces here: {ran.stderr.strip()[-200:]}")
    assert json.loads(ran.stdout) == [seen], ran.stderr


def test_a_machine_that_may_not_be_entered_is_one_sentence_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "nsenter").write_text("#!/bin/sh\necho 'nsenter: cannot open /proc/1/ns/mnt: Permission denied' >&2\nexit 1\n")
    (tmp_path / "nsenter").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = listen(open_transport(parse_destination("enter://1"), Options()), shipment("answer"), 3).said
    assert "nsenter: cannot open /proc/1/ns/mnt: Permission denied" in said
    assert "hostPID" in said
