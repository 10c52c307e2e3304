"""An explanation as Markdown for an issue thread: the verdict in the open, long parts folded, nothing that pings, links or runs. Only lays out.

A forge refuses a text over 65,536 characters, so there is a budget: whole events are left out from the end and counted, suspects never.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from driftwatch.explain.explanation import Command, Event, Explanation, NotChecked, Side, Sum, Suspect
from driftwatch.explain.words import count
from driftwatch.report import words
from driftwatch.report.clean import clean
from driftwatch.report.page import Page, measure, pad

BUDGET = 60_000
LONGEST = 600
WHOLE_SUSPECTS = 5
SHOWN_CHANGES = 25
SIGNS = {"+": "for", "-": "against", "?": "open"}
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~$&!])")
_OPENING = re.compile(r"\A(\d{1,9}(?=[.)](?:\s|\Z))|(?=[-+#=]+(?:\s|\Z)))")
_TIES = re.compile(r"\S*(?:[@#]|://|\bGH-|www\.)\S*")


def render(explanation: Explanation, page: Page, *, all_changes: bool = False) -> str:  # noqa: ARG001  Markdown has no width
    """Return the report, shorter than 60,000 characters, ending with one line feed; with ``all_changes`` also folded changes and whole events."""
    head = [*_head(explanation), *_asked(explanation), *_suspects(explanation.suspects)]
    open_parts = [[line] for line in _not_checked([one for one in explanation.not_checked if one.matters])]
    tail = ["", f"<sub>driftwatch · {say(words.say_counts(explanation))}</sub>"]
    left = BUDGET - sum(len(line) + 1 for line in (*head, *tail)) - LONGEST
    lines = [*head, *_fitting(open_parts, left)]
    left -= sum(len(line) + 1 for line in lines[len(head):])
    return "\n".join([*lines, *_fitting(_folded(explanation, is_whole=all_changes), left), *tail]) + "\n"


def say(text: str) -> str:
    """Return a text of a host as one line that Markdown shows as it is: no markup, and no word that would ping somebody or link to an issue."""
    line = " ".join(clean(text).split())
    line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    parts, at = [], 0
    for found in _TIES.finditer(line):
        parts += [_MARKUP.sub(r"\\\1", line[at : found.start()]), code(found.group())]
        at = found.end()
    return _OPENING.sub(r"\1\\", "".join([*parts, _MARKUP.sub(r"\\\1", line[at:])]))


def code(text: str) -> str:
    """Return a text as a code span on one line, its blanks kept, whatever backticks it holds; ``(nothing)`` for none."""
    line = clean(text).strip()
    if not line:
        return "(nothing)"
    fence = "`" * (_longest_run(line) + 1)
    gap = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{gap}{line}{gap}{fence}"


def summary(text: str) -> str:
    """Return a text for the line that opens a folded part: there it is HTML, and a word that would ping or link is code."""
    words_of_it = " ".join(clean(text).split())[:LONGEST].split(" ")
    return " ".join(f"<code>{escape(word)}</code>" if _TIES.fullmatch(word) else escape(word) for word in words_of_it)


def cell(text: str) -> str:
    """Return a text as code for a cell of a table, where a bar must be escaped even in code."""
    if "\\|" in text:  # a backslash before the bar would undo the escape
        shown = clean(text).strip()
        return "<code>" + "".join(f"&#{ord(one)};" if one in "<>&|`\\@#" else one for one in shown) + "</code>"
    return code(text).replace("|", "\\|")


def fence(lines: Sequence[str], indent: str) -> list[str]:
    """Return lines as a block of code whose fence is longer than any run of backticks inside."""
    marks = "`" * max(3, max(map(_longest_run, lines), default=0) + 1)
    return [f"{indent}{marks}text", *(f"{indent}{line}" for line in lines), f"{indent}{marks}"]


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _head(explanation: Explanation) -> list[str]:
    doubts = [line for doubt in explanation.doubts[1:] for line in ("", f"also: {say(doubt)}")]
    rows = [_side(name, side) for name, side in (("working", explanation.good), ("broken", explanation.bad))]
    table = ["| | snapshot | taken | outcome | probes |", "|-|-|-|-|-|", *rows]
    return [f"**{explanation.word}** {say(explanation.verdict)}", *doubts, "", *table, ""]


def _side(name: str, side: Side) -> str:
    answered = f"{side.answered:,}/{side.planned:,}" if side.planned else ""
    digits = f" `{side.id.partition(':')[2][:10]}`" if side.id else ""
    return f"| {name} | {cell(side.ref)}{digits} | {say(words.say_time(side.taken_at))} | {say(words.say_side(side))} | {answered} |"


def _asked(explanation: Explanation) -> list[str]:
    lines = []
    for one in explanation.asked:
        mark, told = words.say_asked(one, len(explanation.suspects))
        lines.append(f"- `{mark}` {say(told)}{f': {code(one.settle)}' if one.settle else ''}")
    return ["### Asked", "", *lines, ""] if lines else []


def _suspects(suspects: Sequence[Suspect]) -> list[str]:
    """Return all suspects: the first five whole, the others on a line each."""
    lines = [line for rank, one in enumerate(suspects[:WHOLE_SUSPECTS], 1) for line in _suspect(rank, one)]
    lines += [_heading(rank, one) for rank, one in enumerate(suspects[WHOLE_SUSPECTS:], WHOLE_SUSPECTS + 1)]
    return ["### Suspects", "", *lines, ""] if lines else []


def _heading(rank: int, suspect: Suspect) -> str:
    what, good, sign, bad = words.say_sides(suspect)
    change = f" {code(good)} {sign} {code(bad)}" if sign else f" {code(bad)}" if bad else ""
    return f"{rank}. **{suspect.strength}** {say(suspect.layer)}: {code(what)}{change}"


def _suspect(rank: int, suspect: Suspect) -> Iterator[str]:
    indent = " " * len(f"{rank}. ")
    yield _heading(rank, suspect)
    if suspect.sum is not None:
        yield from fence(_sum(suspect.sum), indent)
    for term in suspect.because:
        yield f"{indent}- {SIGNS[term.sign]}: {say(term.says)}"
    if suspect.carrier:
        yield f"{indent}- {say(suspect.carrier if suspect.carrier.startswith('came with') else f'came with: {suspect.carrier}')}"
    for command in suspect.commands:
        yield f"{indent}- {_command(command)}"


def _sum(work: Sum) -> list[str]:
    rows = [[" ".join(clean(part).split("\n")) for part in row] for row in work.rows]
    left = max((measure(formula) for formula, _, _ in rows), default=0)
    right = max((measure(outcome) for _, outcome, _ in rows), default=0)
    lines = [f"{pad(formula, left)} = {' ' * (right - measure(outcome))}{outcome}  {remark}".rstrip() for formula, outcome, remark in rows]
    return [*lines, " ".join(clean(work.caption).split())]


def _command(command: Command) -> str:
    return f"{command.label}: {code(command.run)}{f' ({say(command.note)})' if command.note else ''}"


def _not_checked(entries: Sequence[NotChecked]) -> list[str]:
    return [f"### Not checked ({len(entries)})", "", *map(_open_question, entries), ""] if entries else []


def _open_question(one: NotChecked) -> str:
    detail = f"; {say(one.detail)}" if one.detail else ""
    settle = f"; settle: {code(one.settle)}" if one.settle else ""
    return f"- {say(words.say_unanswered(one))}{detail} — *{words.say_weight(one)}*{settle}"


def _folded(explanation: Explanation, *, is_whole: bool) -> Iterator[list[str]]:
    """Yield the parts that a reader opens, each whole, the most telling first."""
    idle = [one for one in explanation.not_checked if not one.matters]
    ruled_out = [f"- **{say(words.say_subject(one.subject))}**: {say(one.because)}" for one in explanation.ruled_out]
    gaps = [f"- {say(what)}{f': {code(command)}' if command else ''}" for what, command in explanation.standing_gaps]
    for title, lines in (("Ruled out", ruled_out), ("Not checked, and does not matter here", [*map(_open_question, idle)])):
        if lines:
            yield _fold(f"{title} ({len(lines)})", lines)
    for event in (*explanation.events, *words.alone(explanation, is_whole=is_whole)):
        yield _event(event, is_whole=is_whole)
    if gaps:
        yield _fold(f"No answer on either side, for the same reason ({len(gaps)})", gaps)


def _event(event: Event, *, is_whole: bool) -> list[str]:
    plain = [change for change in event.changes if not change.is_folded]
    counted = plain or list(event.changes)
    shown = list(event.changes) if is_whole else counted[:SHOWN_CHANGES]
    rows = ["| | fact | working | broken |", "|-|-|-|-|"]
    for change in shown:
        good, bad = (words.say_answer(one, change.path) for one in (change.good, change.bad))
        rows.append(f"| {words.MARKS[change.kind]} | {cell(words.say_path(change.path))} | {cell(good)} | {cell(bad)} |")
    rest = [] if is_whole or len(shown) == len(counted) else ["", f"and {len(counted) - len(shown):,} more"]
    return _fold(f"{len(counted):,} · {summary(event.title)}", [*rows, *rest])


def _fold(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _fitting(blocks: Iterable[list[str]], left: int) -> Iterator[str]:
    """Yield the lines of the blocks that fit into so many characters, in their order; from the first that does not, none, and how many those are."""
    dropped = 0
    for block in blocks:
        size = sum(len(line) + 1 for line in block)
        dropped += bool(dropped) or size > left
        if not dropped:
            left -= size
            yield from block
    if dropped:
        yield f"{count(dropped, 'more part')} did not fit into an issue: `--format json` or `--format html` has all of it."
        yield ""
