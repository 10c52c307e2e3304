"""What `audit` does, in order: take a snapshot of each host, compare it with its baseline as it comes in, let it go, and close the night."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from driftwatch.capture.plan import CaptureError
from driftwatch.cli.wiring import telling
from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault, own_failure
from driftwatch.cli.wiring.jobs import Job
from driftwatch.cli.wiring.keeping import Keeping, keep
from driftwatch.cli.wiring.progress import Progress, shown
from driftwatch.cli.wiring.roles import are_two_hosts, role_of, shared_changes
from driftwatch.cli.wiring.rule_folders import load_folders
from driftwatch.cli.wiring.running import Done, do_jobs
from driftwatch.cli.wiring.sides import read_one
from driftwatch.cli.wiring.snapshotting import finished
from driftwatch.cli.wiring.stopping import STOPPED, Stop
from driftwatch.compare.change import Change
from driftwatch.compare.peers_align import renamed
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.explanation import Explanation
from driftwatch.explain.rules_found import load_rules
from driftwatch.fleet import told as told_states
from driftwatch.fleet.audit import FAIL_ON, Answered, Audit
from driftwatch.fleet.seen import differing
from driftwatch.fleet.told import Told
from driftwatch.model import Snapshot
from driftwatch.report.audit.json import render as render_json
from driftwatch.report.audit.night import Night
from driftwatch.settings import utc_now
from driftwatch.store import nights
from driftwatch.store.errors import StoreError
from driftwatch.store.names import is_label

DEFAULT_AGAINST = "good"
DEFAULT_FAIL_ON = "drift"
EVERYTHING = ("*", "*/*")


@dataclass(frozen=True)
class Question:
    """What the options of `audit` ask: a tag of each host, or a REF for all of them; what counts as a finding; only what is new."""

    against: str = DEFAULT_AGAINST
    fail_on: str = DEFAULT_FAIL_ON
    only_new: bool = False
    at_once: int = 64


def check(question: Question) -> None:
    """Refuse what cannot be followed, before any host is asked."""
    if question.fail_on not in FAIL_ON:
        raise UsageFault(f"--fail-on {question.fail_on}: there is no such choice", do=f"one of: {', '.join(FAIL_ON)}")


class Round:
    """One audit while it runs: the hosts that ended are in it, and nothing of their facts is."""

    def __init__(self, question: Question, desk: Desk) -> None:
        self._question, self._desk = question, desk
        self._rules = load_rules(load_folders(desk.settings.rules))
        self._role = role_of(desk.settings)
        self._audit = Audit(self._explain)
        self._golden = None if is_label(question.against) else read_one(question.against, desk)
        self._kept: dict[str, Told] = {}
        self._left: dict[str, None] = {}

    def run(self, jobs: Sequence[Job]) -> Night:
        """Ask all hosts, and return the night. It ends when the last host's deadline does, and Ctrl-C keeps what is there."""
        began, began_at, stop = time.monotonic(), utc_now(), Stop()
        progress = Progress([job.host for job in jobs], jobs[0].probes, "audit")
        self._left = dict.fromkeys(job.host for job in jobs)
        with shown(progress, self._desk):
            for done in do_jobs(jobs, self._question.at_once, stop, progress.watch):
                progress.leave(done.host)
                if not (stop.is_asked and not done.snapshot.facts):
                    self._take(done)
        for host in self._left:
            self._audit.take_without(host, "not asked", "stopped before it was asked")
        against = f"@{self._question.against}" if self._golden is None else self._question.against
        night = Night(against, began_at, time.monotonic() - began, (), (), "", 0, self._question.fail_on, self._question.only_new, stop.is_asked)
        whole = self._audit.night(night)
        return replace(whole, exit_code=STOPPED) if stop.is_asked else whole

    def remember(self) -> None:
        """Keep what was told of each host, for the next night."""
        for host, told in self._kept.items():
            nights.save_told(self._desk.store.root, host, told_states.to_document(told))

    def _take(self, done: Done) -> None:
        snapshot = finished(done.snapshot)
        self._left.pop(done.host, None)
        try:
            ref = keep(snapshot, Keeping(), self._desk)
        except StoreError as refused:
            self._desk.say(f"note: {refused.what} ({refused.where}); {done.host} was compared all the same")
            ref = ""
        told = self._told(done.host)
        answered = Answered(done.host, snapshot, round(done.elapsed_s, 3), ref)
        if telling.is_unreachable(snapshot):
            reason = next(iter(telling.unanswered(snapshot).values())).reason
            self._audit.take_unreachable(answered, reason, told)
            self._kept[done.host] = told_states.after(told, {told_states.UNREACHABLE: told_states.UNREACHABLE}, EVERYTHING, told.acknowledged)
            return
        try:
            self._compare(answered, told)
        except Exception as failed:  # noqa: BLE001  # one host never ends the night, and its row tells the failure
            self._audit.take_failed(answered, own_failure(failed))

    def _compare(self, answered: Answered, told: Told) -> None:
        try:
            baseline_ref, baseline = self._baseline(answered.host)
            if telling.is_unreachable(baseline):
                raise StoreError(f"{baseline_ref} told nothing, the host was not reached then")
        except (StoreError, CaptureError) as refused:
            said = getattr(refused, "what", str(refused))
            self._audit.take_without(answered.host, "no baseline", f"{said}; driftwatch tag {self._question.against} {answered.ref or 'REF'}", answered)
            return
        known, changes = self._shared(baseline, answered.snapshot)
        full = differing(known, answered.snapshot, self._desk.settings.audit.ignore, changes)
        seen = full.without(told.acknowledged) if told.acknowledged else full
        whole = replace(answered, baseline=known, baseline_ref=baseline_ref)
        unknown = tuple(glob for silent in full.silent for glob in silent.below)
        kept = told_states.after(told, seen.keys, unknown, full.keys.values())
        self._audit.take(whole, seen, told)
        self._kept[answered.host] = kept

    def _shared(self, baseline: Snapshot, snapshot: Snapshot) -> tuple[Snapshot, Sequence[Change] | None]:
        """Return the baseline, and of another machine's only what the role of both shares, its GPUs under this one's names."""
        if not are_two_hosts(baseline, snapshot):
            return baseline, None
        return renamed(baseline, snapshot), shared_changes(baseline, snapshot, self._role)

    def _baseline(self, host: str) -> tuple[str, Snapshot]:
        if self._golden is not None:
            return self._question.against, self._golden
        ref = f"{host}@{self._question.against}"
        return ref, read_one(ref, self._desk)

    def _told(self, host: str) -> Told:
        try:
            found = nights.load_told(self._desk.store.root, host)
            return Told() if found is None else told_states.from_document(found)
        except (StoreError, ValueError, KeyError, TypeError) as refused:
            self._desk.say(f"note: {getattr(refused, 'what', refused)}; everything about {host} counts as new")
            return Told()

    def _explain(self, good: Snapshot, bad: Snapshot, changes: tuple[Change, ...]) -> Explanation:
        return explain(Case(good, bad, changes, bad.symptom, "snapshot" if bad.symptom else None, "good", "bad"), self._rules)


def save(one: Round, night: Night, desk: Desk) -> StoreError | None:
    """Keep what was told of each host, and the night as its own document. Return why that failed: the night is told all the same."""
    try:
        one.remember()
        nights.save_run(desk.store.root, night.began_at, render_json(night, desk.page).encode("ascii"))
    except StoreError as failed:
        return failed
    return None
