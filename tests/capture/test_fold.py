"""Whatever frames a host sends, it is facts or a lost line, and never another exception: one host shall not end a night."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwatch.capture.fold import DEEPEST, Fold
from driftwatch.capture.known import Recall
from driftwatch.capture.plan import plan_for
from driftwatch.model import Snapshot
from driftwatch.store import document
from driftwatch.transports.wire import LinkLost
from tests.properties.anything import CALM, values

PLAN = plan_for(only=("env",))
PATHS = st.sampled_from(("targets", "sources/x/root", "sources/x/same", "sources/x/same/a/b", "sources/x/same/", "sources/x/count", "env/A"))
PAIRS = st.lists(st.one_of(values(), st.tuples(PATHS, values()).map(list)), max_size=4)
FRAMES = st.fixed_dictionaries(
    {"frame": st.one_of(st.sampled_from(("facts", "probe", "begin", "slow")), values())},
    optional={"facts": st.one_of(PAIRS, values()), "probe": st.one_of(st.just("env"), values()), "status": st.one_of(st.just("ok"), values()),
              **{key: values() for key in ("elapsed_s", "deadline_s", "reason", "tools", "left_behind", "notes", "python")}},
)


def folded(*frames):
    """Return what the frames tell, and whether the line was lost on the way."""
    fold, is_lost = Fold(recall=Recall({"/a": {"b": [1, 2, 3, 4, "c"]}})), False
    try:
        for frame in frames:
            fold.take(frame)
    except LinkLost:
        is_lost = True
    return fold, is_lost


@settings(CALM, max_examples=30)
@given(st.lists(FRAMES, max_size=4))
def test_any_frames_become_a_snapshot_that_can_be_stored_and_read_again(frames):
    fold, _ = folded({"frame": "facts", "facts": [["sources/x/root", "/a"]]}, *frames)
    taken = Snapshot("h", "2026-03-04T03:12:00Z", agent=dict(fold.begin), targets=fold.targets, facts=fold.facts, probes=fold.probes(PLAN, "gone"))
    assert document.parse(document.to_bytes(taken), "x.json").id == taken.id


def nested(depth):
    return [nested(depth - 1)] if depth else 1


@pytest.mark.parametrize("frame", [
    {"frame": "facts"}, {"frame": "facts", "facts": [1]}, {"frame": "facts", "facts": [[["a"], 1]]}, {"frame": "facts", "facts": [["sources/x/same", 1]]},
    {"frame": "facts", "facts": [["targets", [1]]]}, {"frame": "facts", "facts": [["a", float("inf")]]}, {"frame": "facts", "facts": [["a", nested(DEEPEST)]]},
    {"frame": "probe"}, {"frame": "probe", "probe": "env"}, {"frame": "probe", "probe": "env", "status": "fine"}, {"frame": "begin", "uid": float("inf")},
    {"frame": "probe", "probe": "env", "status": "ok", "elapsed_s": "nan"}, {"frame": "probe", "probe": "env", "status": "ok", "elapsed_s": 10**400},
    {"frame": "probe", "probe": "env", "status": "died", "left_behind": ["1"]}, {"frame": "slow", "elapsed_s": "x"},
])
def test_a_frame_that_no_agent_makes_ends_the_line_and_what_was_told_before_is_kept(frame):
    ended = {"frame": "probe", "probe": "env", "status": "ok", "elapsed_s": 0.1}
    fold, is_lost = folded({"frame": "facts", "facts": [["env/A", "1"]]}, ended, frame)
    assert (is_lost, fold.facts["env/A"], fold.probes(PLAN, "gone")["env"].status) == (True, "1", "ok")
