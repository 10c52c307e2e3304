"""An object of a compile cache that the error names: whatever is told of the cache, what lies there is what was loaded, and it is built anew at will."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.agent.cache_places import PLACES
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import term
from driftwatch.explain.words import command, shorten

_USUAL = sorted(  # the default places, without home and user: the longest first, since one may lie in another
    {rule.removeprefix("~").removesuffix("@") for rules in PLACES.values() for rule in rules.split() if rule.startswith(("~", "/tmp/torch"))},  # noqa: S108
    key=len, reverse=True)
_OBJECT = re.compile(rf"((?:/[\w.@+-]+)*(?:{'|'.join(map(re.escape, _USUAL))})[\w.-]*)/[\w./@+-]+\.(?:so|cubin|hsaco|o|json|bin|ptx)\b")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the cache in which an object lies that the error text names."""
    found = _OBJECT.search(case.text)
    if found is None:
        return
    folder = found[1]
    terms = (
        term("path named", f"the error text names an object in {folder}: {shorten(found[0], 120)}"),
        term("open", "whether it was there on the good side is not known: a cache that was left by another run or release is loaded as it is"),
    )
    aside = command([f"{folder}.aside"])
    commands = (
        Command("confirm", command(["ls", "-l", "--time-style=full-iso", found[0].rpartition("/")[0]])),
        Command("try", f"mv {command([folder])} {aside}", "then start the server: it compiles anew"), Command("undo", f"mv {aside} {command([folder])}"),
    )
    verdict = f"The error comes from an object in the cache {folder}: it may be of another build, or damaged."
    wording = Wording("cache", folder, "!", "not known", "named in the error", verdict, commands=commands, is_one_host=True)
    yield Evidence(Subject("cache", folder), terms, wording)


RULES = (Rule("cache_named", needs=(), weigh=weigh, blames=("cache",)),)
