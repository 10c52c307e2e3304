"""Slurm: what sinfo says is believed first, one step a node, and no node holds us. On a real cluster of eight nodes where it can be had."""
from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from driftwatch.transports.destination import Destination, Options, parse_destination
from driftwatch.transports.opening import open_transport
from driftwatch.transports.slurm import Slurm
from driftwatch.transports.wire import LinkLost
from tests.lab.slurm import running_cluster
from tests.transports.listen import listen, processes_that_name, take
from tests.transports.payload import shipment

PYTHONS = ("/no/such/python", "python3", "/usr/bin/python3")
COUNT = 8


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster in which n3 hangs, n4 is drained, n5 is busy with a job, and n6 is draining with another."""
    with running_cluster(tmp_path_factory.mktemp("slurm"), COUNT) as running:
        before = {name: os.environ.get(name) for name in ("SLURM_CONF", "SLURM_JOB_ID")}
        os.environ["SLURM_CONF"] = running.environ["SLURM_CONF"]
        running.busy = {node: running.run("sbatch", "--parsable", "--output=/dev/null", f"--nodelist={node}", "--wrap=sleep 300") for node in ("n5", "n6")}
        until(lambda: running.run("squeue", "--noheader", "--states=R", "--format=%j").split() == ["wrap"] * 2)
        running.drain("n4", "GPU 3 fell off | the bus")
        running.drain("n6", "for the night")
        running.freeze("n3")
        try:
            yield running
        finally:
            os.environ.update({name: value for name, value in before.items() if value})
            if before["SLURM_CONF"] is None:
                del os.environ["SLURM_CONF"]


def until(is_so):
    stop = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < stop
        time.sleep(0.1)


def way(node, job=""):
    return open_transport(parse_destination(f"slurm://{node}"), Options(slurm_job=job))


@pytest.fixture(scope="module")
def heard(cluster):
    """Ask all nodes at once, as a snapshot of ``slurm://[n[1-8]]`` does."""
    sent = {f"n{number}": shipment("answer", PYTHONS) for number in range(1, COUNT + 1)}
    with ThreadPoolExecutor(COUNT) as pool:
        asked = {node: pool.submit(take, way(node), one, 3) for node, one in sent.items()}
        return {node: one.result() for node, one in asked.items()}


def test_eight_nodes_asked_at_once_answer_or_say_why_not_and_none_waits_for_another(heard):
    assert [node for node, one in heard.items() if one.kinds == ["begin", "facts", "end"]] == ["n1", "n2", "n7", "n8"]
    assert all(one.elapsed_s < 6 for one in heard.values())


def test_a_drained_node_is_not_waited_for_and_slurm_s_reason_is_handed_on(heard):
    assert heard["n4"].lost.reason.startswith("Slurm lists n4 as drained since 2")
    assert heard["n4"].lost.reason.endswith(": GPU 3 fell off | the bus")
    assert "ssh://n4" in heard["n4"].lost.advice


def test_a_node_that_hangs_is_left_at_the_deadline_and_its_step_is_cancelled(heard, cluster):
    assert heard["n3"].lost.reason == "no answer from an agent on n3 in 3 s: Slurm lists it as idle, and started no step there"
    assert cluster.run("squeue", "--noheader", "--states=R", "--format=%j").split() == ["wrap"] * 2


def test_a_busy_node_says_how_to_look_from_inside_its_job(heard):
    assert heard["n5"].said == "n5 has nothing free for a step | look from inside the job that runs there: --jobid JOB, as told by squeue -w n5"


def test_a_busy_node_answers_inside_its_job_also_while_it_drains(heard, cluster):
    for node in ("n5", "n6"):
        assert listen(way(node, cluster.busy[node]), shipment("answer", PYTHONS), 5).kinds == ["begin", "facts", "end"]


def test_nothing_of_this_machine_s_environment_goes_along(cluster, monkeypatch):
    monkeypatch.setenv("HOME", "/made/up")
    assert listen(way("n1"), shipment("answer", PYTHONS), 5).frames[0]["home"] is None


