"""A model that is read over a network while the page cache is empty: the first start after a boot takes many times as long as the next one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.pairs import logged_more, numbers, was_booted
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.rules.mount_state import NETWORK_TYPES, holds_model, mounts
from driftwatch.explain.terms import term
from driftwatch.explain.words import fixed
from driftwatch.model import plain

_CACHED = "system/memory/Cached_kib"
_SLOW_LOAD = re.compile(r"timed? ?out|loading\b.{0,40}\b(?:weights|checkpoint|model)|shard|waiting for|progress|deadline|took too long", re.IGNORECASE)
_LEAST_KIB = 4 << 20


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the mount that the model is read from, where it is a network's and the cache in front of it was lost."""
    before, now = numbers(case, _CACHED)
    is_slow = _SLOW_LOAD.search(case.text) is not None
    if before is None or now is None or before < _LEAST_KIB or now > 0.4 * before or not (is_slow or case.klass == "slow"):
        return  # an empty cache is what every boot leaves: only a symptom of slow loading makes it matter
    if logged_more(case, "kernel_log/oom_kill"):
        return  # whoever took the memory emptied the cache too
    for mount in mounts(case, "bad"):
        kind = case.value("bad", f"mounts/{mount}/type")
        if not isinstance(kind, str) or not NETWORK_TYPES.fullmatch(kind) or not holds_model(case, "bad", mount):
            continue
        place = plain(mount)
        says = f"page cache {fixed(before / (1 << 20), 1)} → {fixed(now / (1 << 20), 1)} GiB: what was read from memory comes over the network now"
        terms = [term("cold cache", says, (_CACHED,)), term("served over a network", f"the model lies on {place}, {kind}", (f"mounts/{mount}/type",))]
        if is_slow:
            terms.append(term("text of a slow load", "the error text is that of something that took too long"))
        if was_booted(case):
            terms.append(term("in the window", "the host was booted in between, which empties the cache", ("kernel/booted_at",)))
        look = Command("confirm", "free -g; nfsiostat 1 3; # then start the server a second time: with a warm cache it is fast")
        again = Command("try", f"# read the model once before the start: cat {place}/…/*.safetensors > /dev/null, or allow the start more time")
        verdict = f"The model is read from {place} ({kind}), and the page cache that held it is empty{' since the boot' if was_booted(case) else ''}."
        yield Evidence(Subject("mount", place), tuple(terms), Wording("mount", place, "~", "cache warm", "cache cold", verdict, commands=(look, again)))


RULES = (Rule("cold_cache", needs=(), weigh=weigh, blames=("mount",)),)
