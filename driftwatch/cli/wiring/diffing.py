"""What `diff` does, in order: read both sides, find the symptom, compare, explain. Decides nothing about causes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from driftwatch.agent.redact import Redactor
from driftwatch.agent.server_log import last_run
from driftwatch.cli.wiring.clone import commits_between
from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.faults import UsageFault
from driftwatch.cli.wiring.named import is_folder
from driftwatch.cli.wiring.roles import are_two_hosts, between_hosts, role_of
from driftwatch.cli.wiring.rule_folders import load_folders
from driftwatch.cli.wiring.sides import read_all
from driftwatch.compare.aligned import aligned
from driftwatch.compare.change import Change
from driftwatch.compare.pair import compare
from driftwatch.compare.sets import compare_sets
from driftwatch.explain.asked import answers
from driftwatch.explain.case import Case
from driftwatch.explain.explain import explain
from driftwatch.explain.explanation import Explanation
from driftwatch.explain.narrowed import narrowed
from driftwatch.explain.rules_found import load_rules
from driftwatch.explain.words import count
from driftwatch.log_remarks import remarked
from driftwatch.log_stream import condense
from driftwatch.model import Known, Snapshot, Symptom, matches
from driftwatch.store.errors import StoreError
from driftwatch.store.log_file import log_chunks
from driftwatch.store.references import is_path
from driftwatch.symptom import SYMPTOM_CLASSES, classify, of_snapshot, trace_of

LONGEST_SIGNATURE = 500


@dataclass(frozen=True)
class Question:
    """What the options of `diff` ask. ``bad`` is a host where the broken side is to be taken now; ``goods`` and ``bads`` name several sides instead."""

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
    ask: tuple[str, ...] = ()
    goods: tuple[str, ...] = ()
    bads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Both sides and the references by which they are called; of two sets the changes too, since a pair alone does not tell them.

    ``failed`` is why the side that was taken now could not be stored.
    """

    good: Snapshot
    bad: Snapshot
    good_ref: str
    bad_ref: str
    changes: tuple[Change, ...] | None = None
    failed: StoreError | None = None


@dataclass(frozen=True)
class Shown:
    """How the failure shows: the symptom, where it is from, and the lines of its traceback."""

    symptom: Symptom | None = None
    source: str | None = None
    trace: str = ""


def pair_of_refs(good: str | None, bad: str | None, *, is_now: bool, has_sets: bool = False) -> tuple[str, str]:
    """Return both REFs: `diff gpu-a` means gpu-a@good and gpu-a@last. With ``is_now`` the second is the host itself; with sets there are none."""
    if has_sets:
        if good is not None or is_now:
            raise UsageFault("--good and --bad name all the sides", do="driftwatch diff --good REF --good REF --bad REF")
        return "", ""
    if good is None:
        raise UsageFault("missing argument: no side is named", do="driftwatch diff GOOD BAD, or --good REF --good REF --bad REF")
    host = good.rpartition("@")[0] or good
    if is_now and bad is not None:
        raise UsageFault("--now takes the broken side itself, so none can be named beside it", do="leave one of them away")
    if bad is None and (is_path(good) or good == "-"):
        raise UsageFault(f"{good} is compared with what?", do=f"driftwatch diff {good} BAD")
    first = good if "@" in good or bad is not None else f"{good}@good"
    return first, host if is_now else bad or f"{host}@last"


def read_pair(question: Question, desk: Desk) -> Pair:
    """Return both sides; the broken one is taken and stored now where that was asked."""
    _check(question)
    if question.goods or question.bads:
        return _read_sets(question, desk)
    if not question.is_now:
        good, bad = read_all((question.good, question.bad), desk, question.read_as)
        return Pair(good, bad, question.good, question.bad)
    (good,) = read_all((question.good,), desk, question.read_as)
    return _with_now(good, question, desk)


def _read_sets(question: Question, desk: Desk) -> Pair:
    """Return the pair that stands for two sets, and tell how much of what differs is noise."""
    if not question.goods or not question.bads:
        raise UsageFault("sets need both sides", do="name at least one --good REF and one --bad REF")
    every = read_all((*question.goods, *question.bads), desk, question.read_as)
    found = compare_sets(every[: len(question.goods)], every[len(question.goods):])
    if found.noise:
        desk.say(f"note: {count(found.noise, 'difference')} left out: the good ones differ among themselves there, or a broken one is like a good one")
    return Pair(found.good, found.bad, ", ".join(question.goods), ", ".join(question.bads), found.changes)


def _with_now(good: Snapshot, question: Question, desk: Desk) -> Pair:
    """Return the pair whose broken side is taken now, whether it can be stored or not."""
    from driftwatch.cli.wiring.jobs import Wish, host_jobs  # noqa: PLC0415  # only --now captures
    from driftwatch.cli.wiring.keeping import Keeping, keep  # noqa: PLC0415  # as above
    from driftwatch.cli.wiring.running import do_jobs  # noqa: PLC0415  # as above
    from driftwatch.cli.wiring.snapshotting import finished  # noqa: PLC0415  # as above
    from driftwatch.cli.wiring.stopping import Stop  # noqa: PLC0415  # as above

    host = question.bad
    jobs = host_jobs(["local" if host == os.uname().nodename else host], Wish(), desk)
    taken = finished(next(do_jobs(jobs, 1, Stop(), lambda *_: None)).snapshot)
    try:
        return Pair(good, taken, question.good, keep(taken, Keeping(), desk))
    except StoreError as failed:
        return Pair(good, taken, question.good, f"{host}, now", failed=failed)


