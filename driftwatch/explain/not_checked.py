"""Questions without an answer, grouped so that a reader can act: what, on which side, why, whether it could hide a suspect, and what would settle it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from driftwatch.compare.change import Change
from driftwatch.compare.gaps import Gap, standing_gaps
from driftwatch.explain import settle
from driftwatch.explain.case import SIDES, Case, SideName, overlaps
from driftwatch.explain.explanation import NotChecked, Subject
from driftwatch.explain.rule import Rule
from driftwatch.explain.weights import COULD_HIDE, prior
from driftwatch.explain.words import count, listed, shorten
from driftwatch.model import Unknown, plain
from driftwatch.other_names import asker_of, probe_of

STANDING = ("denied", "not_recorded", "absent")  # open on both sides for such a reason: nobody can have closed it in between
MOST = 20
_MOST_BY_NAME = 3
_OF = ": "
_NAMED = {"packages": "package", "env": "env-var", "mounts": "mount", "disks": "mount", "services": "service", "containers": "container"}
_SERVER_PARTS = {"env": "environment", "given": "command line", "args": "resolved arguments", "libraries": "mapped libraries", "limits": "limits", "log": "log"}


@dataclass(frozen=True)
class _Open:
    """One open question: its place, the probe that it belongs to, and on which side it is open."""

    path: str
    probe: str
    subject: Subject
    status: str
    side: str
    reason: str


def not_checked(case: Case, rules: Sequence[Rule]) -> tuple[NotChecked, ...]:
    """Return the open questions of this pair, the ones that could hide a suspect first; what stands open for good is left to ``standing``.

    A side that was not reached at all is one question.
    """
    if silent := [entry for side in SIDES if (entry := _unreached(case, side)) is not None]:
        return tuple(silent)
    groups: dict[tuple[str, str, str], list[_Open]] = {}
    for one in (*_from_changes(case), *_from_gaps(case, rules), *_never_asked(case, rules)):
        groups.setdefault((one.probe, one.status, one.side), []).append(one)
    entries = [entry for group in groups.values() for entry in _entries(case, rules, group)]
    return tuple(sorted(_merged(entries), key=lambda entry: (not entry.matters, entry.status == "not_recorded", entry.subject.kind, entry.subject.name))[:MOST])


def why_unreached(case: Case, side: SideName) -> str:
    """Return why a side told nothing at all, "" where it told something or was not asked."""
    snapshot = case.side(side)
    asked = [one for one in snapshot.probes.values() if not (one.status == "not_recorded" and one.reason.startswith("not asked"))]
    return asked[0].reason or "lost" if asked and not snapshot.facts and all(one.status == "lost" for one in asked) else ""


def _unreached(case: Case, side: SideName) -> NotChecked | None:
    why = why_unreached(case, side)
    question = settle.Question("", "lost", side, why)
    return NotChecked(Subject("probe", "every probe"), "lost", side, why, settle.command_for(case, question)) if why else None


def standing(case: Case, rules: Sequence[Rule]) -> tuple[tuple[str, str], ...]:
    """Return what neither side tells for the same lasting reason, as (what, the command that would close it)."""
    found: dict[tuple[str, str], list[Gap]] = {}
    for gap in standing_gaps(case.good, case.bad):
        if _is_standing(case, rules, gap) and not gap.reason.startswith("not asked"):
            found.setdefault((_probe(case, gap.path), gap.status), []).append(gap)
    return tuple(
        (_gap_in_words(probe, status, gaps), settle.command_for(case, settle.Question(probe, status, "bad", gaps[0].reason)))
        for (probe, status), gaps in sorted(found.items())
    )


def closing(case: Case, rules: Sequence[Rule]) -> str:
    """Return one command that would close all standing gaps, or ""."""
    gaps = [gap for gap in standing_gaps(case.good, case.bad) if _is_standing(case, rules, gap) and not gap.reason.startswith("not asked")]
    probes = sorted({_probe(case, gap.path) for gap in gaps})
    return settle.command_for_all(case, probes, is_denied=any(gap.status == "denied" for gap in gaps)) if probes else ""


def is_lasting(entry: NotChecked) -> bool:
    """Tell whether an entry is open on both sides for good."""
    return entry.side == "both" and entry.status in STANDING


def is_worrying(entry: NotChecked) -> bool:
    """Tell whether an entry is a reason to say UNKNOWN: it could hide a suspect, and it is not open on both sides for good, or the error names it."""
    return entry.matters and (entry.is_named or not is_lasting(entry))


def _gap_in_words(probe: str, status: str, gaps: list[Gap]) -> str:
    what = probe if len(gaps) == 1 and gaps[0].path == f"probes/{probe}" else f"{probe}, {count(len(gaps), 'fact')}"
    return f"{what}: {status.replace('_', ' ')} on both sides{' (' + shorten(gaps[0].reason, 90) + ')' if gaps[0].reason else ''}"


def _from_changes(case: Case) -> Iterator[_Open]:
    for change in case.changes:
        if change.kind == "unknown" and not change.is_folded:
            yield _opened(case, change)


def _opened(case: Case, change: Change) -> _Open:
    good, bad = change.good, change.bad
    found = bad if isinstance(bad, Unknown) else good
    side = "both" if isinstance(good, Unknown) and isinstance(bad, Unknown) else "bad" if isinstance(bad, Unknown) else "good"
    status, reason = (found.status, found.reason) if isinstance(found, Unknown) else ("error", "")
    return _Open(change.path, _probe(case, change.path), _subject(case, change.path), status, side, reason)


def _from_gaps(case: Case, rules: Sequence[Rule]) -> Iterator[_Open]:
    """Yield what failed on both sides in the same way: no change, but no lasting gap either."""
    return (_of_gap(case, gap) for gap in standing_gaps(case.good, case.bad) if not _is_standing(case, rules, gap))


def _of_gap(case: Case, gap: Gap) -> _Open:
    return _Open(gap.path, _probe(case, gap.path), _subject(case, gap.path), gap.status, "both", gap.reason)


def _is_standing(case: Case, rules: Sequence[Rule], gap: Gap) -> bool:
    """Tell whether a gap is only counted: it lasts, or it is a single fact that failed alike on both sides and could hide no suspect."""
    return gap.status in STANDING or (not gap.path.startswith("probes/") and not _could_hide(case, rules, _of_gap(case, gap)))


def _never_asked(case: Case, rules: Sequence[Rule]) -> Iterator[_Open]:
    """Yield what rules need and no probe of either side was asked: two pasted dumps, or two partial snapshots."""
    for rule in rules:
        for need in (*rule.needs, *rule.needs_bad):
            glob = need.split("|")[0]
            is_open = all(case.unanswered(side, one) is not None for side in SIDES for one in need.split("|"))
            if is_open and not any(_has_teller(case, side, glob) for side in SIDES):
                probe = probe_of(glob)
                yield _Open(glob, probe, Subject("probe", probe), "not_recorded", "both", "neither side tells it")


def _has_teller(case: Case, side: SideName, glob: str) -> bool:
    return case.side(side).owner(glob.replace("*", "_")) is not None


def _probe(case: Case, path: str) -> str:
    if path.startswith("probes/"):
        return path.removeprefix("probes/")
    return asker_of(case.bad.owner(path) or case.good.owner(path), path)


def _subject(case: Case, path: str) -> Subject:
    """Return what a reader calls the thing at a path; the probe that it belongs to where it has no name of its own."""
    parts = path.split("/")
    if parts[0] in _NAMED and len(parts) > 1 and parts[1].strip():
        return Subject(_NAMED[parts[0]], plain(parts[1]))
    if parts[0] == "driver":
        return Subject("driver", "NVIDIA driver")
    if parts[0] == "servers" and len(parts) > 2 and parts[2] in ("env", "args"):
        return Subject("env-var", f"environment of {parts[1]}") if parts[2] == "env" else Subject("launch-arg", f"launch arguments of {parts[1]}")
    return Subject("probe", _probe(case, path))


def _entries(case: Case, rules: Sequence[Rule], group: list[_Open]) -> Iterator[NotChecked]:
    """Yield one entry for each subject of a group, or one for the whole probe where they are many or share one reason."""
    by_subject: dict[Subject, list[_Open]] = {}
    for one in group:
        by_subject.setdefault(one.subject, []).append(one)
    has_own_names = all(subject.kind == "package" for subject in by_subject) and len(by_subject) <= _MOST_BY_NAME
    share_one_reason = len({one.reason for one in group}) == 1 and len(by_subject) > 1
    if not has_own_names and (len(by_subject) > _MOST_BY_NAME or share_one_reason):
        by_subject = {Subject("probe", group[0].probe): group}
    for subject, opened in by_subject.items():
        yield _entry(case, rules, subject, opened)


def _entry(case: Case, rules: Sequence[Rule], subject: Subject, opened: list[_Open]) -> NotChecked:
    first = opened[0]
    side: SideName = "good" if first.side == "good" else "bad"
    matter = any(_could_hide(case, rules, one) for one in opened)
    told: Literal["good", "bad", "both"] = side if first.side != "both" else "both"
    run = settle.command_for(case, settle.Question(first.probe, first.status, side, first.reason))
    more = settle.detail(case, first.probe, side, is_probe=first.path.startswith("probes/"))
    return NotChecked(subject, first.status, told, _reason(subject, opened), run, matter, more)


def _reason(subject: Subject, opened: list[_Open]) -> str:
    reason = opened[0].reason or opened[0].status.replace("_", " ")
    if any(one.path.startswith("probes/") for one in opened):
        return reason
    names = dict.fromkeys(_fact_in_words(one, subject) for one in opened if one.path != one.probe)
    return f"{listed(names)}{_OF}{reason}" if names else reason


def _fact_in_words(one: _Open, subject: Subject) -> str:
    """Return a short name of a fact: what a server's part is, or the end of its path."""
    parts = one.path.split("/")
    if parts[0] == "servers" and parts[-1] in _SERVER_PARTS:
        return _SERVER_PARTS[parts[-1]]
    return plain("/".join(parts[2:] if subject.kind in ("package", "mount", "service", "container") else parts[-2:]) or parts[0])


