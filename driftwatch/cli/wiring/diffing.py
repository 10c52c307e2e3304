"""What `diff` does, in order: read both sides, find the symptom, compare, explain. Decides nothing about causes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from driftwatch.agent.redact import Redactor
from driftwatch.cli.wiring.clone import commits_between
from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.rule_folders import load_folders
from driftwatch.cli.wiring.sides import read_all
from driftwatch.compare.change import Change
from driftwatch.compare.pair import compare
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.explanation import Explanation
from driftwatch.explain.rules_found import load_rules
from driftwatch.model import Known, Snapshot, Symptom, matches
from driftwatch.store.document import read_bounded
from driftwatch.store.references import is_path
from driftwatch.symptom import SYMPTOM_CLASSES, classify, of_snapshot

LARGEST_LOG = 32 << 20
LONGEST_SIGNATURE = 500
LOG_ADVICE = "name the log of the broken run; of a longer one its end will do: tail -c 30M LOG > end.log"


@dataclass(frozen=True)
class Question:
    """What the options of `diff` ask. ``bad`` is a host where the broken side is to be taken now."""

    good: str
    bad: str
    is_now: bool = False
    log: str | None = None
    error: str | None = None
    klass: str | None = None
    only: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    repo: str | None = None
    read_as: str | None = None


@dataclass(frozen=True)
class Pair:
    """Both sides and the references by which they are called."""

    good: Snapshot
    bad: Snapshot
    good_ref: str
    bad_ref: str


def pair_of_refs(good: str, bad: str | None, *, is_now: bool) -> tuple[str, str]:
    """Return both REFs: `diff gpu-a` means gpu-a@good and gpu-a@last. With ``is_now`` the second is the host itself."""
    host = good.rpartition("@")[0] or good
    if is_now and bad is not None:
        raise UsageFault("--now takes the broken side itself, so none can be named beside it", do="leave one of them away")
    if bad is None and (is_path(good) or good == "-"):
        raise UsageFault(f"{good} is compared with what?", do=f"driftwatch diff {good} BAD")
    first = good if "@" in good or bad is not None else f"{good}@good"
    return first, host if is_now else bad or f"{host}@last"


def read_pair(question: Question, desk: Desk) -> Pair:
    """Return both sides; the broken one is taken and stored now where that was asked."""
    _check_symptom(question)
    if not question.is_now:
        good, bad = read_all((question.good, question.bad), desk, question.read_as)
        return Pair(good, bad, question.good, question.bad)
    (good,) = read_all((question.good,), desk, question.read_as)
    bad, ref = _take_now(question.bad, desk)
    return Pair(good, bad, question.good, ref)


def _take_now(host: str, desk: Desk) -> tuple[Snapshot, str]:
    from driftwatch.cli.wiring.jobs import Wish, host_jobs  # noqa: PLC0415  # only --now captures
    from driftwatch.cli.wiring.running import do_jobs  # noqa: PLC0415  # as above
    from driftwatch.cli.wiring.snapshotting import finished  # noqa: PLC0415  # as above
    from driftwatch.cli.wiring.stopping import Stop  # noqa: PLC0415  # as above

    jobs = host_jobs(["local" if host == os.uname().nodename else host], Wish(), desk)
    taken = finished(next(do_jobs(jobs, 1, Stop(), lambda *_: None)).snapshot)
    return taken, desk.store.save(taken).ref


def explain_pair(pair: Pair, question: Question, desk: Desk) -> Explanation:
    """Return the explanation of a pair."""
    changes = tuple(change for change in compare(pair.good, pair.bad) if not question.only or matches(change.path, question.only))
    symptom, source = _symptom(question, pair.bad, desk)
    folders = (*desk.settings.rules, *map(Path, question.rules))
    commits = commits_between(question.repo, moved_heads(changes)) if question.repo is not None else {}
    case = Case(pair.good, pair.bad, changes, symptom, source, pair.good_ref, pair.bad_ref, commits)
    return explain(case, load_rules(load_folders(folders)))


def moved_heads(changes: Iterable[Change]) -> list[tuple[str, str]]:
    """Return the HEADs of each checkout that moved, good and bad."""
    return [(one.good.value, one.bad.value) for one in changes if matches(one.path, ("git/*/head",)) and isinstance(one.good, Known)
            and isinstance(one.bad, Known) and isinstance(one.good.value, str) and isinstance(one.bad.value, str)]


def _check_symptom(question: Question) -> None:
    if question.klass is not None and question.klass not in SYMPTOM_CLASSES:
        raise UsageFault(f"--symptom {question.klass}: there is no such class", do=f"one of: {', '.join(SYMPTOM_CLASSES)}")


def _symptom(question: Question, bad: Snapshot, desk: Desk) -> tuple[Symptom | None, str | None]:
    """Return the symptom and where it is from: the log, the pasted error, the user's word, or the snapshot. A class that was named wins."""
    if question.log is not None:
        found, source = _of_log(question.log, desk), "log"
    elif question.error is not None:
        found, source = classify(question.error) or Symptom(signature=Redactor().text(question.error.strip())[:LONGEST_SIGNATURE]), "error"
    elif question.klass is None:
        found, source = bad.symptom or of_snapshot(bad), "snapshot"
    else:
        found, source = None, "user"
    if question.klass is not None:
        found = replace(found or Symptom(), klass=question.klass)
    return found, source if found is not None else None


def _of_log(path: str, desk: Desk) -> Symptom | None:
    found = classify(read_bounded(path, LARGEST_LOG, advice=LOG_ADVICE).decode("utf-8", "replace"))
    if found is None:
        desk.say(f"note: {path} shows no failure that is known")
    return found if found is None else replace(found, log=path)
