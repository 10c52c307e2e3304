"""A tag that stands for another image: pulled under the same name, all that is installed in it is another at once."""

from __future__ import annotations

from collections.abc import Iterator

from driftwatch.compare.change import Change
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.pairs import values
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, term
from driftwatch.explain.words import command
from driftwatch.model import plain

_TELLING = ("digest", "id", "created_at")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each tag of an image that stands for another image than on the good side: who pulls it gets other packages under the same name."""
    found: dict[str, list[Change]] = {}
    for change in case.moved(*(f"images/*/{key}" for key in _TELLING)):
        found.setdefault(change.path.split("/")[1], []).append(change)
    for part, changes in found.items():
        tag, facts = plain(part), [change.path for change in changes]
        first = min(changes, key=lambda change: _TELLING.index(change.path.rsplit("/", 1)[1]))
        good, bad = values(first)
        terms = [term("image moved", "the tag stands for another image: all that is in it moved at once", facts)]
        if _names(case.text, tag):
            terms.append(term("named in the error", "the error text names it", facts))
        before = f"{tag.rpartition(':')[0]}@{good}" if isinstance(good, str) and good.startswith("sha256:") else ""
        back = (Command("try", f"# start from the image of the good side, {before}"),) if before else ()
        commands = (Command("confirm", command(["docker", "inspect", "--format", "{{json .RepoDigests}} {{.Created}}", tag])), *back)
        wording = Wording("container", f"image {tag}", mark(good, bad), good, bad, f"The tag {tag} stands for another image.", commands=commands)
        yield Evidence(Subject("container", tag), tuple(terms), wording)


def _names(text: str, tag: str) -> bool:
    """Tell whether a text names an image by its tag or its repository."""
    return tag in text or (":" in tag and tag.rpartition(":")[0] in text)


RULES = (Rule("image_moved", needs=(), weigh=weigh, blames=("container",)),)
