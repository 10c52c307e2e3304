"""A hypothesis put to the test: was it this? A suspect with its rank, ruled out with the proof, or not checked with the reason. Nothing is guessed.

A name is matched loosely: ``sgl_kernel``, ``--mem-fraction-static``, ``nccl`` for nvidia-nccl-cu12, ``driver``. What the explanation already says of it
counts; else the facts do. A question without an answer rules nothing out, and a word that nothing was told of is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from driftwatch.explain import settle
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Asked, Explanation, NotChecked, Subject
from driftwatch.explain.families import package_family
from driftwatch.explain.kind_words import KINDS, Kind
from driftwatch.explain.verdict import said
from driftwatch.explain.words import count, listed, moved, show
from driftwatch.model import Known, Unknown, matches

MOST = 5
_ASKING = re.compile(r"^(?:(?:was|is|could|can|may) it (?:be )?|because of |(?:the|a|an|package|variable|argument|option|file) )+", re.IGNORECASE)
_RENAMED = {"sgl-kernel": "sglang-kernel"}
_LEAST = 6  # characters of the beginning of an argument's name
_ABSENT = {"env-var": "unset", "launch-arg": "not given", "package": "not installed"}
_FLEETING = "all that is told of it changes by itself, so that it proves nothing"
_NOT_TOLD = "nothing of this name was told on either side: no package, variable, argument, file or device"


def answers(case: Case, explanation: Explanation, asked: Sequence[str]) -> tuple[Asked, ...]:
    """Return the answers to hypotheses in their order, at most five for each: one word may mean several things."""
    return tuple(one for words in asked for one in _answer(case, explanation, words))


def _answer(case: Case, explanation: Explanation, words: str) -> list[Asked]:
    """Return what the explanation says of what is meant, else what the facts say; a whole kind is ruled out only by all its facts."""
    name = _ASKING.sub("", words.strip().rstrip("?").strip()) or words
    kind = KINDS.get(_flat(name))
    told = list(_of_subjects(explanation, words, name, kind))
    if told and (kind is None or any(one.answer != "ruled_out" for one in told)):
        return told[:MOST]
    by_facts = _of_facts(case, words, name, kind)
    return told[:MOST] if told and (by_facts.answer == "ruled_out" or by_facts.because == _FLEETING) else [by_facts]


def _of_subjects(explanation: Explanation, words: str, name: str, kind: Kind | None) -> Iterator[Asked]:
    """Yield what the explanation says of the subjects that a name can mean: suspects first, then what is open."""
    for rank, one in enumerate(explanation.suspects, 1):
        if _means(name, kind, one.subject):
            facts = tuple(dict.fromkeys(path for term in one.because for path in term.facts))
            yield Asked(words, "suspect", one.subject, said(one), rank, one.confidence, facts=facts)
    for entry in explanation.not_checked:
        if _means(name, kind, entry.subject):
            yield Asked(words, "not_checked", entry.subject, _why_open(entry), settle=entry.settle)
    for ruled_out in explanation.ruled_out:
        if _means(name, kind, ruled_out.subject):
            yield Asked(words, "ruled_out", ruled_out.subject, ruled_out.because, facts=ruled_out.facts)


def _why_open(entry: NotChecked) -> str:
    side = "" if entry.side == "both" else f" on the {entry.side} side"
    return f"{entry.status.replace('_', ' ')}{side}: {entry.reason}"


def _means(name: str, kind: Kind | None, subject: Subject) -> bool:
    """Tell whether a name can mean a subject: by its kind, by its own name, or as a whole word of it."""
    if kind is not None:
        return subject.kind in kind.subjects
    if subject.kind == "package":
        return bool(_cores(name) & _cores(subject.name))
    return _is_within(_flat(name), _flat(subject.name), is_argument=subject.kind == "launch-arg")


def _is_within(wanted: str, own: str, *, is_argument: bool) -> bool:
    """Tell whether a name is a whole word of another; of an argument its beginning will do: ``mem-fraction``."""
    after = r"(?![a-z0-9])" if is_argument and len(wanted) >= _LEAST else r"(?![a-z0-9-])"
    return len(wanted) > 1 and re.search(rf"(?<![a-z0-9-]){re.escape(wanted)}{after}", own) is not None


def _flat(text: str) -> str:
    return re.sub(r"[_\s]+", lambda found: " " if found.group().isspace() else "-", text.strip().lstrip("-")).lower()


def _cores(name: str) -> set[str]:
    """Return the names under which a distribution is known: ``nccl`` for ``nvidia-nccl-cu12``, both names of a renamed one."""
    own = re.sub(r"[-_.\s]+", "-", name.strip().lstrip("-")).lower()
    bare = re.sub(r"-(?:python|cu\d+|cubin|jit-cache)$", "", re.sub(r"^(?:nvidia|apache|pytorch)-", "", own))
    return {own, bare, _RENAMED.get(own, own)}


def _of_facts(case: Case, words: str, name: str, kind: Kind | None) -> Asked:
    """Return what the facts say of a thing that the explanation does not name."""
    paths, is_fleeting = _paths(case, name, kind)
    subject = _subject(name, kind, paths)
    differing = [change for change in case.seen if change.path in paths]
    if differing:
        told = listed((f"{change.path} {change.detail or moved(_value(change.good), _value(change.bad))}" for change in differing), 3)
        return Asked(words, "suspect", subject, f"it differs, but no rule speaks for it: {told}", facts=tuple(change.path for change in differing))
    asked = [*paths, *(glob.replace("*", "_") for glob in (kind.globs if kind is not None else ()))]
    open_ = next(((side, path, found) for path in asked for side in SIDES if isinstance(found := case.side(side).get(path), Unknown)), None)
    if open_ is not None:
        return _not_checked(case, words, subject, open_)
    if is_fleeting or not asked:
        return Asked(words, "not_checked", subject, _FLEETING if is_fleeting else _NOT_TOLD, settle="driftwatch probes")
    return Asked(words, "ruled_out", subject, _equal(case, subject, paths), facts=tuple(paths or asked))


def _value(answer: Known | Unknown) -> object:
    return answer.value if isinstance(answer, Known) else f"? ({answer.status})"


def _not_checked(case: Case, words: str, subject: Subject, open_: tuple[SideName, str, Unknown]) -> Asked:
    side, path, found = open_
    snapshot = case.side(side)
    owner = snapshot.owner(path)
    run = settle.command_for(case, settle.Question(owner, found.status, side, found.reason)) if owner is not None else ""
    reason = f"{found.status.replace('_', ' ')} on the {side} side: {found.reason or path}"
    return Asked(words, "not_checked", subject, reason, settle=run or "driftwatch probes", facts=(path,))


def _equal(case: Case, subject: Subject, paths: Sequence[str]) -> str:
    """Return the proof that a thing is the same: its value where there is one, else how many facts are equal."""
    lead = next((path for path in paths if path.endswith("/version")), paths[0] if paths else "")
    value = case.value("bad", lead) if lead else None
    if value is None and len(paths) <= 1:
        return f"{_ABSENT.get(subject.kind, 'there is none')} on either side"
    if len(paths) == 1 or lead.endswith("/version"):
        more = f", and {count(len(paths) - 1, 'further fact')} equal" if len(paths) > 1 else ""
        return f"{show(value)} on both sides{more}"
    return f"{count(len(paths), 'fact')} read on both sides, all equal"


def _paths(case: Case, name: str, kind: Kind | None) -> tuple[list[str], bool]:
    """Return the lasting facts that a name can mean, on either side, sorted; and whether all that was told of it changes by itself."""
    every = dict.fromkeys(path for side in SIDES for path in case.side(side).facts)
    if kind is not None:
        found = [path for path in every if matches(path, kind.globs)]
    else:
        cores, flat = _cores(name), _flat(name)
        found = [path for path in every if _is_named(path, cores, flat)] or _surely_meant(case, name) or [path for path in every if _is_part(path, flat)]
    lasting = sorted(path for path in found if not any(case.side(side).is_volatile(path) for side in SIDES))
    return lasting, bool(found) and not lasting


def _is_named(path: str, cores: set[str], flat: str) -> bool:
    """Tell whether a fact is of a distribution, a variable or an argument of that name."""
    parts = path.split("/")
    if parts[0] == "packages":
        return len(parts) == 3 and parts[2] in ("version", "record", "text_version", "build") and bool(cores & _cores(parts[1]))
    if parts[0] == "servers":
        is_argument = len(parts) > 3 and parts[-2] in ("args", "given")
        return (is_argument or parts[-2] == "env") and _is_within(flat, _flat(parts[-1]), is_argument=is_argument)
    return parts[0] == "env" and _flat(parts[-1]) == flat


def _is_part(path: str, flat: str) -> bool:
    """Tell whether a part of a fact's path is that name, or a file of that name."""
    names = [_flat(part.replace("%2F", "/")) for part in path.split("/")[1:]]
    return any(flat in (own, own.rsplit("/", 1)[-1]) for own in names)