def _could_hide(case: Case, rules: Sequence[Rule], one: _Open) -> bool:
    """Tell whether a rule that needs what is open could have brought up a kind that this symptom makes likely enough."""
    sides: tuple[SideName, ...] = SIDES if one.side == "both" else ("good",) if one.side == "good" else ("bad",)
    globs = _globs(case, one)
    for rule in rules:
        likely = case.klass is None or any(prior(kind, case.klass) >= COULD_HIDE for kind in rule.blames)
        if likely and any(_is_needed(case, need, globs, side) for need in (*rule.needs, *rule.needs_bad) for side in sides):
            return True
    return False


def _globs(case: Case, one: _Open) -> tuple[str, ...]:
    if not one.path.startswith("probes/"):
        return (one.path,)
    results = [side.probes[one.probe] for side in (case.bad, case.good) if one.probe in side.probes]
    return next((result.tells for result in results if result.tells), (one.probe,))


def _is_needed(case: Case, need: str, globs: Iterable[str], side: SideName) -> bool:
    """Tell whether a need is touched by these globs and not met by an alternative of its own."""
    alternatives = need.split("|")
    if not any(overlaps(alternative.split("/"), glob.split("/")) for alternative in alternatives for glob in globs):
        return False
    return len(alternatives) == 1 or any(case.unanswered(side, alternative) is not None for alternative in alternatives[:1])


def _merged(entries: list[NotChecked]) -> list[NotChecked]:
    """Return the entries with those of one subject put together: a thing that is open on each side for another reason is open on both."""
    found: dict[Subject, NotChecked] = {}
    for entry in entries:
        other = found.get(entry.subject)
        if other is None:
            found[entry.subject] = entry
            continue
        side = other.side if other.side == entry.side else "both"
        found[entry.subject] = replace(other, side=side, reason=shorten(_both_reasons(other.reason, entry.reason), 400), matters=other.matters or entry.matters)
    return list(found.values())


def _both_reasons(one: str, other: str) -> str:
    """Return two reasons as one: told once where they are the same, for whatever facts."""
    names, _, why = one.rpartition(_OF)
    more, _, why_more = other.rpartition(_OF)
    if why != why_more:
        return one if other in one else f"{one}; {other}"
    every = ", ".join(dict.fromkeys(filter(None, (*names.split(", "), *more.split(", ")))))
    return f"{every}{_OF}{why}" if every else why