@pytest.mark.parametrize(("node", "job", "said"), [
    ("nosuch", "", "Slurm knows no node nosuch"), ("n1", "999999", "job 999999 does not run"), ("n1", "n5", "n1 is none of the nodes of job"),
])
def test_a_node_or_a_job_that_is_not_there_is_named(cluster, node, job, said):
    assert said in listen(way(node, cluster.busy.get(job, job)), shipment("answer", PYTHONS), 5).said


def test_an_agent_that_hangs_is_gone_after_the_deadline_in_a_job_and_in_an_allocation_of_its_own(cluster):
    sent = {"n5": shipment("hang", PYTHONS), "n8": shipment("hang", PYTHONS)}
    with ThreadPoolExecutor(2) as pool:
        for heard in pool.map(lambda node: take(way(node, cluster.busy.get(node, "")), sent[node], 2), sent):
            assert "in mid-run" in heard.said
            assert heard.elapsed_s < 5
    for one in sent.values():
        until(lambda nonce=one.nonce: processes_that_name(nonce) == [])
        until(lambda nonce=one.nonce: f"driftwatch-{nonce}" not in cluster.run("squeue", "--noheader", "--steps", "--format=%j").split())


def test_a_node_without_python_is_told_so(cluster):
    assert "no Python on the host that starts: tried /no/such/python" in listen(way("n2"), shipment("answer", PYTHONS[:1]), 5).said


def stand_in(folder, **programs):
    for name, text in {"sinfo": "", "srun": "", "scancel": "", "squeue": "", **programs}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize(("sinfo", "said"), [
    ("sleep 60", "sinfo gave no answer in 1 s"),
    ("echo 'sinfo: error: Unable to contact slurm controller (connect failure)' >&2; exit 1", "slurmctld cannot be reached"),
    ("echo 'sinfo: error: If munged is up, restart with --num-threads=10' >&2; exit 1", "Slurm's authentication fails"),
    ("echo 'n1|down*|2026-03-01T02:00:00|Not responding'",
     "Slurm lists n1 as down, and it does not answer Slurm since 2026-03-01T02:00:00: Not responding"),
    ("echo 'n1|idle~|Unknown|none'; exit 0", "srun on n1 ended with code 0"),
    ("echo 'n1|maint|2026-03-01T02:00:00|new cards'", "Slurm lists n1 as maint"),
    ("yes", "longer than 1 MiB"),
])
def test_what_sinfo_says_comes_before_any_step(tmp_path, monkeypatch, sinfo, said):
    monkeypatch.setenv("PATH", stand_in(tmp_path, sinfo=sinfo))
    assert said in listen(way("n1"), shipment("answer"), 2).said


def test_a_machine_without_slurm_s_client_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no srun and sinfo on this machine's PATH" in listen(way("n1"), shipment("answer"), 2).said


def test_srun_gets_one_node_one_task_no_environment_and_a_limit_of_time():
    argv = Slurm(Destination("slurm", "n1")).argv("remote", "driftwatch-x", 60)
    assert argv == ["srun", "--immediate=10", "--nodes=1", "--ntasks=1", "--nodelist=n1", "--job-name=driftwatch-x", "--time=2", "--export=NONE", "--chdir=/",
                    "/bin/sh", "-c", "remote"]
    assert Slurm(Destination("slurm", "n1"), Options(slurm_job="7")).argv("remote", "x", 30)[1:3] == ["--jobid=7", "--overlap"]


@pytest.mark.parametrize("state", ["down", "drained", "draining", "fail", "error", "unknown*", "powered_down~", "idle*"])
def test_a_state_in_which_no_step_can_start_is_refused(state):
    with pytest.raises(LinkLost, match="Slurm lists n1 as"):
        Slurm(Destination("slurm", "n1"))._fit(state, "Unknown", "none")