def _surely_meant(case: Case, name: str) -> list[str]:
    """Return the facts that a name surely means though nobody told them: an argument, a variable, or a distribution of the field."""
    tops = [f"servers/{server}" for server in case.families("servers")]
    own = _flat(name)
    if name.startswith("--"):
        return [f"{top}/args/{own.replace('-', '_')}" for top in tops]
    if re.fullmatch(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", name):
        return [f"{top}/env/{name}" for top in tops] or [f"env/{name}"]
    return [f"packages/{own}/version"] if re.fullmatch(r"[a-z0-9][a-z0-9.-]*", own) and package_family(own) != "other" else []


def _subject(name: str, kind: Kind | None, paths: Sequence[str]) -> Subject:
    """Return what a name means, by the facts that were found; a thing that no fact is of goes by the word itself."""
    if kind is not None:
        return Subject(kind.subjects[0], name[:120])
    parts = paths[0].split("/") if paths else [""]
    if parts[0] == "packages":
        return Subject("package", parts[1])
    if parts[0] == "env" or (len(parts) > 3 and parts[-2] == "env"):
        return Subject("env-var", parts[-1][:120])
    if parts[0] == "servers" and len(parts) > 3 and parts[-2] in ("args", "given"):
        return Subject("launch-arg", parts[-1][:120])
    kinds = {"git": "git", "sources": "file", "mounts": "mount", "disks": "disk", "modules": "kernel-module", "services": "service", "gpus": "gpu"}
    return Subject(kinds.get(parts[0], "probe"), name[:120])
