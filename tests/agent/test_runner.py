"""The runner: whatever a probe's child does, the others answer, the run ends in time, and nothing that can be killed is left."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

import pytest

from tests.agent import lab, stuck
from tests.agent.lab import planned

TRIAL = """
def good(host):
    yield "good/a", 1
    yield "good/b", Unknown("denied", "/x: needs uid 0")

def hangs(host):
    yield "hangs/before", 1
    host.asking("read /x/y")
    time.sleep(100)

def stubborn(host):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sh", "-c", "trap '' TERM; setsid sleep 300 & sleep 200"])
    yield "stubborn/child", child.pid
    time.sleep(100)

def crashes(host):
    yield "crashes/before", 1
    os.kill(os.getpid(), signal.SIGSEGV)

def leaves_without_a_word(host):
    yield "leaves_without_a_word/before", 1
    os._exit(0)

def has_a_bug(host):
    yield "has_a_bug/before", 1
    raise KeyError("x")

def is_refused(host):
    raise Denied("/dev/x: needs uid 0")
    yield

def finds_nothing(host):
    raise Absent("no such thing here")
    yield

def floods(host):
    while True:
        yield "floods/x", "x" * 1000

def tells_a_little_too_much(host):
    yield "tells_a_little_too_much/x", "x" * 2000

def leaves_an_orphan(host):
    child = subprocess.Popen(["sleep", "300"], start_new_session=True)
    yield "leaves_an_orphan/pid", child.pid

def prints(host):
    os.write(1, b"chatter\\n")
    os.write(2, b"chatter\\n")
    yield "prints/a", 1