def explain_pair(pair: Pair, question: Question, desk: Desk) -> Explanation:
    """Return the explanation of a pair."""
    return explain_case(pair, question, desk)[1]


def explain_case(pair: Pair, question: Question, desk: Desk) -> tuple[Case, Explanation]:
    """Return what a pair is to the rules, and its explanation with the answers to what was asked."""
    good, bad, changes = _compared(pair, desk)
    shown = _shown(question, pair.bad, desk)
    folders = (*desk.settings.rules, *map(Path, question.rules))
    commits = commits_between(question.repo, moved_heads(changes)) if question.repo is not None else {}
    case = Case(good, bad, changes, shown.symptom, shown.source, pair.good_ref, pair.bad_ref, commits, shown.trace, os.uname().nodename)
    explanation = explain(case, load_rules(load_folders(folders)))
    explanation = replace(explanation, good=replace(explanation.good, id=pair.good.id), bad=replace(explanation.bad, id=pair.bad.id))
    explanation = replace(explanation, asked=answers(case, explanation, question.ask)) if question.ask else explanation
    return case, _narrowed(explanation, question.only, desk) if question.only else explanation


def _narrowed(explanation: Explanation, only: tuple[str, ...], desk: Desk) -> Explanation:
    for glob in only:
        if not any(matches(change.path, (glob,)) for change in explanation.changes):
            desk.say(f"note: --only {glob}: nothing that differs fits; the verdict is of all that differs")
    return narrowed(explanation, only)


def _compared(pair: Pair, desk: Desk) -> tuple[Snapshot, Snapshot, tuple[Change, ...]]:
    """Return both sides, one thing under one name, and the changes.

    Between two machines their names, addresses and serials are no changes, and their GPUs stand side by side.
    """
    if pair.changes is not None:
        return pair.good, pair.bad, pair.changes
    if are_two_hosts(pair.good, pair.bad):
        good, changes = between_hosts(pair.good, pair.bad, role_of(desk.settings))
        return good, pair.bad, changes
    good, bad = aligned(pair.good, pair.bad)
    return good, bad, compare(good, bad)


def moved_heads(changes: Iterable[Change]) -> list[tuple[str, str]]:
    """Return the HEADs of each checkout that moved, good and bad."""
    return [(one.good.value, one.bad.value) for one in changes if matches(one.path, ("git/*/head",)) and isinstance(one.good, Known)
            and isinstance(one.bad, Known) and isinstance(one.good.value, str) and isinstance(one.bad.value, str)]


def _check(question: Question) -> None:
    if question.klass is not None and question.klass not in SYMPTOM_CLASSES:
        raise UsageFault(f"--symptom {question.klass}: there is no such class", do=f"one of: {', '.join(SYMPTOM_CLASSES)}")
    if question.repo is not None and not is_folder(question.repo):
        raise UsageFault(f"--repo {question.repo}: no such folder", do="name the folder of a clone: --repo DIR")
    if not all(one.strip() for one in question.ask):
        raise UsageFault("--ask names nothing", do="a package, an argument, a variable, driver, nccl ...: --ask torch")


def _shown(question: Question, bad: Snapshot, desk: Desk) -> Shown:
    """Return how the failure shows: by the log, the pasted error, the user's word, or the snapshot. A class that was named wins."""
    if question.log is not None:
        found = _of_log(question.log, desk)
    elif question.error is not None:
        known = classify(question.error)
        guess = None if known is not None else remarked(question.error)
        if known is None:
            desk.say(f"note: the text of --error shows no failure that is known{_taken(guess)}")
        line = Symptom(None if guess is None else guess.klass, Redactor().text(question.error.strip())[:LONGEST_SIGNATURE])
        found = Shown(known or line, "error", Redactor().text(trace_of(question.error)))
    elif question.klass is None:
        found = Shown(bad.symptom or of_snapshot(bad), "snapshot")
    else:
        found = Shown(None, "user")
    if question.klass is not None:
        found = replace(found, symptom=replace(found.symptom or Symptom(), klass=question.klass))
    return found if found.symptom is not None else Shown(trace=found.trace)


def _of_log(path: str, desk: Desk) -> Shown:
    text = condense(log_chunks(path)).text
    found = classify(text)
    if found is None:
        found = remarked(last_run(text))
        desk.say(f"note: {path} shows no failure that is known{_taken(found)}")
    return Shown(None if found is None else replace(found, log=path), "log", Redactor().text(trace_of(text)))


def _taken(guess: Symptom | None) -> str:
    return f"; what it tells fits {guess.klass}, which --symptom replaces" if guess is not None and guess.klass else ""
