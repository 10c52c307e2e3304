"""An explanation as plain text for a terminal: sides, verdict, suspects, ruled out, not checked, other changes, counts. Only lays out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from driftwatch.compare.change import Change
from driftwatch.explain.explanation import Event, Explanation, NotChecked, RuledOut, Side, Subject, Sum, Suspect, Term
from driftwatch.explain.words import count
from driftwatch.report import words
from driftwatch.report.page import Page, measure, pad

WORD_STYLE = MappingProxyType({"LIKELY": "verdict", "SEVERAL": "verdict", "DRIFT": "warn", "SAME": "same", "UNKNOWN": "warn"})
MARK_STYLE = MappingProxyType({"~": "unknown", "+": "good", "-": "bad", "!": "bad", "=": "good", "?": "unknown"})
SHOWN_SUSPECTS = 5
SHOWN_RULED_OUT = 12
SHOWN_CHANGES = 5
LABEL_COLUMNS = 24
PATH_COLUMNS = 36
LEAST_TEXT = 24
_FACTS = re.compile(r", (\d+) facts?$")
MORE = "more: --all · --format html -o diff.html · --format markdown"


def render(explanation: Explanation, page: Page, *, all_changes: bool = False, is_brief: bool = False, has_weights: bool = False) -> str:
    """Return the whole report, ending with one line feed; with ``all_changes`` every suspect and every change, folded ones too.

    ``is_brief``: only the verdict and a line for each suspect, nothing at all for SAME. ``has_weights``: each suspect's confidence and each term's weight.
    """
    if is_brief:
        return _brief(explanation, page)
    shown = _with_weights(explanation) if has_weights else explanation
    sections = (
        ("ASKED", _asked(explanation, page)),
        ("SUSPECTS", _suspects(shown.suspects, page, is_whole=all_changes)),
        ("RULED OUT", _ruled_out(explanation.ruled_out, page, is_whole=all_changes)),
        ("NOT CHECKED", _not_checked(explanation.not_checked, page, is_whole=all_changes)),
        ("OTHER CHANGES", _other_changes(explanation, page, is_whole=all_changes)),
        ("STANDING GAPS", _standing_gaps(explanation.standing_gaps, page) if all_changes else []),
    )
    lines = [*_sides(explanation, page), "", *_verdict(explanation, page)]
    for title, body in sections:
        if body:
            lines += ["", page.paint("head", title), *body]
    lines += ["", *page.wrap(words.say_counts(explanation), "", "")]
    if not all_changes:
        lines += _gaps_in_short(explanation, page)
        lines.append(page.paint("dim", page.say(MORE)))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _brief(explanation: Explanation, page: Page) -> str:
    """Return the findings alone: the verdict, and what is blamed; an empty text where there is none."""
    if explanation.word == "SAME":
        return ""
    lines = _verdict(explanation, page)
    for rank, suspect in enumerate(explanation.suspects[:SHOWN_SUSPECTS], 1):
        lines += page.wrap(_heading(suspect), f"{rank:>2} {suspect.strength:<7}", " " * 10)
    return "".join(line.rstrip() + "\n" for line in lines)


def _with_weights(explanation: Explanation) -> Explanation:
    """Return the explanation with its numbers in the sentences: a suspect's confidence, and the log-odds of each term."""
    suspects = []
    for one in explanation.suspects:
        terms = tuple(replace(term, says=f"{term.says} ({term.weight:+.2f})") for term in one.because)
        prior = Term(f"before any evidence ({one.prior:+.2f}); all together a confidence of {one.confidence:.3f}", 0.0)
        suspects.append(replace(one, because=(*terms, prior)))
    return replace(explanation, suspects=tuple(suspects))


def _sides(explanation: Explanation, page: Page) -> list[str]:
    sides = (("good", explanation.good), ("bad", explanation.bad))
    columns = max(measure(page.say(side.ref)) for _, side in sides)
    return [line for label, side in sides for line in _side(label, side, columns, page)]