def freezes(host):
    group = os.environ["FREEZER"]
    yield "freezes/before", 1
    with open(group + "/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))
    with open(group + "/freezer.state", "w") as file:
        file.write("FROZEN")
    time.sleep(100)

def runs_what_freezes(host):
    script = 'echo $$ > "$FREEZER/cgroup.procs"; echo FROZEN > "$FREEZER/freezer.state"; exec sleep 100'
    yield "runs_what_freezes/tool", host.try_run(["sh", "-c", script], 0.5)
    yield "runs_what_freezes/after", 1

def targets(host):
    yield "targets", [{"python": "/v/bin/python", "site_packages": ["/v/lib"], "source": None, "because": "given"}]

def sees_targets(host):
    yield "sees_targets/python", host.targets[0].python

PROBES = tuple(probe(one) for one in (good, hangs, stubborn, crashes, leaves_without_a_word, has_a_bug, is_refused, finds_nothing, floods,
                                      tells_a_little_too_much, leaves_an_orphan, prints, freezes, runs_what_freezes, targets, sees_targets))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    names = "good hangs stubborn crashes leaves_without_a_word has_a_bug is_refused finds_nothing floods leaves_an_orphan prints"
    return lab.run(tmp_path_factory.mktemp("agent"), TRIAL, *map(planned, names.split()))


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_every_planned_probe_has_exactly_one_outcome_and_the_end_frame_comes_last(told):
    assert len(told.outcomes) == 11
    assert told.kinds.count("probe") == 11
    assert told.kinds[-1] == "end"
    assert told.rc == 0


@pytest.mark.parametrize(("name", "status"), [
    ("good", "ok"), ("hangs", "timeout"), ("stubborn", "timeout"), ("crashes", "died"), ("leaves_without_a_word", "died"), ("has_a_bug", "error"),
    ("is_refused", "denied"), ("finds_nothing", "absent"), ("floods", "error"), ("leaves_an_orphan", "ok"), ("prints", "ok"),
])
def test_what_a_child_does_becomes_a_status(told, name, status):
    assert told.outcomes[name]["status"] == status


def test_facts_told_before_a_hang_or_a_crash_are_kept(told):
    assert {"hangs/before", "crashes/before", "leaves_without_a_word/before", "has_a_bug/before"} <= set(told.facts)


def test_an_unknown_fact_goes_by_its_own_path_while_its_probe_is_ok(told):
    assert told.facts["good/b"] == {"unknown": "denied", "reason": "/x: needs uid 0"}


def test_a_timeout_names_what_it_was_waiting_for(told):
    assert told.outcomes["hangs"]["reason"].endswith("it was waiting for: read /x/y")
    assert told.outcomes["hangs"]["tools"] == ["/x/y"]


def test_a_crash_names_the_signal(told):
    assert "signal 11" in told.outcomes["crashes"]["reason"]


def test_the_byte_cap_cuts_a_flood_and_says_so(told):
    assert told.outcomes["floods"]["reason"] == "more than 1048576 bytes of facts: cut"
    assert sum(len(frame["facts"]) for frame in told.frames if frame.get("probe") == "floods" and frame["frame"] == "facts") * 1000 <= 1 << 20


def test_what_ends_by_itself_beyond_its_cap_is_cut_and_did_not_die(tmp_path):
    told = lab.run(tmp_path, TRIAL, *[planned("tells_a_little_too_much", cap_bytes=1000)] * 8)
    assert {frame["reason"] for frame in told.frames if frame["frame"] == "probe"} == {"more than 1000 bytes of facts: cut"}


def test_nothing_that_can_be_killed_is_left(told):
    assert not is_alive(told.facts["leaves_an_orphan/pid"])
    assert not is_alive(told.facts["stubborn/child"])


def test_what_a_library_prints_never_enters_the_stream(told):
    assert b"chatter" not in told.noise


def test_targets_are_handed_to_the_probes_that_wait_for_them(tmp_path):
    told = lab.run(tmp_path, TRIAL, planned("targets"), planned("sees_targets", needs_targets=True))
    assert told.facts["sees_targets/python"] == "/v/bin/python"


def test_the_whole_run_ends_within_its_deadline_and_says_what_never_began(tmp_path):
    plan = [planned("stubborn", deadline_s=60.0) for _ in range(8)] + [planned("good")]
    told = lab.run(tmp_path, TRIAL, *plan, deadline_s=2.0)
    assert told.outcomes["good"]["status"] == "timeout"
    assert "not begun" in told.outcomes["good"]["reason"]
    assert told.wall_s < 2.0 + 2.0


def test_a_probe_with_an_early_term_is_asked_to_end_before_its_deadline(tmp_path):
    told = lab.run(tmp_path, TRIAL, planned("hangs", deadline_s=2.0, early_term_s=1.5))
    assert told.outcomes["hangs"]["elapsed_s"] < 1.5


def test_an_agent_whose_controller_died_ends_at_once_with_all_below_it(tmp_path):
    with lab.agent(lab.ship(tmp_path, TRIAL), lab.order(planned("stubborn", deadline_s=60.0))) as child:
        frames = []
        stop = time.monotonic() + 5
        while not any(frame["frame"] == "facts" for frame in frames) and time.monotonic() < stop:
            if select.select([child.stdout], [], [], 0.2)[0]:
                frames += lab.parse(os.read(child.stdout.fileno(), 65536))
        pid = next(frame["facts"][0][1] for frame in frames if frame["frame"] == "facts")
        child.stdin.close()
        assert child.wait(2) == 3
        time.sleep(0.2)
        assert not is_alive(pid)


@pytest.fixture
def frozen(request):
    with stuck.freezer(request.node.name[:20]) as group:
        if group is None:
            pytest.skip("no control-group v1 freezer that we may use: no unkillable child can be made this way")
        yield group


def test_a_child_that_no_signal_ends_is_left_behind_and_named(tmp_path, frozen):
    told = lab.run(tmp_path, TRIAL, planned("freezes"), planned("good"), env={"FREEZER": str(frozen)})
    assert told.outcomes["freezes"]["status"] == "timeout"
    assert told.outcomes["freezes"]["left_behind"][0]["state"] == "D"
    assert told.outcomes["good"]["status"] == "ok"
    assert told.facts["freezes/before"] == 1
    assert told.wall_s < 1.0 + 0.5 + 1.0 + 2.0


def test_a_command_that_no_signal_ends_costs_one_fact_and_is_named(tmp_path, frozen):
    told = lab.run(tmp_path, TRIAL, planned("runs_what_freezes", deadline_s=5.0), env={"FREEZER": str(frozen)})
    assert told.facts["runs_what_freezes/tool"]["unknown"] == "timeout"
    assert told.facts["runs_what_freezes/after"] == 1
    assert told.outcomes["runs_what_freezes"]["left_behind"]
