"""Stand-ins for docker, podman and kubectl, and a real container of podman's where root may make one.

A stand-in takes the command line that the real client takes (docker 28: ``docker exec -i NAME PROGRAM ARG…``; podman 4 the same; kubectl 1.32:
``kubectl exec -i --namespace=N POD [--container=C] -- PROGRAM ARG…``) and nothing else, runs the program in place with an environment of its own, and
complains in the real one's words with its exit codes. A container is a folder: ``state`` says what it does, ``bin`` is its whole PATH.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCKER = """\
#!/bin/sh
[ "$1 $2" = "exec -i" ] || { echo "unknown command: docker $*" >&2; exit 125; }
name=$3
shift 3
missing="Error response from daemon: No such container: $name"
stopped="Error response from daemon: container 3f9a1c is not running"
no_program='OCI runtime exec failed: exec failed: unable to start container process: exec: "'$1'": executable file not found in $PATH: unknown'
refused=1
absent=127
"""
PODMAN = """\
#!/bin/sh
[ "$1 $2" = "exec -i" ] || { echo "Error: unknown command: podman $*" >&2; exit 125; }
name=$3
shift 3
missing="Error: no container with name or ID \\"$name\\" found: no such container"
stopped="Error: can only create exec sessions on running containers: container state improper"
no_program="Error: crun: executable file \\`$1\\` not found in \\$PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found"
refused=255
absent=127
"""
KUBECTL = """\
#!/bin/sh
[ "$1 $2" = "exec -i" ] || { echo "error: unknown command: kubectl $*" >&2; exit 1; }
case $3 in --namespace=?*) ;; *) echo "error: a namespace was expected, not $3" >&2; exit 1 ;; esac
name=$4
shift 4
case $1 in --container=*) name=$name.${1#--container=}; shift ;; esac
[ "$1" = -- ] || { echo "error: exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead" >&2; exit 1; }
shift
missing="Error from server (NotFound): pods \\"$name\\" not found"
stopped="error: unable to upgrade connection: container not found (\\"main\\")"
no_program='error: Internal error occurred: error executing command in container: failed to exec in container: failed to start exec "4c1": '
no_program="${no_program}OCI runtime exec failed: exec failed: unable to start container process: exec: \\"$1\\": executable file not found in \\$PATH: unknown"
refused=1
absent=1
"""
RUNS = """\
room=ROOMS/$name
state=$(cat "$room/state" 2>/dev/null) || { echo "$missing" >&2; exit $refused; }
case $state in
  running) ;;
  stopped) echo "$stopped" >&2; exit $refused ;;
  silent) sleep 60 ;;
  floods) exec yes ;;
  complains) while :; do echo "$name: a warning of a line" ; done >&2 ;;
  drips) while :; do printf .; sleep 0.2; done ;;
  lingers) (trap '' TERM HUP; sleep 3) & exit 1 ;;
  *) echo "$state" >&2; exit $refused ;;
esac
case $1 in
  */*) [ -x "$1" ] ;;
  *) PATH=$room/bin command -v "$1" >/dev/null ;;
esac || { echo "$no_program" >&2; exit $absent; }
exec env -i PATH="$room/bin" HOME="$room" CONTAINER="$name" "$@"
"""
CLIENTS = {"docker": DOCKER, "podman": PODMAN, "kubectl": KUBECTL}
OLD_PYTHON = """\
#!/bin/sh
printf '\\036DW1 %s {"frame":"old_python","python":"3.6.8","path":"/usr/bin/python3"}\\n' "$6"
exit 4
"""


class Rooms:
    """A folder of containers, and the stand-ins that know them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clients = folder / "clients"
        self.clients.mkdir(parents=True)
        for name, head in CLIENTS.items():
            _program(self.clients / name, head + RUNS.replace("ROOMS", str(folder / "rooms")))

    @property
    def path(self) -> str:
        """Return a PATH on which the stand-ins come first."""
        return f"{self.clients}:{os.environ['PATH']}"

    def make(self, name: str, state: str = "running", **programs: str) -> None:
        """Make a container with python3 in it, unless other programs are given, by name."""
        room = self.folder / "rooms" / name
        (room / "bin").mkdir(parents=True)
        (room / "state").write_text(state)
        if not programs and state == "running":
            (room / "bin/python3").symlink_to(sys.executable)
        for program, text in programs.items():
            _program(room / "bin" / program, text)


def _program(path: Path, text: str) -> None:
    path.write_text(textwrap.dedent(text))
    path.chmod(0o755)


@contextmanager
def real_podman(name: str) -> Iterator[Path]:
    """Run a container of this machine's files, in a storage of its own; yield the folder of a ``podman`` that knows it. Skip where that cannot be."""
    folder = Path(tempfile.mkdtemp(prefix="dw"))  # podman takes no run folder of more than 50 characters
    try:
        yield from _container(folder, name)
    finally:
        _clear(folder)


def _clear(folder: Path) -> None:
    """Take a folder away from which podman's own cleaning may not be done yet."""
    stop = time.monotonic() + 10
    while folder.exists():
        subprocess.run(["umount", folder / "storage/overlay"], capture_output=True, check=False)  # podman binds it onto itself, and not always undoes that
        shutil.rmtree(folder, ignore_errors=time.monotonic() < stop)
        time.sleep(0.05)


def _container(folder: Path, name: str) -> Iterator[Path]:
    if os.geteuid() != 0 or shutil.which("podman") is None or shutil.which("runc") is None:
        pytest.skip("no container can be made here: it needs root, podman and runc (apt-get install --no-install-recommends podman runc)")
    options = f"--root={folder}/storage --runroot={folder}/run --runtime=runc --cgroup-manager=cgroupfs --log-level=fatal"
    client = folder / "clients/podman"
    client.parent.mkdir(parents=True)
    _program(client, f'#!/bin/sh\nexec {shutil.which("podman")} {options} "$@"\n')
    limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"]
    made = subprocess.run([client, "run", "--detach", f"--name={name}", "--network=none", *limits, "--rootfs", "/:O", "sleep", "600"],
                          capture_output=True, text=True, timeout=60, check=False)
    try:
        if made.returncode:
            pytest.skip(f"podman makes no container here: {made.stderr.strip()[:200]}")
        yield client.parent
    finally:
        subprocess.run([client, "rm", "--force", "--time=0", name], capture_output=True, timeout=60, check=False)
