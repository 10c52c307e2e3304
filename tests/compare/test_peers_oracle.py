"""The counts over lines against counts taken the plain way, by asking every snapshot for every fact, on random fleets."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from driftwatch.model import ANSWERED, Known, ProbeResult, Snapshot, matches
from tests.compare.fleets import ROLE, paths, peers, way_of

TOPS = ("alpha", "beta", "gamma")


def random_host(own, number):
    probes, facts = {}, {}
    for top in TOPS:
        status = own.choices(("ok", "absent", "timeout", "denied"), (12, 1, 1, 1))[0]
        probes[top] = ProbeResult(status, reason="no answer", tells=(f"{top}/*",))
        for fact in range(6):
            told = own.choices(("usual", "odd", "none", "unknown", "own"), (20, 2, 2, 1, 1))[0]
            if told == "none" or status == "absent" or (status not in ANSWERED and own.random() < 0.7):
                continue
            values = {"usual": fact, "odd": {"odd": fact}, "unknown": {"unknown": "error", "reason": f"of {number}"}, "own": f"only {number}"}
            facts[f"{top}/{fact}/deep"] = values[told]
        facts[f"{top}/noise"] = f"{number} of {top}"
        if own.random() < 0.1:
            facts[f"{top}/5"] = {"unknown": "denied", "reason": "not for us"}
            facts = {path: value for path, value in facts.items() if not path.startswith(f"{top}/5/")}
    return Snapshot(f"host-{number:02d}", None, probes=probes, facts=facts)


def plainly(hosts):
    """Return, of each fact with a majority and odd hosts: who is odd; and which facts have no majority; each by asking every snapshot."""
    odd, splits = {}, set()
    for path in sorted({path for host in hosts for path in host.facts}):
        answers = {host.host: host.get(path) for host in hosts if any(one.status in ANSWERED for one in host.probes.values())}
        known = {name: json.dumps(one.value) for name, one in answers.items() if isinstance(one, Known)}
        counts = Counter(known.values())
        if len(counts) < 2:
            continue
        usual, many = counts.most_common(1)[0]
        if len(known) >= 3 and 2 * many > len(known):
            odd[path] = {name for name, value in known.items() if value != usual}
        elif not (len(known) >= 3 and many == 1):
            splits.add(path)
    return odd, splits


@pytest.mark.parametrize("seed", range(30))
def test_random_fleets_are_counted_as_when_every_snapshot_is_asked(seed):
    own = random.Random(seed)
    hosts = [random_host(own, number) for number in range(own.randrange(3, 12))]
    found, (odd, splits) = peers(hosts), plainly(hosts)
    told = {host.host: set(paths(way_of(found, host))) for host in hosts}
    assert {path: {name for name, mine in told.items() if path in mine} for path in odd} == odd
    assert set().union(*told.values()) == set(odd)
    assert {fact.path for fact in found.splits} == splits
    assert not any(matches(path, ROLE.identity) for path in odd)
