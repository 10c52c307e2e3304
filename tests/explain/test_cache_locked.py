"""Locks left in caches: a killed builder's lock is a suspect, one of a kind that stays by design is none, and one that was there before is none."""

from __future__ import annotations

import pytest

from driftwatch.compare.pair import compare
from driftwatch.dumps.read import read_dump
from driftwatch.explain.case import Case
from driftwatch.explain.rules.cache_locked import weigh
from driftwatch.model import ProbeResult, Snapshot, Symptom

TELLS = ("caches", "caches/*")
WAITS = 'File "/opt/env/lib/python3.12/site-packages/torch/utils/file_baton.py", line 50, in wait'


def side(**facts):
    probes = {"caches": ProbeResult("ok", tells=TELLS)}
    return Snapshot("gpu-a", "2026-03-02T10:00:00Z", probes=probes, facts={name.replace("__", "/"): value for name, value in facts.items()})


def found(good, bad, text="", trace=""):
    case = Case(good, bad, compare(good, bad), Symptom("hang", text), "log", trace=trace)
    return {one.subject.name: sorted(term.says for term in one.terms) for one in weigh(case)}


def test_a_lock_that_came_is_a_suspect_and_more_so_where_the_code_waits_for_one():
    good = side(caches__torch_extensions__path="/root/.cache/torch_extensions")
    bad = side(caches__torch_extensions__path="/root/.cache/torch_extensions", caches__torch_extensions__lock_files=["py312_cu128/ops/lock"])
    plain = found(good, bad)
    assert list(plain) == ["/root/.cache/torch_extensions/py312_cu128/ops/lock"]
    (terms,), (more,) = plain.values(), found(good, bad, trace=WAITS).values()
    assert set(terms) < set(more)
    assert "the code that was running waits for a lock" in more


def test_a_lock_that_lay_there_before_is_none():
    told = side(caches__flashinfer__path="/c", caches__flashinfer__lock_files=["80/lock"])
    assert found(told, told) == {}


@pytest.mark.parametrize(("name", "is_lock"), [("lock", True), ("ops.lock", False), ("block", False)])
def test_a_listing_of_a_cache_tells_a_lock_by_its_whole_name(name, is_lock):
    listing = "$ find ~/.cache/torch_extensions -printf '%y %s %p\\n' | sort\nd 4096 /root/.cache/torch_extensions\n"
    more = f"f 0 /root/.cache/torch_extensions/py312/ops/{name}\n$ uname -r\n6.8.0-60-generic\n"
    good, bad = (read_dump(text, "paste") for text in (f"{listing}$ uname -r\n6.8.0-60-generic\n", listing + more))
    path = f"~/.cache/torch_extensions/py312/ops/{name}"
    assert list(found(good, bad)) == ([path] if is_lock else [])
    assert f"{bad.get('files/' + path.replace('/', '%2F') + '/bytes')}" == "Known(value=0)"
    assert f"{good.get('files/' + path.replace('/', '%2F') + '/bytes')}" == "Known(value=None)", "a listing that ended tells what is not there"
