"""Files that are as they were come back as the facts that they had, and the digest of all of them with the rest."""

from __future__ import annotations

import pytest

from driftwatch.agent.collectors.sources import digest_of_all
from driftwatch.agent.known_files import key_of
from driftwatch.agent.probe import Unknown
from driftwatch.capture.fold import Fold
from driftwatch.capture.known import Recall, keys_of

A, B, C = "a" * 64, "b" * 64, "c" * 64
KNOWN = {"/opt/sglang": {"a.py": [5, 1, 2, 3, A], "srt%2Fb.py": [6, 1, 2, 4, B], "srt%2F100%25.py": [7, 1, 2, 5, C]}}


def folded(*facts):
    fold = Fold(recall=Recall(KNOWN))
    fold.take({"frame": "facts", "facts": [["sources/sglang/root", "/opt/sglang"], *facts]})
    return fold.facts


def test_a_key_goes_out_for_each_folder_and_no_digest():
    tree = KNOWN["/opt/sglang"]
    below = [(name, tree[name][:4]) for name in tree if name.startswith("srt")]
    assert keys_of(KNOWN) == {"/opt/sglang": {"": key_of([("a.py", tree["a.py"][:4])]), "srt": key_of(below)}}


def test_as_before_becomes_the_facts_that_were():
    tree = "sources/sglang"
    told = folded([f"{tree}/same/srt", 2])
    assert told == {
        f"{tree}/root": "/opt/sglang", f"{tree}/files/srt%2Fb.py": f"sha256:{B} 6", f"{tree}/times/srt%2Fb.py": [1, 2, 4],
        f"{tree}/files/srt%2F100%25.py": f"sha256:{C} 7", f"{tree}/times/srt%2F100%25.py": [1, 2, 5]}


def test_the_digest_of_all_counts_what_was_read_and_what_was_not():
    told = folded(["sources/sglang/same/srt", 2], ["sources/sglang/files/new.py", f"sha256:{A} 9"], ["sources/sglang/count", 3])
    values = {"srt/b.py": f"sha256:{B} 6", "srt/100%.py": f"sha256:{C} 7", "new.py": f"sha256:{A} 9"}
    assert told["sources/sglang/tree"] == digest_of_all(values)


def test_a_file_that_could_not_be_read_makes_the_digest_of_all_unknown_in_the_same_words():
    told = folded(["sources/sglang/same/", 1], ["sources/sglang/files/x.py", {"unknown": "denied", "reason": "no"}], ["sources/sglang/count", 2])
    why = digest_of_all({"a.py": "sha256:", "x.py": Unknown("denied", "no")})
    assert told["sources/sglang/tree"] == {"unknown": why.status, "reason": why.reason}


def test_before_the_count_came_there_is_no_digest_of_all():
    assert "sources/sglang/tree" not in folded(["sources/sglang/same/srt", 2])


@pytest.mark.parametrize("unit", ["elsewhere", "", "a.py"])
def test_nothing_is_made_up_for_what_is_not_known(unit):
    fold = Fold(recall=Recall({"/another": KNOWN["/opt/sglang"]}))
    fold.take({"frame": "facts", "facts": [["sources/sglang/root", "/opt/sglang"], [f"sources/sglang/same/{unit}", 1]]})
    assert set(fold.facts) == {"sources/sglang/root"}
