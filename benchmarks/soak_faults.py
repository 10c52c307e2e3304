"""The faults of the soak (benchmarks/soak.py): what misbehaves on this machine, on the hosts, and in the store, and how a run may end then.

A fault is a context that yields the words of the run. Nothing here looks at what comes of it.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from driftwatch.capture.plan import offers
from tests.lab import faultfs, mirrorfs
from tests.lab.fleet import ADDRESSES, REFUSING, SILENT, Fleet, running_fleet
from tests.whole.test_faults_commands import FAULTS as COMMAND_FAULTS
from tests.whole.test_faults_commands import stand_ins

HOSTS = 20
ADDRESSES_ASKED = (*ADDRESSES[: HOSTS - 2], SILENT, REFUSING)
DEADLINE_S = 8
ENV_ASKED = ("env", "system", "limits")
LOCAL_ASKED = (*ENV_ASKED, "targets", "packages", "versions", "sources", "git", "driver", "loader", "modules", "services", "nvml")
DISK_BYTES, DISK_INODES = 400 << 20, 40_000
PAGE_BYTES, LARGEST_PIECE_BYTES = 4096, 1 << 26
ANSWERED, NOT_STORED, KILLED = frozenset({0, 3}), frozenset({4}), frozenset({0, 3, 1, -9})
NIGHT = frozenset({0, 1, 3})
NIGHTS = ("killed", "killed", "full", *["whole"] * 5)
WHOLE_COMMAND = '"$SSH_ORIGINAL_COMMAND"'
HOST_FAULTS = {
    "stalls": "exec cat > /dev/null",
    "stalls in the middle": f"exec 3<&0; sh -c {WHOLE_COMMAND} | {{ head -c 3000; exec cat <&3 > /dev/null; }}; exit",
    "dies in the middle": f"sh -c {WHOLE_COMMAND} | head -c 3000; exit",
    "floods": "exec yes driftwatch",
    "has no Python": f"""exec unshare --mount sh -c 'for one in /usr/bin/python3 /usr/local/bin/python3; do [ -e $one ] && mount --bind /dev/null $one; done
        PATH=/nonexistent; eval {WHOLE_COMMAND}'""",
    "is cut off": "(sleep 0.4; kill -9 $PPID) > /dev/null 2>&1 < /dev/null &",
    "chatters": "seq 1 3000",
    "drifts": "export NCCL_DEBUG=TRACE",
}
FILE_FAULTS = ({"serve.py": "hangread"}, {".git": "hangstat"}, {"": "hanglist"}, {"serve.py": "stale"}, {"serve.py": "half"}, {"serve.py": "endless"})
CONFIG = """\
store = "{store}"
ssh_options = ["IdentityFile={server.identity}", "UserKnownHostsFile={server.known_hosts}", "IdentitiesOnly=yes"]
[hosts.fleet]
from = "ansible:{home}/hosts.ini"
deadline = {{ host = {deadline_s} }}
"""


@dataclass(frozen=True)
class Lab:
    """What the runs look at: hosts, a checkout, and the disk that the store lies on."""

    home: Path
    fleet: Fleet

    @property
    def disk(self) -> Path:
        """Return the small disk."""
        return self.home / "disk"

    @property
    def store(self) -> Path:
        """Return the store's folder."""
        return self.disk / "store"

    @property
    def repo(self) -> Path:
        """Return the checkout that local snapshots look at."""
        return self.home / "repo"

    @property
    def hosts(self) -> dict[str, str]:
        """Return the addresses of the hosts by name."""
        return {self.fleet.name_of(address): address for address in ADDRESSES_ASKED}

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the runs."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("DRIFTWATCH_", "XDG_", "NO_COLOR", "COLUMNS"))}
        return {**kept, "HOME": str(self.home), "PYTHONPATH": str(Path(__file__).resolve().parent.parent), "PYTHONUTF8": "1"}


@dataclass(frozen=True)
class Trial:
    """One run: the words of its command, the probes that it asks, how it may end, and the faults of its hosts by name."""

    fault: str
    words: tuple[str, ...]
    asked: tuple[str, ...] = LOCAL_ASKED
    codes: frozenset[int] = ANSWERED
    hosts: Mapping[str, str] = field(default_factory=dict)
    is_killed: bool = False
    is_without_room: bool = False


Fault = Callable[[Lab, random.Random], contextlib.AbstractContextManager[Trial]]


@contextlib.contextmanager
def running_lab(home: Path) -> Iterator[Lab]:
    """Run the hosts and mount the small disk."""
    (home / "disk").mkdir(parents=True)
    _commit(home / "repo")
    with contextlib.ExitStack() as stack:
        _mount(home / "image", home / "disk")
        stack.callback(subprocess.run, ["umount", "-l", home / "disk"], check=False)
        lab = Lab(home, stack.enter_context(running_fleet(home / "lab")))
        (home / "hosts.ini").write_text(lab.fleet.inventory(*lab.hosts.values()), encoding="utf-8")
        told = CONFIG.format(store=lab.store, home=home, server=lab.fleet.server, deadline_s=DEADLINE_S)
        (home / "driftwatch.toml").write_text(told, encoding="utf-8")
        yield lab