def _side(label: str, side: Side, columns: int, page: Page) -> list[str]:
    taken_at = page.say(words.say_time(side.taken_at))
    lead = f"{label:<5}{pad(page.say(side.ref), columns)}  {taken_at}  "
    if measure(lead) > page.room - LEAST_TEXT:
        rows = page.wrap(f"{side.ref} {words.say_time(side.taken_at)} {words.say_side(side)}", f"{label:<5}", " " * 5)
    else:
        rows = page.wrap(words.say_side(side), lead, " " * (measure(lead) if measure(lead) <= page.room // 2 else 5))
    return _painted(rows, label, 0, 5, page)


def _verdict(explanation: Explanation, page: Page) -> list[str]:
    """Return the word and its sentence, and whatever else makes the good side doubtful besides what the sentence tells."""
    rows = page.wrap(explanation.verdict, f"{explanation.word:<9}", " " * 9)
    for doubt in explanation.doubts[1:]:
        rows += page.wrap(f"also: {doubt}", " " * 9, " " * 9)
    return _painted(rows, WORD_STYLE[explanation.word], 0, 9, page)


def _painted(rows: list[str], style: str, start: int, end: int, page: Page) -> list[str]:
    """Return the rows with columns ``start`` to ``end`` of the first in a style."""
    first = rows[0]
    return [first[:start] + page.paint(style, first[start:end]) + first[end:], *rows[1:]]


def _asked(explanation: Explanation, page: Page) -> list[str]:
    """Return what became of each hypothesis that was named, with its mark, and how an open one can be settled."""
    lines: list[str] = []
    for one in explanation.asked:
        mark, told = words.say_asked(one, len(explanation.suspects))
        lines += _painted(page.wrap(told, f" {mark} ", " " * 5), MARK_STYLE[mark], 1, 2, page) + _settling(one.settle, page)
    return lines


def _suspects(suspects: Sequence[Suspect], page: Page, *, is_whole: bool) -> list[str]:
    shown = suspects if is_whole else suspects[:SHOWN_SUSPECTS]
    lines = [line for rank, one in enumerate(shown, 1) for line in ["", *_suspect(rank, one, page)]][1:]
    rest = len(suspects) - len(shown)
    return lines + (["", *page.wrap(f"and {count(rest, 'more suspect')}, none of them stronger: --all", " " * 10, " " * 10)] if rest else [])


def suspect_lines(rank: int, suspect: Suspect, page: Page) -> list[str]:
    """Return one suspect as it is drawn here, for reports about many hosts."""
    return _suspect(rank, suspect, page)


def _suspect(rank: int, suspect: Suspect, page: Page) -> list[str]:
    heading = page.wrap(_heading(suspect), f"{rank:>2} {suspect.strength:<7}", " " * 10)
    lines = [page.paint("head", row) for row in heading]
    if suspect.sum is not None:
        lines += _sum(suspect.sum, page)
    for term in suspect.because:
        lines += _painted(page.wrap(term.says, f"{'':10}{term.sign} ", " " * 12), MARK_STYLE[term.sign], 10, 11, page)
    if suspect.carrier:
        carrier = suspect.carrier if suspect.carrier.startswith("came with") else f"came with: {suspect.carrier}"
        lines += [page.paint("dim", row) for row in page.wrap(carrier, " " * 12, " " * 14)]
    for command in suspect.commands:
        lines += page.command(command.label, command.run, command.note, 10)
    return lines


def _heading(suspect: Suspect) -> str:
    """Return what is blamed and both values."""
    fact, *change = words.say_sides(suspect)
    return "  ".join(filter(None, (f"{suspect.layer}: {fact}" if suspect.layer else fact, " ".join(filter(None, change)))))


def _sum(work: Sum, page: Page) -> list[str]:
    rows = [(page.say(formula), page.say(outcome), page.say(remark)) for formula, outcome, remark in work.rows]
    left = max((measure(formula) for formula, _, _ in rows), default=0)
    right = max((measure(outcome) for _, outcome, _ in rows), default=0)
    lines: list[str] = []
    for formula, outcome, remark in rows:
        row = f"{'':12}{pad(formula, left)} = {' ' * (right - measure(outcome))}{outcome}  {remark}".rstrip()
        is_short = outcome.startswith(("\N{MINUS SIGN}", "-"))
        if measure(row) > page.room:
            lines += page.wrap(f"{formula} = {outcome} {remark}", " " * 12, " " * 14)
        else:
            lines += _painted([row], "bad" if is_short else "good", 12 + len(pad(formula, left)) + 3, len(row) - len(remark), page)
    return lines + [page.paint("dim", row) for row in page.wrap(work.caption, " " * 12, " " * 12)]


def _ruled_out(ruled_out: Sequence[RuledOut], page: Page, *, is_whole: bool) -> list[str]:
    shown = ruled_out if is_whole else ruled_out[:SHOWN_RULED_OUT]
    labels = [page.say(words.say_subject(one.subject)) for one in shown]
    columns = min(LABEL_COLUMNS, page.room // 3, max((measure(label) for label in labels), default=0))
    lines: list[str] = []
    for label, one in zip(labels, shown, strict=True):
        if measure(label) > columns:
            rows = [*page.wrap(label, " = ", " " * 5), *page.wrap(one.because, " " * (columns + 5), " " * (columns + 5))]
        else:
            rows = page.wrap(one.because, f" = {pad(label, columns)}  ", " " * (columns + 5))
        lines += _painted(rows, "good", 1, 2, page)
    rest = len(ruled_out) - len(shown)
    return lines + (page.wrap(f"and {rest:,} more: --all", " " * 3, " " * 3) if rest else [])


def _not_checked(not_checked: Sequence[NotChecked], page: Page, *, is_whole: bool) -> list[str]:
    """Return the open questions, those that matter first; several that do not matter here share one entry, except in a whole report."""
    idle = [one for one in not_checked if not one.matters]
    is_short = len(idle) > 1 and not is_whole
    lines: list[str] = []
    for one, *alike in _alike([*(one for one in not_checked if one.matters), *([] if is_short else idle)]):
        said = ", ".join([*(words.say_subject(other.subject) for other in alike), words.say_unanswered(one)])
        lines += _painted(page.wrap(said, " ? ", " " * 5), "unknown", 1, 2, page)
        for sentence in filter(None, (one.detail, words.say_weight(one))):
            lines += page.wrap(sentence, " " * 5, " " * 5)
        lines += _settling(one.settle, page)
    if is_short:
        names = ", ".join(dict.fromkeys(words.say_subject(one.subject) for one in idle))
        lines += _painted(page.wrap(f"{len(idle)} that do not matter here: {names}; --all says why", " ? ", " " * 5), "unknown", 1, 2, page)
    return lines


def _alike(entries: Sequence[NotChecked]) -> list[list[NotChecked]]:
    """Return the entries, those that say the same of different subjects together: the last of them first, since its words close the line."""
    found: dict[NotChecked, list[NotChecked]] = {}
    for entry in entries:
        found.setdefault(replace(entry, subject=Subject("probe", "")), []).append(entry)
    return [[group[-1], *group[:-1]] for group in found.values()]


def _other_changes(explanation: Explanation, page: Page, *, is_whole: bool) -> list[str]:
    return [line for event in (*explanation.events, *words.alone(explanation, is_whole=is_whole)) for line in _event(event, page, is_whole=is_whole)]


def _event(event: Event, page: Page, *, is_whole: bool) -> list[str]:
    """Return an event's title with its count, and at most five of its changes; folded ones only in a whole report or where all are."""
    plain = [change for change in event.changes if not change.is_folded]
    counted = plain or list(event.changes)
    shown = list(event.changes) if is_whole else plain[:SHOWN_CHANGES]
    lead = f"{len(counted):>4}  "
    lines = _painted(page.wrap(event.title, lead, " " * 6), "head", 0, len(lead), page)
    columns = min(PATH_COLUMNS, page.room * 9 // 20, max((measure(page.say(words.say_path(change.path))) for change in shown), default=0))
    for change in shown:
        lines += _change(change, columns, page)
    if plain and len(shown) < len(plain):
        lines += page.wrap(f"and {len(plain) - len(shown):,} more: --all", " " * 6, " " * 6)
    return lines


def _change(change: Change, columns: int, page: Page) -> list[str]:
    mark = words.MARKS[change.kind]
    good, bad = words.say_answer(change.good, change.path), words.say_answer(change.bad, change.path)
    value = change.detail or {"+": bad, "-": good}.get(mark, f"{good} → {bad}")
    path = page.say(words.say_path(change.path))
    if measure(path) > columns or measure(page.say(value)) > page.room - columns - 10:
        rows = page.wrap(f"{words.say_path(change.path)}  {value}", f"      {mark} ", " " * 10)
    else:
        rows = page.wrap(value, f"      {mark} {pad(path, columns)}  ", " " * (columns + 10))
    return _painted(rows, MARK_STYLE[mark], 6, 7, page)


def _standing_gaps(gaps: Sequence[tuple[str, str]], page: Page) -> list[str]:
    """Return what neither side could tell for the same reason, one entry for each command that would close some of them."""
    by_command: dict[str, list[str]] = {}
    for what, command in gaps:
        by_command.setdefault(command, []).append(what)
    lines: list[str] = []
    for command, whats in by_command.items():
        for what in whats:
            lines += page.wrap(what, "   ", " " * 5)
        lines += _settling(command, page)
    return lines


def _gaps_in_short(explanation: Explanation, page: Page) -> list[str]:
    """Return the gaps by name, with the one command that would close them: they hide nothing that changed."""
    if not explanation.standing_gaps:
        return []
    names = ", ".join(_FACTS.sub(r" (\1)", what.partition(": ")[0]) for what, _ in explanation.standing_gaps)
    return [*page.wrap(f"gaps: {names}; no answer on either side, for the same reason", "", " " * 6), *_settling(explanation.gaps_settle, page)]


def _settling(command: str, page: Page) -> list[str]:
    """Return the command that would answer an open question: one that asks a probe again, or one to look by oneself; nothing for none."""
    return page.command("retry" if "driftwatch snapshot" in command else "look", command, "", 5) if command else []
