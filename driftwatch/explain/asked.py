"""A hypothesis put to the test: was it this? A suspect with its rank, ruled out with the proof, or not checked with the reason. Nothing is guessed.

A name is matched loosely: ``sgl_kernel``, ``--mem-fraction-static``, ``nccl`` for nvidia-nccl-cu12, ``driver``. What the explanation already says of it
counts; else the facts do. A question without an answer rules nothing out, and a word that nothing was told of is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from driftwatch.explain import settle
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Asked, Explanation, NotChecked, Subject, Suspect
from driftwatch.explain.families import package_family
from driftwatch.explain.kind_words import KINDS, Kind
from driftwatch.explain.verdict import said
from driftwatch.explain.weights import NOTABLE
from driftwatch.explain.words import count, listed, moved, show
from driftwatch.model import Known, Unknown, matches, plain

MOST = 5
_ASKING = re.compile(r"^(?:(?:was|is|could|can|may) it (?:be )?|because of |(?:the|a|an|package|variable|argument|option|file) )+", re.IGNORECASE)
_RENAMED = {"sgl-kernel": "sglang-kernel"}
_SHORTEST = 3  # characters of a word that is no plural
_WEIGHTY = 0.7  # log-odds
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
    told = [*_suspected(explanation, words, name, kind), *_of_others(explanation, words, name, kind)]
    if any(one.answer == "suspect" for one in told):
        told = [one for one in told if one.answer != "ruled_out" or _is_own_name(name, one.subject)]
    if told and (kind is None or any(one.answer != "ruled_out" for one in told)):
        return told[:MOST]
    by_facts = _of_facts(case, words, name, kind)
    doubt = next((one for one in explanation.doubts if _word_in(name, one)), "")
    if by_facts.answer == "ruled_out" and doubt:
        by_facts = replace(by_facts, answer="not_checked", because=f"equal on both sides, which proves nothing here: {doubt}")
    return told[:MOST] if told and (by_facts.answer == "ruled_out" or by_facts.because == _FLEETING) else [by_facts]


def _suspected(explanation: Explanation, words: str, name: str, kind: Kind | None) -> Iterator[Asked]:
    """Yield the suspects that a name can mean: by kind or name, else those whose evidence holds it as a word, unless it is a distribution's own name."""
    ranked = list(enumerate(explanation.suspects, 1))
    found = [(rank, one, "") for rank, one in ranked if _means(name, kind, one.subject) or _word_in(name, f"{_named(one)} {one.fact}")]
    if not found and not any(_is_own_name(name, one.subject) for one in explanation.ruled_out):
        found = [(rank, one, says) for rank, one in ranked if one.confidence >= NOTABLE and (says := _evidence_with(name, kind, one))]
    for rank, one, evidence in found:
        facts = tuple(dict.fromkeys(path for term in one.because for path in term.facts))
        yield Asked(words, "suspect", one.subject, f"{said(one).removesuffix('.')} ({evidence})." if evidence else said(one), rank, one.confidence, facts=facts)


def _named(suspect: Suspect) -> str:
    return f"{suspect.subject.kind.replace('-', ' ')} {suspect.subject.name} {suspect.layer}"


def _evidence_with(name: str, kind: Kind | None, suspect: Suspect) -> str:
    """Return the first piece of evidence for a suspect that holds a name as a word, or that rests on a fact of that name; "" where there is none.

    A word for a whole kind of thing stands in many sentences: there only what weighs counts.
    """
    terms = (term for term in suspect.because if term.weight > 0 and (kind is None or term.weight >= _WEIGHTY))
    return next((term.says for term in terms if _word_in(name, re.sub(r"\S*/\S*", "", term.says)) or any(_is_of(fact, name, kind) for fact in term.facts)), "")


def _is_of(fact: str, name: str, kind: Kind | None) -> bool:
    return matches(fact, kind.globs) if kind is not None else _flat(name) in map(_flat, map(plain, fact.split("/")[1:]))


def _word_in(name: str, text: str) -> bool:
    """Tell whether a text holds a name as a word: of a library ``libnccl2`` too, of a daemon ``slurmd``, of several ``GPUs``; whose it is does not count."""
    return re.search(rf"(?<![a-z0-9])(?:lib)?{re.escape(_singular(name))}[sd]?\d*(?![a-z0-9]|'s)", re.sub(r"[-_\s]+", " ", text.lower())) is not None


def _singular(name: str) -> str:
    flat = re.sub(r"[-_\s]+", " ", name.lower()).strip()
    return flat.removesuffix("s") if len(flat) > _SHORTEST else flat


def _is_own_name(name: str, subject: Subject) -> bool:
    """Tell whether a name is a distribution's whole name, so that no other thing of that word answers in its place."""
    own = re.sub(r"[-_.\s]+", "-", name.strip()).lower()
    return subject.kind == "package" and subject.name in (own, _RENAMED.get(own))


def _of_others(explanation: Explanation, words: str, name: str, kind: Kind | None) -> Iterator[Asked]:
    """Yield what the explanation says of the other subjects that a name can mean: what is open, then what is ruled out."""
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
    if parts[0] == "servers" and len(parts) > 3:
        is_argument = parts[-2] in ("args", "given")
        return (is_argument or parts[-2] == "env") and _is_within(flat, _flat(parts[-1]), is_argument=is_argument)
    return parts[0] == "env" and _flat(parts[-1]) == flat


def _is_part(path: str, flat: str) -> bool:
    """Tell whether a part of a fact's path is that name, or a file of that name."""
    names = [_flat(plain(part)) for part in path.split("/")[1:]]
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
        return Subject(kind.subjects[0], name)
    parts = paths[0].split("/") if paths else [""]
    if parts[0] == "packages":
        return Subject("package", parts[1])
    if parts[0] == "env" or (len(parts) > 3 and parts[-2] == "env"):
        return Subject("env-var", parts[-1])
    if parts[0] == "servers" and len(parts) > 3 and parts[-2] in ("args", "given"):
        return Subject("launch-arg", parts[-1])
    kinds = {"git": "git", "sources": "file", "mounts": "mount", "disks": "disk", "modules": "kernel-module", "services": "service", "gpus": "gpu"}
    return Subject(kinds.get(parts[0], "probe"), name)
