"""Many snapshots and audits under random faults: ``python benchmarks/soak.py [--seed S] [--snapshots 500] [--audits 100]``. A seed draws the same faults again.

Single snapshots look at this machine and at hosts behind a real sshd, audits at twenty of these. What goes wrong is drawn for each run anew: commands that
hang, ignore TERM or flood, a file system that never answers, hosts that stall, die in the middle, flood, cut the line or have no Python, a full disk, kill -9
of the controller. After each run: every probe of each snapshot is accounted for; nothing is told absent that was there before; a host is only told the same
or drifted where that can be; what was told as stored is stored; the store verifies; no process, descriptor, thread or temporary file was left. At the end:
the memory is flat (the peak of the last quarter of the runs at most 1.2 times that of the first), the spool is empty, old temporary files are swept.
All but the runs that are killed happen in this one process. It needs root, for mount namespaces and a small disk. Exit 1 where anything failed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.soak_faults import ENV_ASKED, HOSTS, Fault, Lab, Trial, local_words, night, running_lab, skipping, snapshot_faults
from benchmarks.soak_judge import accounted, ill_told, untrue
from benchmarks.soak_watch import Births, Watch, forget_peak, growth, make_old, peak_mib, temporaries
from driftwatch.cli.main import STOPPED
from driftwatch.cli.main import main as driftwatch
from driftwatch.model import Snapshot
from driftwatch.store import document
from tests.lab.fleet import REFUSING, SILENT

MOST_GROWTH = 1.2
TOLD_EVERY, WHOLE_STORE_EVERY = 100, 25
A_RUN_S, A_SAVE_S, TURN_S, PATIENCE_S = 3.0, 0.001, 0.005, 60.0
FILES = {"snapshot": 2, "audit": 3 * HOSTS + 1}  # that a run makes: to see whether the disk answers, a snapshot, and what was told of a host; the night


@dataclass(frozen=True)
class Said:
    """How a run ended: its exit code (-9: killed), and what it said."""

    code: int
    out: str
    err: str


class Soak:
    """The runs so far, and what failed in them."""

    def __init__(self, lab: Lab, seed: str) -> None:
        self._lab, self._seed = lab, seed
        self.failures: list[str] = []
        self.faults: Counter[str] = Counter()
        self.states: Counter[str] = Counter()
        self.torn = 0
        self.peaks: dict[str, list[float]] = {"snapshot": [], "audit": []}
        self._good: dict[str, Snapshot] = {}
        self._left_by_killed: frozenset[Path] = frozenset()
        self._runs = 0
        self._watch = Watch()

    def begin(self) -> None:
        """Take the good snapshots of all hosts, and what belongs to this process once all is loaded."""
        self._call_good()
        self._run(("verify",))
        self._good = {told.host: told for told in map(document.load, self._stored()) if told.facts}
        if len(self._good) != HOSTS - 1:  # this machine, and all hosts but the silent and the refusing one
            self._fail("begin", [f"of {HOSTS - 1} healthy hosts {len(self._good)} answered"])
        self._watch.begin()

    def one(self, kind: str, number: int) -> None:
        """Do one run and look at what came of it."""
        draw = random.Random(f"{self._seed} {kind} {number}")
        fault: Fault = night if kind == "audit" else draw.choice(snapshot_faults())
        before, begun = self._stored(), time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        with fault(self._lab, draw) as trial:
            forget_peak()
            said = self._killed(trial.words, draw) if trial.is_killed else self._run(trial.words)
            if not trial.is_killed:
                self.peaks[kind].append(peak_mib())
        self._runs += 1
        self.faults[trial.fault] += 1
        self._fail(f"{kind} {number} ({trial.fault})", list(self._wrong(trial, said, before, begun)))

    def end(self) -> None:
        """Look at what must be so once all is done."""
        if left := self._temporaries():
            make_old(left)
            self._run(("audit", *skipping(ENV_ASKED)))
            self._call_good()
        wrong = [f"an old temporary file is not swept: {path}" for path in self._temporaries()]
        grown = {kind: growth(peaks) or 0.0 for kind, peaks in self.peaks.items()}
        wrong += [f"the peak of the {kind}s grew {times:.2f} times" for kind, times in grown.items() if times > MOST_GROWTH]
        self._fail("end", [*wrong, *self._verified(()), *self._watch.left()])

    def _call_good(self) -> None:
        """Take snapshots of this machine and of all hosts that answer, and tag them."""
        answering = [name for name, address in self._lab.hosts.items() if address not in {SILENT, REFUSING}]
        self._run(local_words(self._lab.repo, "--label", "good"))
        self._run(("snapshot", *answering, "--label", "good", *skipping(ENV_ASKED)))

    def line(self) -> str:
        """Return one line about the runs so far."""
        peaks = ", ".join(f"{kind}s at most {max(values):.0f} MiB" for kind, values in self.peaks.items() if values)
        return f"{self._runs} runs, {len(self._stored())} snapshots stored, {len(self.failures)} failures; {peaks}"

    def _fail(self, where: str, wrong: Sequence[str]) -> None:
        for one in wrong:
            self.failures.append(f"{where}: {one}")
            print(f"FAILED {self.failures[-1]}", file=sys.stderr, flush=True)

    def _wrong(self, trial: Trial, said: Said, before: frozenset[Path], begun: str) -> Iterator[str]:
        """Yield what is wrong after a run."""
        if said.code not in trial.codes:
            yield f"exit {said.code}: {said.err[-600:]}"
        if trial.is_without_room:
            yield from self._delivered(trial.words[0])
        new = [document.load(path) for path in sorted(self._stored() - before)]
        for snapshot in new:
            yield from accounted(snapshot, trial.asked)
            yield from untrue(snapshot, self._good.get(snapshot.host), trial.asked)
        yield from self._counted(trial, said, new, {path.parent.name for path in before if path.name.split("--")[1] >= begun})
        if trial.words[0] == "audit" and not trial.is_killed:
            yield from self._told(trial, said)
        yield from self._verified(() if self._runs % WHOLE_STORE_EVERY == 0 else sorted({snapshot.host for snapshot in new}))
        yield from self._watch.left()
        yield from self._new_temporaries(trial)

    def _counted(self, trial: Trial, said: Said, new: Sequence[Snapshot], just_asked: set[str]) -> Iterator[str]:
        """Yield where what was told as stored, and what must be, is not.

        Of a host that refuses at once, and did so in the same second for the run before, both have one snapshot: ``just_asked`` are hosts stored so late.
        """
        wanted = HOSTS if trial.words[0] == "audit" else 1
        most = len(new) + len(just_asked - {one.host for one in new})
        if not len(new) <= wanted <= most and not (trial.is_killed and len(new) < wanted):
            yield f"{len(new)} snapshots of {wanted} were stored: {said.err[-600:]}"
        ids = {f"{path.parent.name}@{path.name.split('--')[2][:12]}" for path in self._stored()}
        yield from (f"told as stored, and is not: {ref}" for ref in said.out.split() if trial.words[0] == "snapshot" and ref not in ids)

    def _told(self, trial: Trial, said: Said) -> Iterator[str]:
        """Yield what an audit told that cannot be."""
        try:
            rows = json.loads(said.out)["hosts"]
        except (ValueError, KeyError) as wrong:
            yield f"the audit's answer is none: {wrong!r} {said.err[-300:]}"
            return
        self.states.update(row["state"] for row in rows)
        yield from ill_told(rows, trial, self._lab)

    def _delivered(self, command: str) -> list[str]:
        """Return what is wrong with the delivery of what a full disk did not take."""
        said = self._run(("spool", "--deliver"))
        waiting = list((self._lab.home / ".local/state/driftwatch/spool").rglob("*--*.json"))
        return [f"{command}: not delivered: {path.name}" for path in waiting] + ([] if said.code == 0 else [f"spool: exit {said.code}: {said.err}"])

    def _verified(self, hosts: Sequence[str]) -> list[str]:
        """Return what is wrong with the stored snapshots of some hosts, of all where none is named."""
        said = self._run(("verify", "-q", *hosts))
        return [] if said.code == 0 else [f"verify: exit {said.code}: {said.out} {said.err}"]

    def _new_temporaries(self, trial: Trial) -> list[str]:
        """Return the temporary files that a run left though nobody killed it."""
        found = self._temporaries() - self._left_by_killed
        if trial.is_killed:
            self._left_by_killed |= found
            self.torn += bool(found)
            return []
        return [f"a temporary file was left: {path}" for path in found]

    def _temporaries(self) -> frozenset[Path]:
        return temporaries(self._lab.store, self._lab.home / ".local", self._lab.home / ".cache")

    def _stored(self) -> frozenset[Path]:
        return frozenset(self._lab.store.glob("hosts/*/*--*--*.json"))

    def _run(self, words: Sequence[str]) -> Said:
        """Return how a command ended that ran in this process."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = driftwatch(words)
        if code == STOPPED:
            raise KeyboardInterrupt
        return Said(code, *(one.buffer.getvalue().decode() for one in (out, err)))

    def _killed(self, words: Sequence[str], draw: random.Random) -> Said:
        """Return what a command had said when it was killed: while it saved one of its files, or at any time."""
        at_any_time = draw.random() < 1 / 4
        latest_s, moment_s, file = draw.uniform(0.05, A_RUN_S) if at_any_time else PATIENCE_S, draw.uniform(0, A_SAVE_S), draw.randint(1, FILES[words[0]])
        with contextlib.closing(Births(self._lab.store)) as births:
            child = subprocess.Popen([sys.executable, "-m", "driftwatch", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            stop = time.monotonic() + latest_s
            while child.poll() is None and time.monotonic() < stop and (at_any_time or births.count(TURN_S) < file):
                time.sleep(TURN_S if at_any_time else 0)
        time.sleep(moment_s)
        child.kill()
        out, err = child.communicate()
        return Said(child.returncode, out, err)


@contextlib.contextmanager
def at_home(lab: Lab) -> Iterator[None]:
    """Let the commands run in the lab's folder and environment."""
    kept, own, folder = dict(os.environ), lab.environment, Path.cwd()
    os.environ.clear()
    os.environ.update(own)
    os.chdir(lab.home)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
        os.chdir(folder)


def order(snapshots: int, audits: int) -> list[tuple[str, int]]:
    """Return the runs, audits spread evenly among the snapshots."""
    runs = [(number / snapshots, "snapshot", number) for number in range(snapshots)] + [((number + 0.5) / audits, "audit", number) for number in range(audits)]
    return [(kind, number) for _, kind, number in sorted(runs)]


def soak(lab: Lab, seed: str, runs: Sequence[tuple[str, int]], tell: Callable[[str], None]) -> Soak:
    """Do the runs and return them, with all that failed."""
    done = Soak(lab, seed)
    done.begin()
    for count, (kind, number) in enumerate(runs, 1):
        done.one(kind, number)
        if count % TOLD_EVERY == 0:
            tell(done.line())
    done.end()
    return done


def main() -> int:
    """Run the soak, print the summary, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    parser.add_argument("--snapshots", type=int, default=500)
    parser.add_argument("--audits", type=int, default=100)
    given = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("soak: it needs root, for mount namespaces and a small disk")
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, running_lab(Path(folder) / "home") as lab, at_home(lab):
        done = soak(lab, given.seed, order(given.snapshots, given.audits), lambda line: print(line, flush=True))
        last = done.line()
    print(f"{last}\nfaults: {dict(done.faults.most_common())}\nstates that audits told: {dict(done.states)}")
    print(f"killed while a file was half written: {done.torn}")
    for kind, peaks in done.peaks.items():
        print(f"peak of the {kind}s, last quarter / first: {'too few' if (grown := growth(peaks)) is None else f'{grown:.2f}'}")
    print(f"seed {given.seed}: {'nothing failed' if not done.failures else f'{len(done.failures)} failed'}")
    return 1 if done.failures else 0


if __name__ == "__main__":
    sys.exit(main())
