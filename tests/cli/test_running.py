"""Many hosts at once: a failure of ours at one of them is that host's reason, and no other's end."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from driftwatch.cli.wiring.desk import Desk
from driftwatch.cli.wiring.given import Given
from driftwatch.cli.wiring.jobs import Wish, host_jobs, recorded_job
from driftwatch.cli.wiring.keeping import Keeping
from driftwatch.cli.wiring.running import do_jobs
from driftwatch.cli.wiring.snapshotting import take_and_keep
from driftwatch.cli.wiring.stopping import STOPPED, Stop
from driftwatch.cli.wiring.telling import asked, in_vain, is_unreachable
from driftwatch.model import ProbeResult, Snapshot
from driftwatch.report.page import Page
from driftwatch.settings import Settings
from driftwatch.store.files import FileStore
from driftwatch.store.labels import label_names


def failing(watch):
    raise KeyError(watch.args[0])


@pytest.fixture
def jobs(tmp_path):
    """Return the jobs of three hosts, each of which is gone wrong by a mistake of ours."""
    desk = Desk(Given(), Settings(), FileStore(tmp_path / "store"), Page(), Page())
    return [replace(job, take=failing) for job in host_jobs(("gpu-a", "gpu-b", "gpu-c"), Wish(only=("env", "driver")), desk)]


def test_what_fails_at_one_of_several_hosts_is_why_all_its_probes_are_lost(jobs):
    done = {one.host: one.snapshot for one in do_jobs(jobs, 2, Stop(), lambda *_: None)}
    assert {host: is_unreachable(taken) for host, taken in done.items()} == {"gpu-a": True, "gpu-b": True, "gpu-c": True}
    assert all(f"driftwatch itself failed (KeyError: '{host}')" in one.reason for host, taken in done.items() for one in asked(taken).values())


def test_what_fails_at_the_only_host_is_our_own_failure(jobs):
    with pytest.raises(KeyError):
        next(do_jobs(jobs[:1], 2, Stop(), lambda *_: None))


def test_what_ctrl_c_cut_is_kept_as_partial_and_gets_no_tag(tmp_path, recorded, capsys):
    desk = Desk(Given(), Settings(), FileStore(tmp_path / "store"), Page(), Page())
    job = recorded_job(str(recorded()), Wish(), desk)

    def stop_once_the_driver_is_told(frame):
        if (frame["frame"], frame.get("probe")) == ("probe", "driver"):
            os.kill(os.getpid(), signal.SIGINT)

    cut = replace(job, take=lambda watch: job.take(stop_once_the_driver_is_told))
    assert take_and_keep([cut], 1, Keeping(label="good"), desk) == STOPPED
    (entry,) = desk.store.entries("gpu-a")
    assert (entry.name.is_partial, label_names(desk.store, "gpu-a")) == (True, ())
    said = capsys.readouterr().err
    assert "note: gpu-a was cut by Ctrl-C, so it is not tagged good" in said
    assert "1 host · 0 whole · 1 stopped" in said


def test_what_was_named_for_another_host_and_is_not_there_is_told_by_what_came_back():
    targets = ({"python": "/no/python", "because": "given with --python", "site_packages": [], "source": "/no/src"},)
    probes = {"env": ProbeResult("absent", reason="/proc/99/environ: No such file or directory"), "sources": ProbeResult("ok", tells=("sources/*",))}
    assert in_vain(Snapshot("gpu-a", None, targets=targets, probes=probes)) == [
        "--python /no/python: no package folder of it was found", "--env-from-pid: /proc/99/environ: No such file or directory", "no sources are in /no/src"]