def _mount(image: Path, disk: Path) -> None:
    """Mount an ext4 of its own on a sparse file: a real disk, on which a save takes a while."""
    image.touch()
    os.truncate(image, DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-N", str(DISK_INODES), image], check=True)
    subprocess.run(["mount", "-o", "loop", image, disk], check=True)
    disk.chmod(0o700)


def _commit(repo: Path) -> None:
    repo.mkdir()
    (repo / "serve.py").write_text("PORT = 1\n", encoding="utf-8")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", "-C", repo, *words], check=True)


def local_words(source: Path, *more: str, asked: tuple[str, ...] = LOCAL_ASKED) -> tuple[str, ...]:
    """Return the command that looks at this machine."""
    return ("snapshot", "local", "--python", sys.executable, "--source", str(source), "--deadline", str(DEADLINE_S), *skipping(asked), *more)


def skipping(asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the option that leaves out all probes but some."""
    return ("--skip", ",".join(offer.probe.name for offer in offers() if offer.probe.name not in asked))


@contextlib.contextmanager
def nothing_wrong(lab: Lab, _draw: random.Random) -> Iterator[Trial]:
    """Leave all as it is."""
    yield Trial("nothing", local_words(lab.repo))


@contextlib.contextmanager
def commands_misbehave(lab: Lab, draw: random.Random) -> Iterator[Trial]:
    """Put programs that misbehave before the real ones."""
    name, folder = draw.choice(sorted(COMMAND_FAULTS)), lab.home / f"commands-{draw.getrandbits(64):x}"
    folder.mkdir()
    programs, _ = stand_ins(folder, COMMAND_FAULTS[name])
    kept = os.environ["PATH"]
    os.environ["PATH"] = f"{programs}:{kept}"
    try:
        yield Trial(f"commands: {name}", local_words(lab.repo, *(f"--deadline={one}=2" for one in ("git", "driver", "loader", "nvml", "services"))))
    finally:
        os.environ["PATH"] = kept


@contextlib.contextmanager
def files_misbehave(lab: Lab, draw: random.Random) -> Iterator[Trial]:
    """Show the checkout through a file system that never answers somewhere, or answers wrongly."""
    faults, where = draw.choice(FILE_FAULTS), lab.home / "mounted/repo"
    where.mkdir(parents=True, exist_ok=True)
    with mirrorfs.mounted(lab.repo, where, faults):
        yield Trial(f"files: {faults}", local_words(where, "--deadline=git=2", "--deadline=sources=2"))


@contextlib.contextmanager
def controller_is_killed(lab: Lab, _draw: random.Random) -> Iterator[Trial]:
    """Let the run be killed."""
    yield Trial("kill -9", local_words(lab.repo, asked=ENV_ASKED), ENV_ASKED, KILLED, is_killed=True)


@contextlib.contextmanager
def disk_is_full(lab: Lab, draw: random.Random) -> Iterator[Trial]:
    """Leave the store's disk hardly any room."""
    with full(lab, draw):
        yield Trial("full disk", local_words(lab.repo), codes=NOT_STORED, is_without_room=True)


@contextlib.contextmanager
def host_misbehaves(lab: Lab, draw: random.Random) -> Iterator[Trial]:
    """Ask one host that has a fault."""
    fault, name = draw.choice(sorted(HOST_FAULTS)), draw.choice(sorted(lab.hosts))
    with faulty(lab, {name: fault}):
        yield Trial(f"host: {fault}", ("snapshot", name, *skipping(ENV_ASKED)), ENV_ASKED, hosts={name: fault})


@contextlib.contextmanager
def night(lab: Lab, draw: random.Random) -> Iterator[Trial]:
    """Audit all hosts, of which a third have faults; some runs are killed, some have a full disk."""
    faults = {name: draw.choice(sorted(HOST_FAULTS)) for name in sorted(lab.hosts) if draw.random() < 1 / 3}
    words = ("audit", *skipping(ENV_ASKED), "--json")
    kind = draw.choice(NIGHTS)
    with faulty(lab, faults), full(lab, draw) if kind == "full" else contextlib.nullcontext():
        codes = {"killed": KILLED, "full": NOT_STORED | NIGHT, "whole": NIGHT}[kind]  # a night is small: the room that is left may do for it
        yield Trial(f"night: {kind}", words, ENV_ASKED, codes, faults, is_killed=kind == "killed", is_without_room=kind == "full")


@contextlib.contextmanager
def faulty(lab: Lab, faults: Mapping[str, str]) -> Iterator[None]:
    """Let hosts have faults."""
    files = {lab.fleet.folder / "env" / lab.hosts[name]: HOST_FAULTS[fault] for name, fault in faults.items()}
    for path, text in files.items():
        path.write_text(text + "\n", encoding="utf-8")
    try:
        yield
    finally:
        for path in files:
            path.unlink()


@contextlib.contextmanager
def full(lab: Lab, draw: random.Random) -> Iterator[None]:
    """Fill the store's disk but for less than two pages."""
    filler = lab.disk / "filler"
    try:
        with filler.open("wb") as file:
            file.truncate(max(0, _fill(file.fileno()) - draw.randrange(0, 2 * PAGE_BYTES)))
        yield
    finally:
        filler.unlink()


def _fill(descriptor: int) -> int:
    """Let a file have all the room of its disk, and return its size."""
    size, piece = 0, LARGEST_PIECE_BYTES
    while piece >= PAGE_BYTES:
        if _takes(descriptor, size, piece):
            size += piece
        else:
            piece //= 2
    return size


def _takes(descriptor: int, size: int, piece: int) -> bool:
    """Let a file grow by a piece, and return whether there was room."""
    try:
        os.posix_fallocate(descriptor, size, piece)
    except OSError:
        return False
    return True


def snapshot_faults() -> tuple[Fault, ...]:
    """Return the faults of single snapshots that this machine can have; those that are many are there more than once."""
    files = () if faultfs.why_not() else (files_misbehave,) * 2
    return (nothing_wrong, *(commands_misbehave,) * 2, *files, *(controller_is_killed,) * 2, disk_is_full, *(host_misbehaves,) * 3)
